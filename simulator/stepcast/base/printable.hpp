// SPDX-License-Identifier: Apache-2.0
// Text of an input as a terminal may get it.
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

// Control characters, those of ASCII and U+0080 to U+009F, which a terminal would obey, and bytes
// that are of no letter in UTF-8, as \x1b of an escape, so that no input can drive one.
std::string printable(std::string_view text);

// The first `longest` bytes, and dots where there are more; no letter of UTF-8 is cut in two.
std::string beginning_of(std::string_view text, std::size_t longest);

}  // namespace stepcast
