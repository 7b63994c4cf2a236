// SPDX-License-Identifier: Apache-2.0
// The names of an enumeration's values, for reading them and for listing them.
#pragma once

#include <span>
#include <string_view>

namespace stepcast {

// The names of every value, in the order of the enumeration; specialised beside each enumeration.
template <typename E>
std::span<const std::string_view> names_of();

}  // namespace stepcast
