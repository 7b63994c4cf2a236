// SPDX-License-Identifier: Apache-2.0
// The keys of a JSON object that another program wrote, read with types and ranges.
//
// Unlike MappingReader, keys that nobody asks for are no error: such files hold much that we do not
// need. A problem is recorded in the Diagnostics and reading goes on with a default value, so that
// one run reports every problem; the caller ends with finish() and Diagnostics::throw_if_any().
// Problems of syntax have line and column, all others name the key: JSON values know no place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

inline constexpr std::size_t kLargestJson = 1U << 20U;  // bytes
inline constexpr int kDeepestJson = 64;                 // levels of lists and objects

struct JsonValue {
  enum class Kind { kNull, kFlag, kInteger, kNumber, kText, kList, kObject };

  Kind kind = Kind::kNull;
  bool flag = false;
  std::int64_t integer = 0;
  std::string text = {};  // a text, or a number that is no std::int64_t as it was written
  std::vector<JsonValue> items = {};  // of a list, whose own lists and objects are left empty
};

using JsonObject = std::map<std::string, JsonValue, std::less<>>;  // nested objects are left empty

// Parses a JSON object. Throws ConfigError if it is none; repeated keys go to `diagnostics`.
JsonObject parse_json_object(std::string_view text, const std::string& file,
                             Diagnostics& diagnostics);

// What an optional key means if it is not there, and if its value is null.
struct CountFallback {
  std::int64_t absent = 0;
  std::int64_t null = 0;
};

class JsonFields {
 public:
  JsonFields(JsonObject object, std::string file, Diagnostics& diagnostics)
      : object_(std::move(object)), file_(std::move(file)), diagnostics_(&diagnostics) {}

  // Whether `key` is there with a value other than null.
  [[nodiscard]] bool has(std::string_view key) const;
  // Whether none of `keys` had a problem, so that rules about them together make sense.
  [[nodiscard]] bool good(std::initializer_list<std::string_view> keys) const;

  std::string required_text(std::string_view key);
  std::string text(std::string_view key, std::string fallback);
  std::int64_t required_count(std::string_view key, Range<std::int64_t> range);
  // A key with several spellings, which must not contradict each other.
  std::int64_t required_count(std::initializer_list<std::string_view> spellings,
                              Range<std::int64_t> range);
  // A key that must be there but may be null, which means none.
  std::int64_t count_or_null(std::string_view key, Range<std::int64_t> range);
  std::int64_t count(std::string_view key, CountFallback fallback, Range<std::int64_t> range);
  bool flag(std::string_view key, bool fallback);
  std::vector<std::string> texts(std::string_view key);
  std::vector<std::int64_t> counts(std::string_view key, Range<std::int64_t> range);

  // Records "'key' message".
  void error(std::string_view key, const std::string& message);
  // Reports the required keys that are missing, with a misspelt one if there is such.
  void finish();

 private:
  const JsonValue* find(std::string_view key);
  std::int64_t checked(std::string_view key, const std::string& path, const JsonValue& value,
                       Range<std::int64_t> range);
  const std::vector<JsonValue>& list(std::string_view key);
  void missing(std::string_view key);

  JsonObject object_;
  std::string file_;
  Diagnostics* diagnostics_;
  std::set<std::string, std::less<>> asked_;
  std::set<std::string, std::less<>> failed_;
  std::vector<std::string> missing_;
};

}  // namespace stepcast
