// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/json_fields.hpp"

#include <algorithm>
#include <cstdlib>

#include "stepcast/base/nearest_name.hpp"

namespace stepcast {
namespace {

using Kind = JsonValue::Kind;

// Whether the two are so alike that one may be the other misspelt.
bool one_letter_apart(std::string_view a, std::string_view b) {
  constexpr std::size_t kShortest = 4;
  const bool alike = a.size() >= kShortest && b.size() >= kShortest && a.size() <= b.size() + 1 &&
                     b.size() <= a.size() + 1 && (a.front() == b.front() || a.back() == b.back());
  return alike && edit_distance(a, b) == 1;
}

}  // namespace

std::optional<double> number_of(const JsonValue& value) {
  if (value.kind == Kind::kInteger) {
    return static_cast<double>(value.integer);
  }
  return value.kind == Kind::kNumber ? std::optional(std::strtod(value.text.c_str(), nullptr))
                                     : std::nullopt;
}

bool JsonFields::has(std::string_view key) const {
  const auto found = object_.find(key);
  return found != object_.end() && found->second.kind != Kind::kNull;
}

bool JsonFields::good(std::initializer_list<std::string_view> keys) const {
  return std::none_of(keys.begin(), keys.end(),
                      [this](std::string_view key) { return failed_.contains(key); });
}

const JsonValue* JsonFields::find(std::string_view key) {
  asked_.emplace(key);
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &found->second;
}

bool JsonFields::read(std::string_view key) const { return asked_.contains(key) && has(key); }

void JsonFields::refuse_unknown(std::initializer_list<std::string_view> others) {
  const std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const auto& [key, value] : object_) {
    const bool own = std::find(others.begin(), others.end(), key) != others.end();
    if (!own && !asked_.contains(key)) {
      diagnostics_->error(place_of(key),
                          "unknown key '" + shown(key) + "'" + did_you_mean(key, known));
    }
  }
}

Location JsonFields::place_of(std::string_view key) const {
  const auto found = object_.find(key);
  return source_.at(found == object_.end() ? 0 : found->second.offset);
}

void JsonFields::error(std::string_view key, const std::string& message) {
  failed_.emplace(key);
  diagnostics_->error(place_of(key), "'" + std::string(key) + "' " + message);
}

void JsonFields::missing(std::string_view key) {
  failed_.emplace(key);
  missing_.emplace_back(key);
}

void JsonFields::finish() {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : object_) {
    if (!asked_.contains(key)) {
      unknown.push_back(key);
    }
  }
  for (const std::string& key : missing_) {
    const std::string near = nearest_name(key, unknown);
    const auto meant = object_.find(near);
    diagnostics_->error(source_.at(meant == object_.end() ? 0 : meant->second.offset),
                        "the " + std::string(source_.what) + " needs the key '" + key + "'" +
                            (near.empty() ? std::string(source_.remedy)
                                          : "; is '" + shown(near) + "' meant to be it?"));
  }
  missing_.clear();
}

void JsonFields::refuse_foreign(std::span<const std::string_view> keys) {
  for (const auto& [key, value] : object_) {
    if (!asked_.contains(key) && std::find(keys.begin(), keys.end(), key) != keys.end()) {
      diagnostics_->error(source_.at(value.offset),
                          "'" + key +
                              "' says nothing of this kind of operator and would not be "
                              "priced; leave it out");
    }
  }
}

void JsonFields::refuse_misspelt(std::initializer_list<std::string_view> others) {
  for (const auto& [key, value] : object_) {
    if (asked_.contains(key) || std::find(others.begin(), others.end(), key) != others.end()) {
      continue;
    }
    for (const std::string& known : asked_) {
      if (!object_.contains(known) && one_letter_apart(key, known)) {
        diagnostics_->error(source_.at(value.offset),
                            "unknown key '" + shown(key) + "'; did you mean '" + known + "'?");
      }
    }
  }
}

std::string JsonFields::required_text(std::string_view key) {
  if (find(key) == nullptr) {
    missing(key);
    return {};
  }
  return text(key, {});
}

std::string JsonFields::text(std::string_view key, std::string fallback) {
  const JsonValue* value = find(key);
  if (value == nullptr || (value->kind == Kind::kNull && !fallback.empty())) {
    return fallback;
  }
  if (value->kind != Kind::kText) {
    error(key, "must be a text, not " + shown(*value));
    return fallback;
  }
  return shown(value->text);
}

std::int64_t JsonFields::checked(std::string_view key, const std::string& path,
                                 const JsonValue& value, Range<std::int64_t> range) {
  const std::int64_t number = value.integer;
  if (value.kind == Kind::kInteger && number >= range.lowest && number <= range.highest) {
    return number;
  }
  failed_.emplace(key);
  diagnostics_->error(place_of(key), "'" + path + "' must be a whole number from " +
                                         std::to_string(range.lowest) + " to " +
                                         std::to_string(range.highest) + ", not " + shown(value));
  return range.lowest;
}

std::int64_t JsonFields::required_count(std::string_view key, Range<std::int64_t> range) {
  const JsonValue* value = find(key);
  if (value == nullptr) {
    missing(key);
    return range.lowest;
  }
  return checked(key, std::string(key), *value, range);
}

std::int64_t JsonFields::required_count(std::initializer_list<std::string_view> spellings,
                                        Range<std::int64_t> range) {
  std::string_view first;
  std::int64_t number = range.lowest;
  for (const std::string_view key : spellings) {
    if (key == first || find(key) == nullptr) {
      continue;
    }
    const std::int64_t next = required_count(key, range);
    if (first.empty()) {
      first = key;
      number = next;
    } else if (next != number && good({first, key})) {
      error(key, "is " + std::to_string(next) + ", but '" + std::string(first) + "' is " +
                     std::to_string(number) + "; they mean the same, so keep one of them");
    }
  }
  if (first.empty()) {
    missing(*spellings.begin());
  }
  return number;
}

std::int64_t JsonFields::count_or_null(std::string_view key, Range<std::int64_t> range) {
  if (find(key) == nullptr) {
    missing(key);
    return 0;
  }
  return count(key, {}, range);
}

std::int64_t JsonFields::count(std::string_view key, CountFallback fallback,
                               Range<std::int64_t> range) {
  const JsonValue* value = find(key);
  if (value == nullptr) {
    return fallback.absent;
  }
  return value->kind == Kind::kNull ? fallback.null : checked(key, std::string(key), *value, range);
}

double JsonFields::required_number(std::string_view key, Range<double> range) {
  if (find(key) == nullptr) {
    missing(key);
    return range.lowest;
  }
  return number(key, range.lowest, range);
}

double JsonFields::number(std::string_view key, double fallback, Range<double> range) {
  const JsonValue* value = find(key);
  if (value == nullptr || value->kind == Kind::kNull) {
    return fallback;
  }
  const std::optional<double> number = number_of(*value);
  if (number && *number >= range.lowest && *number <= range.highest) {
    return *number;
  }
  error(key, "must be a number from " + shortest_text(range.lowest) + " to " +
                 shortest_text(range.highest) + ", not " + shown(*value));
  return fallback;
}

void JsonFields::refuse_choice(std::string_view key, const JsonValue& value,
                               const std::vector<std::string>& names) {
  std::string listed;
  for (const std::string& name : names) {
    listed += (listed.empty() ? "" : ", ") + name;
  }
  error(key, "must be one of " + listed + "; it is " + shown(value) +
                 (value.kind == Kind::kText ? did_you_mean(value.text, names) : ""));
}

std::optional<bool> JsonFields::flag(std::string_view key) {
  const JsonValue* value = find(key);
  if (value == nullptr || value->kind == Kind::kNull) {
    return std::nullopt;
  }
  if (value->kind != Kind::kFlag) {
    error(key, "must be true or false, not " + shown(*value));
    return std::nullopt;
  }
  return value->flag;
}

const std::vector<JsonValue>& JsonFields::list(std::string_view key) {
  static const std::vector<JsonValue> empty;
  const JsonValue* value = find(key);
  if (value == nullptr || value->kind == Kind::kNull) {
    return empty;
  }
  if (value->kind != Kind::kList) {
    error(key, "must be a list, not " + shown(*value));
    return empty;
  }
  return value->items;
}

std::vector<std::string> JsonFields::texts(std::string_view key) {
  std::vector<std::string> result;
  for (const JsonValue& item : list(key)) {
    if (item.kind != Kind::kText) {
      error(key, "must hold texts only, not " + shown(item));
      return {};
    }
    result.push_back(shown(item.text));
  }
  return result;
}

std::vector<std::int64_t> JsonFields::counts(std::string_view key, Range<std::int64_t> range) {
  std::vector<std::int64_t> result;
  for (const JsonValue& item : list(key)) {
    const std::string path = std::string(key) + "[" + std::to_string(result.size()) + "]";
    result.push_back(checked(key, path, item, range));
    if (!good({key})) {
      return {};
    }
  }
  return result;
}

}  // namespace stepcast
