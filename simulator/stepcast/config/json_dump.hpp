// SPDX-License-Identifier: Apache-2.0
// JSON as text, whatever it names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace stepcast {

// What is not of UTF-8, as names of files and of foreign kernels may be, is written as U+FFFD.
template <typename Json>
std::string json_dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stepcast
