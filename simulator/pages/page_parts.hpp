// SPDX-License-Identifier: Apache-2.0
// The files that every page is made of, as they were when the program was built, by their names:
// those of parts/, and d3.js, the modules of D3 one after the other.
#pragma once

#include <map>
#include <string_view>

namespace stepcast {

// "page.css" -> its text; both have static lifetime.
const std::map<std::string_view, std::string_view>& page_parts();

}  // namespace stepcast
