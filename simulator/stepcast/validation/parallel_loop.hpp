// SPDX-License-Identifier: Apache-2.0
// Calls for every index of a range on all processors. What the calls write must be their own; which
// thread makes which call is open, so results go by index and the output does not depend on it.
#pragma once

#include <cstddef>
#include <functional>

namespace stepcast {

// The first exception that a call throws (by index) is thrown again after all have ended.
void for_each_index(std::size_t count, const std::function<void(std::size_t)>& call);

}  // namespace stepcast
