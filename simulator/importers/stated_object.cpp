// SPDX-License-Identifier: Apache-2.0
#include "importers/stated_object.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "importers/foreign_row.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

// Nothing is stated by null, an empty text, list or object.
bool says_something(const nlohmann::json& value) {
  return !value.is_null() && !((value.is_object() || value.is_array()) && value.empty()) &&
         !(value.is_string() && value.get_ref<const std::string&>().empty());
}

}  // namespace

StatedObject::StatedObject(const nlohmann::json& object, std::string path)
    : object_(object.is_object() ? object : nlohmann::json::object()), path_(std::move(path)) {}

bool StatedObject::states(const std::string& key) const {
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

const nlohmann::json* StatedObject::find(const std::string& key) {
  asked_.insert(key);
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::string StatedObject::path_of(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

void StatedObject::refuse(const std::string& key, const std::string& what) const {
  throw RefusedRow{"input wrong: '" + path_of(key) + "' must be " + what};
}

std::optional<double> StatedObject::number(const std::string& key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number()) {
    refuse(key, "a number");
  }
  return value->get<double>();
}

std::optional<std::int64_t> StatedObject::count(const std::string& key) {
  constexpr double kLargest = 1e15;
  const std::optional<double> value = number(key);
  if (value && (std::abs(*value) > kLargest || *value != std::floor(*value))) {
    refuse(key, "a whole number");
  }
  return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

std::optional<bool> StatedObject::flag(const std::string& key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->is_number_integer() &&
      (value->get<std::int64_t>() == 0 || value->get<std::int64_t>() == 1)) {
    return *value == 1;
  }
  if (!value->is_boolean()) {
    refuse(key, "true or false");
  }
  return value->get<bool>();
}

std::string StatedObject::text(const std::string& key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) {
    return {};
  }
  return value->is_string() ? value->get<std::string>() : value->dump();
}

std::vector<std::string> StatedObject::texts(const std::string& key) {
  const nlohmann::json* value = find(key);
  std::vector<std::string> texts;
  if (value == nullptr) {
    return texts;
  }
  if (!value->is_array()) {
    refuse(key, "a list of texts");
  }
  for (const nlohmann::json& item : *value) {
    texts.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  }
  return texts;
}

nlohmann::json StatedObject::value(const std::string& key) {
  const nlohmann::json* value = find(key);
  return value == nullptr ? nlohmann::json() : *value;
}

StatedObject& StatedObject::object(const std::string& key) {
  const nlohmann::json* value = find(key);
  if (value != nullptr && !value->is_object()) {
    refuse(key, "an object");
  }
  std::unique_ptr<StatedObject>& known = objects_[key];
  if (known == nullptr) {
    known = std::make_unique<StatedObject>(value == nullptr ? nlohmann::json::object() : *value,
                                           path_of(key));
  }
  return *known;
}

std::int64_t StatedObject::required_count(const std::string& key) {
  const std::optional<std::int64_t> value = count(key);
  if (!value || *value <= 0) {
    throw RefusedRow{"input missing: " + path_of(key)};
  }
  return *value;
}

void StatedObject::refuse_unread() const {
  for (const auto& [key, value] : object_.items()) {
    if (says_something(value) && !asked_.contains(key)) {
      throw RefusedRow{unread_reason(path_of(key))};
    }
  }
  for (const auto& [key, object] : objects_) {
    object->refuse_unread();
  }
}

// --- words ------------------------------------------------------------------------------------

std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 300;
  text.resize(std::min(text.size(), kLongest));
  return text;
}

std::string short_remark(std::string text) { return ascii::lower_case(shortened(std::move(text))); }

bool mentions(std::string_view remark, std::string_view part) {
  return remark.find(part) != std::string_view::npos;
}

std::optional<std::string_view> behind(std::string_view remark, std::string_view part) {
  const std::size_t at = remark.find(part);
  return at == std::string_view::npos ? std::nullopt
                                      : std::optional(remark.substr(at + part.size()));
}

std::string_view first_digits(std::string_view text, std::size_t most) {
  std::size_t count = 0;
  while (count < std::min(most, text.size()) && ascii::is_digit(text[count])) {
    ++count;
  }
  return text.substr(0, count);
}

std::string_view last_digits(std::string_view text, std::size_t most) {
  text.remove_suffix(text.ends_with(' ') ? 1 : 0);
  std::size_t count = 0;
  while (count < std::min(most, text.size()) && ascii::is_digit(text[text.size() - 1 - count])) {
    ++count;
  }
  return text.substr(text.size() - count);
}

std::vector<std::string> words_in(std::string_view text, bool (*separates)(char)) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto* const end = std::ranges::find_if(text, separates);
    const std::string_view word(text.begin(), end);
    if (!word.empty()) {
      words.emplace_back(word);
    }
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return words;
}

int digits_value(std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace stepcast
