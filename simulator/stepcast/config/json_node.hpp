// SPDX-License-Identifier: Apache-2.0
// A JSON text as a tree in which every value and every key knows its place, as config_node.hpp has
// it for YAML.
//
// A text is a quoted scalar; a number, true and false are plain ones, a number as it was written.
// A key that stands twice in an object is an error at any depth.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

inline constexpr std::size_t kLargestJson = 1U << 20U;  // bytes
inline constexpr int kDeepestJson = 64;                 // levels of lists and objects
inline constexpr std::size_t kMostJsonKeys = 10'000;    // of one object

// Python's json writes NaN, Infinity and -Infinity, which JSON does not have. Read as scalars, they
// are no numbers that a reader takes.
enum class JsonNumbers { kStrict, kPython };

// Where a text comes from, and what messages call it.
struct JsonSource {
  std::string file;
  int line = 1;  // of its first character
  std::string_view what = "file";
  std::size_t most_bytes = kLargestJson;
  std::size_t most_keys = kMostJsonKeys;  // of one object
  JsonNumbers numbers = JsonNumbers::kStrict;
};

// One line of a file with one JSON object a line.
inline JsonSource json_line(std::string file, int line) { return {std::move(file), line, "line"}; }

// Parses one JSON object; every problem goes to `diagnostics`, and what is no object gives nothing.
std::optional<ConfigNode> parse_json_object(std::string_view text, const JsonSource& source,
                                            Diagnostics& diagnostics);

// The same tree of a value that stands in no text: all of it is at the beginning of the source's
// line.
ConfigNode json_node(const nlohmann::ordered_json& value, const JsonSource& source);

// The same the other way: a scalar without quotes is a number or a truth value where it reads so.
nlohmann::ordered_json json_of(const ConfigNode& node);

}  // namespace stepcast
