// SPDX-License-Identifier: Apache-2.0
// What a file calls what it describes.
#pragma once

#include <string>
#include <string_view>

#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

// The text of `key`, in one line: names stand in tables, scripts and comments, which a line feed
// would end.
std::string required_name(MappingReader& reader, std::string_view key = "name");

}  // namespace stepcast
