// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/json_node.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "stepcast/base/utf8.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/config/scalar.hpp"
#include "stepcast/config/value_message.hpp"

namespace stepcast {
namespace {

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

// Line and column of places in a text that are asked for from its beginning to its end.
class PlaceCounter {
 public:
  PlaceCounter(std::string_view text, int first_line) : text_(text), line_(first_line) {}

  void move_to(std::size_t offset) {
    for (; counted_ < offset; ++counted_) {
      if (text_[counted_] == '\n') {
        ++line_;
        line_start_ = counted_ + 1;
      }
    }
  }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] int column() const { return static_cast<int>(counted_ - line_start_) + 1; }

 private:
  std::string_view text_;
  std::size_t counted_ = 0;
  std::size_t line_start_ = 0;
  int line_;
};

// Builds the tree from the parser's events, each of which comes when its token has been read.
class JsonTreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonTreeBuilder(std::string_view text, const JsonSource& source, Diagnostics& diagnostics)
      : text_(text),
        place_(text, source.line),
        file_(std::make_shared<const std::string>(source.file)),
        most_keys_(source.most_keys),
        diagnostics_(&diagnostics) {}

  bool null() override { return add(empty_at(here(), ConfigNode::Kind::kNull)); }
  bool boolean(bool value) override { return add_scalar(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return add_scalar(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return add_scalar(std::to_string(value)); }
  // The parser puts the point of the process's locale where the text has one: "0,5".
  bool number_float(double /*value*/, const std::string& written) override {
    std::string number = written;
    const std::size_t point = number.find_first_not_of("0123456789+-eE");
    if (point != std::string::npos) {
      number[point] = '.';
    }
    return add_scalar(std::move(number));
  }
  // Where the text has no quotes, one of Python's numbers stands there (strict_json).
  bool string(std::string& value) override {
    const std::size_t start = token_start();
    const ConfigPlace place = here();
    if (start < text_.size() && text_[start] != '"') {
      return add(scalar_at(place, std::string(text_.substr(start, after_last_ - start))));
    }
    ConfigNode text = scalar_at(place, std::move(value));
    text.quoted = true;
    return add(std::move(text));
  }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return null(); }
  bool start_object(std::size_t /*elements*/) override { return open(ConfigNode::Kind::kMapping); }
  bool start_array(std::size_t /*elements*/) override { return open(ConfigNode::Kind::kSequence); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    move_to_token();
    Open& object = open_.back();
    if (!object.keys.insert(name).second) {
      diagnostics_->error({*file_, place_.line(), place_.column()},
                          "duplicate key '" + shown(name) + "'; keep one of them");
    }
    too_many_ = object.keys.size() > most_keys_;
    object.pending = {std::move(name), place_.line(), place_.column(), {}};
    return !too_many_;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& fault) override {
    position_ = position;
    fault_ = without_prefix(fault.what());
    return false;
  }

  [[nodiscard]] bool too_deep() const { return open_.size() > kDeepestJson; }
  [[nodiscard]] bool too_many() const { return too_many_; }
  [[nodiscard]] std::size_t position() const { return position_; }  // bytes read until the fault
  [[nodiscard]] const std::string& fault() const { return fault_; }
  [[nodiscard]] const ConfigNode& root() const { return root_; }
  std::size_t* taken() { return &taken_; }
  ConfigNode take_root() { return std::move(root_); }

 private:
  struct Open {
    ConfigNode node;
    ConfigEntry pending = {};         // of an object: a key that waits for its value
    std::set<std::string> keys = {};  // of an object
  };

  // Only blanks, commas and colons lie between the token before and this one. The parser reads one
  // character beyond a number, which is none of the next token's.
  void move_to_token() {
    place_.move_to(std::min(token_start(), text_.size()));
    after_last_ = taken_;
  }
  [[nodiscard]] std::size_t token_start() const {
    return text_.find_first_not_of(" \t\r\n,:", after_last_);
  }
  ConfigPlace here() {
    move_to_token();
    return {file_, place_.line(), place_.column()};
  }
  bool add_scalar(std::string text) { return add(scalar_at(here(), std::move(text))); }
  bool add(ConfigNode value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().node.kind == ConfigNode::Kind::kSequence) {
      open_.back().node.items.push_back(std::move(value));
    } else {
      Open& object = open_.back();
      object.pending.value = std::move(value);
      object.node.entries.push_back(std::move(object.pending));
    }
    return true;
  }
  bool open(ConfigNode::Kind kind) {
    open_.push_back({empty_at(here(), kind)});
    return !too_deep();
  }
  bool close() {
    after_last_ = taken_;
    ConfigNode done = std::move(open_.back().node);
    open_.pop_back();
    return add(std::move(done));
  }

  std::string_view text_;
  PlaceCounter place_;
  std::shared_ptr<const std::string> file_;
  std::size_t most_keys_;
  Diagnostics* diagnostics_;
  std::vector<Open> open_;
  ConfigNode root_;
  std::size_t taken_ = 0;
  std::size_t after_last_ = 0;  // of the token before
  bool too_many_ = false;
  std::size_t position_ = 0;
  std::string fault_;
};

// The text with a string of the same length in the place of each of Python's numbers that JSON does
// not have, so that every place in it stays.
std::string strict_json(std::string_view text) {
  std::string strict(text);
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && in_string) {
      ++at;
    } else if (text[at] == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      for (const std::string_view number : {"NaN", "-Infinity", "Infinity"}) {
        if (text.substr(at).starts_with(number)) {
          strict[at] = strict[at + number.size() - 1] = '"';
          at += number.size() - 1;
          break;
        }
      }
    }
  }
  return strict;
}

// What is wrong with the text as a whole, if anything.
std::optional<Diagnostic> problem_of(const JsonTreeBuilder& builder, std::string_view text,
                                     const JsonSource& source) {
  const std::string what(source.what);
  const Location start{source.file, source.line, 1};
  if (!builder.fault().empty()) {
    PlaceCounter place(text, source.line);
    place.move_to(std::min(std::max<std::size_t>(builder.position(), 1) - 1, text.size()));
    return Diagnostic{
        {source.file, place.line(), place.column()},
        "not JSON: " + shown(builder.fault(), 200) + "; correct the " + what + " here"};
  }
  if (builder.too_many()) {
    return Diagnostic{
        start, "the " + what + " has more than " + std::to_string(source.most_keys) + " keys"};
  }
  if (builder.too_deep()) {
    return Diagnostic{start, "lists and objects are nested more than " +
                                 std::to_string(kDeepestJson) + " levels deep"};
  }
  if (builder.root().kind != ConfigNode::Kind::kMapping) {
    return Diagnostic{start, must_be_object(what)};
  }
  return std::nullopt;
}

// As json_dump writes it: bytes that are not of UTF-8 are U+FFFD.
std::string text_of(const nlohmann::ordered_json& value) {
  const auto& text = value.get_ref<const std::string&>();
  return first_not_utf8(text) == std::string::npos
             ? text
             : nlohmann::json::parse(json_dump(value)).get<std::string>();
}

ConfigNode node_at(const nlohmann::ordered_json& value, const ConfigPlace& place) {
  ConfigNode node = empty_at(place, ConfigNode::Kind::kNull);
  if (value.is_object()) {
    node.kind = ConfigNode::Kind::kMapping;
    for (const auto& [key, item] : value.items()) {
      node.entries.push_back({key, place.line, place.column, node_at(item, place)});
    }
  } else if (value.is_array()) {
    node.kind = ConfigNode::Kind::kSequence;
    for (const auto& item : value) {
      node.items.push_back(node_at(item, place));
    }
  } else if (!value.is_null()) {
    node.kind = ConfigNode::Kind::kScalar;
    node.quoted = value.is_string();
    node.text = node.quoted ? text_of(value) : value.dump();
  }
  return node;
}

nlohmann::ordered_json scalar_json(const ConfigNode& scalar) {
  if (scalar.quoted) {
    return scalar.text;
  }
  if (const std::optional<bool> flag = flag_of(scalar)) {
    return *flag;
  }
  if (const std::optional<std::int64_t> whole = whole_number_in(scalar.text)) {
    return *whole;
  }
  double number = 0.0;
  const char* const end = scalar.text.data() + scalar.text.size();
  const auto [after, error] = std::from_chars(scalar.text.data(), end, number);
  if (error == std::errc{} && after == end) {
    return number;
  }
  return scalar.text;
}

}  // namespace

ConfigNode json_node(const nlohmann::ordered_json& value, const JsonSource& source) {
  return node_at(value, {std::make_shared<const std::string>(source.file), source.line, 1});
}

nlohmann::ordered_json json_of(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      return nullptr;
    case ConfigNode::Kind::kScalar:
      return scalar_json(node);
    case ConfigNode::Kind::kSequence: {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const ConfigNode& item : node.items) {
        list.push_back(json_of(item));
      }
      return list;
    }
    case ConfigNode::Kind::kMapping: {
      nlohmann::ordered_json object = nlohmann::ordered_json::object();
      for (const ConfigEntry& entry : node.entries) {
        object[entry.key] = json_of(entry.value);
      }
      return object;
    }
  }
  return nullptr;
}

std::optional<ConfigNode> parse_json_object(std::string_view text, const JsonSource& source,
                                            Diagnostics& diagnostics) {
  const Location start{source.file, source.line, 1};
  if (text.size() > source.most_bytes) {
    diagnostics.error(start, "the " + std::string(source.what) + " has " +
                                 std::to_string(text.size()) + " bytes, more than " +
                                 std::to_string(source.most_bytes));
    return std::nullopt;
  }
  const std::string strict =
      source.numbers == JsonNumbers::kPython ? strict_json(text) : std::string{};
  const std::string_view parsed = source.numbers == JsonNumbers::kPython ? strict : text;
  JsonTreeBuilder builder(text, source, diagnostics);
  try {
    nlohmann::json::sax_parse(CountingIterator(parsed.data(), builder.taken()),
                              CountingIterator(parsed.data() + parsed.size(), nullptr), &builder);
  } catch (const nlohmann::json::exception& fault) {
    diagnostics.error(start, "not JSON: " + shown(without_prefix(fault.what()), 200));
    return std::nullopt;
  }
  if (std::optional<Diagnostic> problem = problem_of(builder, text, source)) {
    diagnostics.error(std::move(problem->where), std::move(problem->message));
    return std::nullopt;
  }
  return builder.take_root();
}

}  // namespace stepcast
