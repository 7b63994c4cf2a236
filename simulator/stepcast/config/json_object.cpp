// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/json_object.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace stepcast {
namespace {

using Kind = JsonValue::Kind;

// The place of the byte `offset`.
Location location_of(std::string_view text, std::size_t offset, const JsonSource& source) {
  if (source.line > 0) {
    return source.at(std::min(offset, text.size()));
  }
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_end = before.rfind('\n');
  const std::size_t start = line_end == std::string_view::npos ? 0 : line_end + 1;
  return {source.file, static_cast<int>(lines) + 1, static_cast<int>(before.size() - start) + 1};
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

// Walks over the text and counts what the parser has taken: its events do not say where they are.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* taken) : at_(at), taken_(taken) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*taken_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* taken_;
};

// Keeps the keys of the outermost object and one level of what is in them, and the scalars of lists
// in its objects, as the parser meets them.
class OutermostObject : public nlohmann::json_sax<nlohmann::json> {
 public:
  OutermostObject(const JsonSource& source, Diagnostics& diagnostics)
      : source_(source), diagnostics_(&diagnostics) {}

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
      offset_ = taken_ - std::min(taken_, name.size() + 2);  // the opening quote
      current_ = nullptr;
      if (object_.contains(name)) {
        diagnostics_->error(source_.at(offset_),
                            "duplicate key '" + shown(name) + "'; keep one of them");
      } else if (object_.size() >= kMostJsonKeys) {
        too_many_ = true;
        return false;
      }
      key_ = std::move(name);
    } else if (depth_ == 2 && current_ != nullptr && current_->kind == Kind::kObject) {
      current_->keys.push_back(std::move(name));
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
  [[nodiscard]] bool too_many() const { return too_many_; }
  [[nodiscard]] std::size_t position() const { return position_; }  // bytes read until the fault
  [[nodiscard]] const std::string& fault() const { return fault_; }
  std::size_t* taken() { return &taken_; }
  JsonObject take() { return std::move(object_); }

 private:
  bool put(JsonValue value) {
    if (depth_ == 0) {
      is_object_ = value.kind == Kind::kObject;
    } else if (depth_ == 1 && is_object_) {
      value.offset = offset_;
      current_ = &object_.insert_or_assign(key_, std::move(value)).first->second;
    } else if (depth_ == 2 && is_object_ && current_ != nullptr) {
      current_->items.push_back(std::move(value));
    } else if (depth_ == 3 && is_object_ && in_list_of_object()) {
      current_->items.back().items.push_back(std::move(value));
    }
    return true;
  }
  // Whether what is read lies in a list that is a value of an object that is an outermost value.
  [[nodiscard]] bool in_list_of_object() const {
    return current_ != nullptr && current_->kind == Kind::kObject && !current_->items.empty() &&
           current_->items.back().kind == Kind::kList;
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

  const JsonSource& source_;
  Diagnostics* diagnostics_;
  JsonObject object_;
  std::string key_;
  JsonValue* current_ = nullptr;  // the value of the outermost key that is being read
  std::size_t taken_ = 0;
  std::size_t offset_ = 0;
  int depth_ = 0;
  bool is_object_ = false;
  bool too_many_ = false;
  std::size_t position_ = 0;
  std::string fault_;
};

// What is wrong with the text as a whole, if anything.
std::optional<Diagnostic> problem_of(const OutermostObject& outermost, std::string_view text,
                                     const JsonSource& source) {
  const std::string what(source.what);
  if (!outermost.fault().empty()) {
    const std::size_t read = outermost.position();
    return Diagnostic{location_of(text, read == 0 ? 0 : read - 1, source),
                      "not JSON: " + shown(outermost.fault(), 200) + "; correct the " + what +
                          " here" + (source.line > 0 ? "" : " or get it anew")};
  }
  if (outermost.too_many()) {
    return Diagnostic{source.at(0),
                      "the " + what + " has more than " + std::to_string(kMostJsonKeys) + " keys"};
  }
  if (outermost.too_deep()) {
    return Diagnostic{source.at(0), "lists and objects are nested more than " +
                                        std::to_string(kDeepestJson) + " levels deep"};
  }
  if (!outermost.is_object()) {
    return Diagnostic{source.at(0),
                      "the " + what + " must hold one JSON object, { \"key\": value, ... }"};
  }
  return std::nullopt;
}

}  // namespace

std::string shown(std::string_view text, std::size_t longest) {
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

std::optional<JsonObject> parse_json_object(std::string_view text, const JsonSource& source,
                                            Diagnostics& diagnostics) {
  if (text.size() > kLargestJson) {
    diagnostics.error(source.at(0), "the " + std::string(source.what) + " has " +
                                        std::to_string(text.size()) + " bytes, more than " +
                                        std::to_string(kLargestJson));
    return std::nullopt;
  }
  OutermostObject outermost(source, diagnostics);
  try {
    nlohmann::json::sax_parse(CountingIterator(text.data(), outermost.taken()),
                              CountingIterator(text.data() + text.size(), nullptr), &outermost);
  } catch (const nlohmann::json::exception& fault) {
    diagnostics.error(source.at(0), "not JSON: " + shown(without_prefix(fault.what()), 200));
    return std::nullopt;
  }
  if (std::optional<Diagnostic> problem = problem_of(outermost, text, source)) {
    diagnostics.error(std::move(problem->where), std::move(problem->message));
    return std::nullopt;
  }
  return outermost.take();
}

}  // namespace stepcast
