// SPDX-License-Identifier: Apache-2.0
// What a source says in words.
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

// Cut after 300 bytes, since regular expressions recurse.
std::string shortened(std::string text);
// Cut, and in lower case.
std::string short_remark(std::string text);
bool mentions(std::string_view remark, std::string_view part);

}  // namespace stepcast
