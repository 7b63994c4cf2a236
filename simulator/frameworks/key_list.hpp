// SPDX-License-Identifier: Apache-2.0
// Names of keys that stand in one text, with blanks between them: lists of hundreds.
#pragma once

#include <string_view>
#include <vector>

namespace stepcast {

std::vector<std::string_view> keys_in(std::string_view text);

}  // namespace stepcast
