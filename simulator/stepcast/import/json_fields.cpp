// SPDX-License-Identifier: Apache-2.0
#include "stepcast/import/json_fields.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "stepcast/base/nearest_name.hpp"

namespace stepcast {
namespace {

using Kind = JsonValue::Kind;

// Text of the file as it may stand in a message: short and without control characters.
std::string shown(std::string_view text, std::size_t longest = 60) {
  std::string result(text.substr(0, longest));
  for (char& letter : result) {
    const auto code = static_cast<unsigned char>(letter);
    letter = code < 0x20 || code > 0x7e ? '?' : letter;
  }
  return result + (text.size() > longest ? "..." : "");
}

std::string shown(const JsonValue& value) {
  switch (value.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kFlag:
      return value.flag ? "true" : "false";
    case Kind::kInteger:
      return std::to_string(value.integer);
    case Kind::kNumber:
      return shown(value.text);
    case Kind::kText:
      return "the text '" + shown(value.text) + "'";
    case Kind::kList:
      return "a list";
    case Kind::kObject:
      return "an object";
  }
  return {};
}

// The place of the byte `offset`.
Location location_of(std::string_view text, std::size_t offset, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_end = before.rfind('\n');
  const std::size_t start = line_end == std::string_view::npos ? 0 : line_end + 1;
  return {file, static_cast<int>(lines) + 1, static_cast<int>(before.size() - start) + 1};
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: X" as "X".
std::string without_prefix(std::string message) {
  for (const std::string_view end : {std::string_view("] "), std::string_view(": ")}) {
    const bool prefixed = message.starts_with("[json") || message.starts_with("parse error at ");
    const std::size_t at = message.find(end);
    if (prefixed && at != std::string::npos) {
      message.erase(0, at + end.size());
    }
  }
  return message;
}

// Keeps the keys of the outermost object and the items of its lists, as the parser meets them: no
// tree is built, so that neither depth nor size of the rest costs anything.
class OutermostObject : public nlohmann::json_sax<nlohmann::json> {
 public:
  OutermostObject(std::string file, Diagnostics& diagnostics)
      : file_(std::move(file)), diagnostics_(&diagnostics) {}

  bool null() override { return put({}); }
  bool boolean(bool value) override { return put({.kind = Kind::kFlag, .flag = value}); }
  bool number_integer(std::int64_t value) override {
    return put({.kind = Kind::kInteger, .integer = value});
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return put({.kind = Kind::kNumber, .text = std::to_string(value)});
    }
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double /*value*/, const std::string& written) override {
    return put({.kind = Kind::kNumber, .text = written});
  }
  bool string(std::string& value) override {
    return put({.kind = Kind::kText, .text = std::move(value)});
  }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return put({}); }
  bool start_object(std::size_t /*elements*/) override { return open(Kind::kObject); }
  bool start_array(std::size_t /*elements*/) override { return open(Kind::kList); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      key_ = std::move(name);
      if (object_.contains(key_)) {
        diagnostics_->error({file_}, "duplicate key '" + shown(key_) + "'; keep one of them");
      }
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& fault) override {
    position_ = position;
    fault_ = without_prefix(fault.what());
    return false;
  }

  [[nodiscard]] bool is_object() const { return is_object_; }
  [[nodiscard]] bool too_deep() const { return depth_ > kDeepestJson; }
  [[nodiscard]] std::size_t position() const { return position_; }  // bytes read until the fault
  [[nodiscard]] const std::string& fault() const { return fault_; }
  JsonObject take() { return std::move(object_); }

 private:
  bool put(JsonValue value) {
    if (depth_ == 0) {
      is_object_ = value.kind == Kind::kObject;
    } else if (depth_ == 1 && is_object_) {
      in_list_ = value.kind == Kind::kList;
      object_.insert_or_assign(key_, std::move(value));
    } else if (depth_ == 2 && is_object_ && in_list_) {
      object_[key_].items.push_back(std::move(value));
    }
    return true;
  }
  bool open(Kind kind) {
    put({.kind = kind});
    ++depth_;
    return !too_deep();
  }
  bool close() {
    --depth_;
    return true;
  }

  std::string file_;
  Diagnostics* diagnostics_;
  JsonObject object_;
  std::string key_;
  int depth_ = 0;
  bool is_object_ = false;
  bool in_list_ = false;
  std::size_t position_ = 0;
  std::string fault_;
};

}  // namespace

JsonObject parse_json_object(std::string_view text, const std::string& file,
                             Diagnostics& diagnostics) {
  if (text.size() > kLargestJson) {
    throw ConfigError({file}, "the file has " + std::to_string(text.size()) + " bytes, more than " +
                                  std::to_string(kLargestJson) +
                                  "; give the config.json of a model");
  }
  OutermostObject outermost(file, diagnostics);
  try {
    nlohmann::json::sax_parse(text.begin(), text.end(), &outermost);
  } catch (const nlohmann::json::exception& fault) {
    throw ConfigError({file}, "not JSON: " + shown(without_prefix(fault.what()), 200));
  }
  if (!outermost.fault().empty()) {
    const std::size_t read = outermost.position();
    throw ConfigError(
        location_of(text, read == 0 ? 0 : read - 1, file),
        "not JSON: " + shown(outermost.fault(), 200) + "; correct the file here or get it anew");
  }
  if (outermost.too_deep()) {
    throw ConfigError({file}, "lists and objects are nested more than " +
                                  std::to_string(kDeepestJson) +
                                  " levels deep; give the config.json of a model");
  }
  if (!outermost.is_object()) {
    throw ConfigError({file}, "the file must hold one JSON object, { \"model_type\": ... }");
  }
  return outermost.take();
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

void JsonFields::error(std::string_view key, const std::string& message) {
  failed_.emplace(key);
  diagnostics_->error({file_}, "'" + std::string(key) + "' " + message);
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
    diagnostics_->error({file_}, "the file needs the key '" + key + "'" +
                                     (near.empty() ? "; add it as the model's publisher gives it"
                                                   : "; is '" + shown(near) + "' meant to be it?"));
  }
  missing_.clear();
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
  diagnostics_->error({file_}, "'" + path + "' must be a whole number from " +
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

bool JsonFields::flag(std::string_view key, bool fallback) {
  const JsonValue* value = find(key);
  if (value == nullptr || value->kind == Kind::kNull) {
    return fallback;
  }
  if (value->kind != Kind::kFlag) {
    error(key, "must be true or false, not " + shown(*value));
    return fallback;
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
