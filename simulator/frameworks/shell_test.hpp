// SPDX-License-Identifier: Apache-2.0
// The conditions of shells: [ "$A" = b ], [[ -n $A && $B == x* ]].
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

// Whether the words between the brackets hold. Files are taken to exist.
bool shell_test(const std::vector<std::string>& words);

// Whether `text` is `pattern`, in which * stands for anything and ? for one letter.
bool matches_pattern(std::string_view text, std::string_view pattern);

}  // namespace stepcast
