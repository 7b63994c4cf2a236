// SPDX-License-Identifier: Apache-2.0
// An object of a published JSON row, whose fields may be absent or null, read with a memory of what
// was asked for: a field that is stated and that nobody read is a reason to skip the row.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/ascii.hpp"

namespace stepcast {

class StatedObject {
 public:
  explicit StatedObject(const nlohmann::json& object, std::string path = {});

  // Whether the key has a value other than null.
  [[nodiscard]] bool states(const std::string& key) const;
  // Whether the key is there, be it null.
  [[nodiscard]] bool has(const std::string& key) const { return object_.contains(key); }
  // Throw RefusedRow for a value of another type.
  std::optional<std::int64_t> count(const std::string& key);
  std::optional<double> number(const std::string& key);
  std::optional<bool> flag(const std::string& key);
  // Empty without the key; a number as its text.
  std::string text(const std::string& key);
  std::vector<std::string> texts(const std::string& key);
  StatedObject& object(const std::string& key);
  // The value as it is, null without it.
  nlohmann::json value(const std::string& key);
  // The count, or RefusedRow if it is absent or not positive.
  std::int64_t required_count(const std::string& key);
  // At least 1, which stands where nothing is stated.
  std::int64_t degree(const std::string& key) {
    return std::max<std::int64_t>(1, count(key).value_or(1));
  }
  // A key that is known and says nothing about what ran.
  void ignore(const std::string& key) { asked_.insert(key); }

  [[nodiscard]] std::string path_of(const std::string& key) const;
  // Throws RefusedRow, naming the first key that was stated and not read, here or in an object.
  void refuse_unread() const;

 private:
  const nlohmann::json* find(const std::string& key);
  [[noreturn]] void refuse(const std::string& key, const std::string& what) const;

  nlohmann::json object_;
  std::string path_;
  std::set<std::string> asked_;
  std::map<std::string, std::unique_ptr<StatedObject>> objects_;
};

// --- what a source says in words --------------------------------------------------------------

// Cut after 300 bytes: what is taken from a text stands in its first words.
std::string shortened(std::string text);
// Cut, and in lower case.
std::string short_remark(std::string text);
bool mentions(std::string_view remark, std::string_view part);

// What stands behind the first `part` of a remark; nothing where it does not mention it.
std::optional<std::string_view> behind(std::string_view remark, std::string_view part);

// At most `most` digits at the beginning of a text, and at its end, which may end in a blank.
std::string_view first_digits(std::string_view text, std::size_t most);
std::string_view last_digits(std::string_view text, std::size_t most);
// The runs of characters that separate nothing.
std::vector<std::string> words_in(std::string_view text, bool (*separates)(char) = ascii::is_space);
// The number of a few digits.
int digits_value(std::string_view digits);

}  // namespace stepcast
