// SPDX-License-Identifier: Apache-2.0
// The outermost object of a JSON text that another program wrote, with the place of every key.
//
// Lists and objects inside it keep their own scalars, and so do lists inside those objects; what is
// nested deeper is left empty, so that neither depth nor size of the rest costs anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"

namespace stepcast {

inline constexpr std::size_t kLargestJson = 1U << 20U;  // bytes
inline constexpr int kDeepestJson = 64;                 // levels of lists and objects
inline constexpr std::size_t kMostJsonKeys = 10'000;

struct JsonValue {
  enum class Kind { kNull, kFlag, kInteger, kNumber, kText, kList, kObject };

  Kind kind = Kind::kNull;
  bool flag = false;
  std::int64_t integer = 0;
  std::string text = {};  // a text, or a number that is no std::int64_t as it was written
  std::vector<JsonValue> items = {};   // of a list or of an object
  std::vector<std::string> keys = {};  // of an object, one an item
  std::size_t offset = 0;              // of its key in the text, in bytes
};

using JsonObject = std::map<std::string, JsonValue, std::less<>>;

// Where an object comes from, and how messages speak of it.
struct JsonSource {
  std::string file;
  int line = 0;  // of a file with one object a line; 0: the file is the object
  std::string_view what = "file";
  std::string_view remedy = "; add it as the model's publisher gives it";  // for a missing key

  // Of a key; with one object a file only the file is named.
  [[nodiscard]] Location at(std::size_t offset) const {
    return line > 0 ? Location{file, line, static_cast<int>(offset) + 1} : Location{file};
  }
};

// One line of a file with one JSON object a line, and one row of a table.
inline JsonSource json_line(std::string file, int line) {
  return {std::move(file), line, "line", ""};
}
inline JsonSource table_row(std::string file, int line) {
  return {std::move(file), line, "row", ""};
}

// Parses one JSON object; every problem goes to `diagnostics`, and what is no object gives nothing.
std::optional<JsonObject> parse_json_object(std::string_view text, const JsonSource& source,
                                            Diagnostics& diagnostics);

// Text of the input as it may stand in a message: short and without control characters.
std::string shown(std::string_view text, std::size_t longest = 60);
std::string shown(const JsonValue& value);

}  // namespace stepcast
