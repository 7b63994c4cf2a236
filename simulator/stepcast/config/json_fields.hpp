// SPDX-License-Identifier: Apache-2.0
// The keys of a JSON object that another program wrote, read with types and ranges.
//
// Unlike MappingReader, keys that nobody asks for are no error: such files hold much that we do not
// need. A problem is recorded in the Diagnostics and reading goes on with a default value, so that
// one run reports every problem; the caller ends with finish() and Diagnostics::throw_if_any().
// Problems of a line of its own have its place and the key's column; those of a whole file name the
// key.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>

#include "stepcast/config/json_object.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

// The number that a value is, if it is one.
std::optional<double> number_of(const JsonValue& value);

// What an optional key means if it is not there, and if its value is null.
struct CountFallback {
  std::int64_t absent = 0;
  std::int64_t null = 0;
};

class JsonFields {
 public:
  JsonFields(JsonObject object, JsonSource source, Diagnostics& diagnostics)
      : object_(std::move(object)), source_(std::move(source)), diagnostics_(&diagnostics) {}

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
  double required_number(std::string_view key, Range<double> range);
  double number(std::string_view key, double fallback, Range<double> range);
  std::optional<bool> flag(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::vector<std::int64_t> counts(std::string_view key, Range<std::int64_t> range);

  // The value that the text of `key` names, or the fallback without the key.
  template <typename E>
  E choice(std::string_view key, std::span<const NamedValue<E>> choices, E fallback) {
    const JsonValue* value = find(key);
    if (value == nullptr || value->kind == JsonValue::Kind::kNull) {
      return fallback;
    }
    std::vector<std::string> names;
    for (const NamedValue<E>& entry : choices) {
      if (value->kind == JsonValue::Kind::kText && value->text == entry.name) {
        return entry.value;
      }
    }
    for (const NamedValue<E>& entry : choices) {
      names.emplace_back(entry.name);
    }
    refuse_choice(key, *value, names);
    return fallback;
  }
  template <typename E>
  E required_choice(std::string_view key, std::span<const NamedValue<E>> choices) {
    if (find(key) == nullptr) {
      missing(key);
    }
    return choice(key, choices, choices.front().value);
  }
  // The value of `key` as it is, null without it; for what has more than one form.
  const JsonValue* value(std::string_view key) { return find(key); }

  // Whether `key` is there and somebody has asked for it.
  [[nodiscard]] bool read(std::string_view key) const;
  // Refuses every key that nobody asked for and that is none of `others`.
  void refuse_unknown(std::initializer_list<std::string_view> others);

  // Records "'key' message".
  void error(std::string_view key, const std::string& message);
  // Reports the required keys that are missing, with a misspelt one if there is such.
  void finish();
  // Refuses a key that nobody asks for, and that is none of `others`, if it is one letter away from
  // one that was asked for and is absent.
  void refuse_misspelt(std::initializer_list<std::string_view> others);
  // Refuses each of `keys` that is there and that nobody asked for.
  void refuse_foreign(std::span<const std::string_view> keys);

 private:
  const JsonValue* find(std::string_view key);
  std::int64_t checked(std::string_view key, const std::string& path, const JsonValue& value,
                       Range<std::int64_t> range);
  const std::vector<JsonValue>& list(std::string_view key);
  void missing(std::string_view key);
  void refuse_choice(std::string_view key, const JsonValue& value,
                     const std::vector<std::string>& names);
  [[nodiscard]] Location place_of(std::string_view key) const;

  JsonObject object_;
  JsonSource source_;
  Diagnostics* diagnostics_;
  std::set<std::string, std::less<>> asked_;
  std::set<std::string, std::less<>> failed_;
  std::vector<std::string> missing_;
};

}  // namespace stepcast
