// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/plain_yaml.hpp"

#include <yaml.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace stepcast {
namespace {

// libyaml's parser over one text.
class EventStream {
 public:
  explicit EventStream(std::string_view text) : made_(yaml_parser_initialize(&parser_) == 1) {
    if (made_) {
      yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
      yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                   text.size());
    }
  }
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;
  ~EventStream() {
    yaml_event_delete(&event_);
    if (made_) {
      yaml_parser_delete(&parser_);
    }
  }

  // Goes on to the next event; false where the text cannot be parsed.
  bool next() {
    yaml_event_delete(&event_);
    return made_ && yaml_parser_parse(&parser_, &event_) == 1;
  }
  // Goes on to the next event, which must be of this kind.
  bool next_is(yaml_event_type_t type) { return next() && event_.type == type; }
  [[nodiscard]] const yaml_event_t& event() const { return event_; }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  bool made_;
};

// Printable ASCII in lines that end with a line feed alone, without escapes and explicit keys, of
// which the two libraries have different ideas.
bool is_ordinary(char c) { return c == '\n' || (c >= ' ' && c <= '~' && c != '\\' && c != '?'); }

bool is_null_word(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

bool repeats_a_key(const std::vector<ConfigEntry>& entries) {
  std::vector<std::string_view> keys;
  keys.reserve(entries.size());
  for (const ConfigEntry& entry : entries) {
    keys.emplace_back(entry.key);
  }
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
}

class PlainReader {
 public:
  PlainReader(std::string_view text, const std::shared_ptr<const std::string>& file)
      : events_(text), file_(file) {}

  std::optional<ConfigNode> document() {
    ConfigNode root;
    const bool read =
        events_.next_is(YAML_STREAM_START_EVENT) && events_.next_is(YAML_DOCUMENT_START_EVENT) &&
        events_.event().data.document_start.implicit != 0 && events_.next() && value(root, 0) &&
        events_.next_is(YAML_DOCUMENT_END_EVENT) &&
        events_.event().data.document_end.implicit != 0 && events_.next_is(YAML_STREAM_END_EVENT);
    return read ? std::optional(std::move(root)) : std::nullopt;
  }

 private:
  // The value that begins with the event at hand; false if it is not ordinary.
  bool value(ConfigNode& node, int depth) {
    const yaml_event_t& event = events_.event();
    place(node, event.start_mark);
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        return stands_plainly(event) && scalar(node, event.data.scalar);
      case YAML_SEQUENCE_START_EVENT:
        return event.data.sequence_start.anchor == nullptr &&
               event.data.sequence_start.tag == nullptr && sequence(node, depth + 1);
      case YAML_MAPPING_START_EVENT:
        return event.data.mapping_start.anchor == nullptr &&
               event.data.mapping_start.tag == nullptr && mapping(node, depth + 1);
      default:
        return false;
    }
  }
  // Quoted text must stand on one line: the two libraries fold line feeds inside it differently.
  static bool stands_plainly(const yaml_event_t& event) {
    return event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE ||
           event.start_mark.line == event.end_mark.line;
  }
  static bool scalar(ConfigNode& node, const decltype(yaml_event_t::data.scalar)& read) {
    node.kind = ConfigNode::Kind::kScalar;
    node.text.assign(reinterpret_cast<const char*>(read.value), read.length);
    node.quoted = read.style != YAML_PLAIN_SCALAR_STYLE;
    const bool block =
        read.style == YAML_LITERAL_SCALAR_STYLE || read.style == YAML_FOLDED_SCALAR_STYLE;
    return read.anchor == nullptr && read.tag == nullptr && !block &&
           (node.quoted || !is_null_word(node.text));
  }
  bool sequence(ConfigNode& node, int depth) {
    node.kind = ConfigNode::Kind::kSequence;
    while (depth <= kDeepestPlainYaml && events_.next()) {
      if (events_.event().type == YAML_SEQUENCE_END_EVENT) {
        return true;
      }
      if (!value(node.items.emplace_back(), depth)) {
        return false;
      }
    }
    return false;
  }
  bool mapping(ConfigNode& node, int depth) {
    node.kind = ConfigNode::Kind::kMapping;
    while (depth <= kDeepestPlainYaml && events_.next()) {
      if (events_.event().type == YAML_MAPPING_END_EVENT) {
        return !repeats_a_key(node.entries);
      }
      if (!entry(node.entries.emplace_back(), depth)) {
        return false;
      }
    }
    return false;
  }
  bool entry(ConfigEntry& entry, int depth) {
    ConfigNode key;
    if (!value(key, depth) || key.kind != ConfigNode::Kind::kScalar || key.text.empty()) {
      return false;
    }
    entry.key = std::move(key.text);
    entry.line = key.line;
    entry.column = key.column;
    return events_.next() && value(entry.value, depth);
  }
  void place(ConfigNode& node, const yaml_mark_t& mark) const {
    node.file = file_;
    node.line = static_cast<int>(mark.line) + 1;
    node.column = static_cast<int>(mark.column) + 1;
  }

  EventStream events_;
  const std::shared_ptr<const std::string>& file_;
};

}  // namespace

std::optional<ConfigNode> read_plain_yaml(std::string_view text,
                                          const std::shared_ptr<const std::string>& file) {
  const bool ordinary = std::all_of(text.begin(), text.end(), is_ordinary);
  return ordinary ? PlainReader(text, file).document() : std::nullopt;
}

}  // namespace stepcast
