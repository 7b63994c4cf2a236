// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/config_yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>
#include <yaml.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepcast/config/json_node.hpp"

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

// kStrict: what a config file of ours may have. kOpen: anchors, aliases, merges, and keys that
// stand several times, of which the last counts, too.
enum class YamlDialect { kStrict, kOpen };

std::size_t nodes_in(const ConfigNode& node) {
  std::size_t count = 1;
  for (const ConfigNode& item : node.items) {
    count += nodes_in(item);
  }
  for (const ConfigEntry& entry : node.entries) {
    count += nodes_in(entry.value);
  }
  return count;
}

// The entries of a mapping, of a key that stands several times the last, and behind them those of
// its merges, the values of "<<", that it has not itself.
void settle_keys(ConfigNode& mapping) {
  constexpr std::string_view kMerge = "<<";
  std::vector<ConfigEntry> settled;
  std::vector<ConfigEntry> merged;
  std::unordered_map<std::string, std::size_t> places;
  for (ConfigEntry& entry : mapping.entries) {
    if (entry.key == kMerge) {
      std::move(entry.value.entries.begin(), entry.value.entries.end(), std::back_inserter(merged));
      for (ConfigNode& item : entry.value.items) {
        std::move(item.entries.begin(), item.entries.end(), std::back_inserter(merged));
      }
      continue;
    }
    const auto [place, is_new] = places.try_emplace(entry.key, settled.size());
    if (is_new) {
      settled.push_back(std::move(entry));
    } else {
      settled[place->second] = std::move(entry);
    }
  }
  for (ConfigEntry& entry : merged) {
    if (places.try_emplace(entry.key, settled.size()).second) {
      settled.push_back(std::move(entry));
    }
  }
  mapping.entries = std::move(settled);
}

// Builds the tree from the parser's events: unlike YAML::Node this keeps repeated keys visible.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const std::string> file, YamlDialect dialect)
      : file_(std::move(file)), dialect_(dialect) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      error(mark, "a second document starts here; a config file holds one document");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(empty_at(place(mark), ConfigNode::Kind::kNull), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (dialect_ == YamlDialect::kStrict) {
      error(mark, "an alias (*name) is not supported; write the value out");
    }
    const auto found = anchored_.find(anchor);
    const bool known = found != anchored_.end();
    copied_ += known ? nodes_in(found->second) : 0;
    if (copied_ > kMostCopied) {
      error(mark, "aliases repeat more than 100,000 values; write them out");
    }
    add(known && copied_ <= kMostCopied ? found->second
                                        : empty_at(place(mark), ConfigNode::Kind::kNull));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    ConfigNode scalar = scalar_at(place(mark), value);
    scalar.quoted = tag == "!";
    add(std::move(scalar), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open_.push_back({empty_at(place(mark), ConfigNode::Kind::kSequence), {}, false, {}, anchor});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open_.push_back({empty_at(place(mark), ConfigNode::Kind::kMapping), {}, false, {}, anchor});
  }
  void OnMapEnd() override { close(); }

  ConfigNode take_root() { return std::move(root_); }
  Diagnostics& diagnostics() { return diagnostics_; }
  [[nodiscard]] int documents() const { return documents_; }

 private:
  struct Open {
    ConfigNode node;
    ConfigEntry pending;  // a mapping's key that waits for its value
    bool has_key = false;
    std::unordered_map<std::string, int> lines;  // of a mapping: its keys, and where they stand
    YAML::anchor_t anchor = 0;
  };
  static constexpr std::size_t kMostCopied = 100'000;

  [[nodiscard]] ConfigPlace place(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};
  }
  void error(const YAML::Mark& mark, std::string message) {
    diagnostics_.error(place(mark).location(), std::move(message));
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0 && dialect_ == YamlDialect::kStrict) {
      error(mark, "an anchor (&name) is not supported; remove it");
    }
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      error(mark, "the tag '" + tag + "' is not supported; remove it");
    }
  }
  void close() {
    ConfigNode done = std::move(open_.back().node);
    const YAML::anchor_t anchor = open_.back().anchor;
    open_.pop_back();
    if (dialect_ == YamlDialect::kOpen) {
      settle_keys(done);
    }
    add(std::move(done), anchor);
  }
  void add(ConfigNode value, YAML::anchor_t anchor = 0) {
    if (anchor != 0 && dialect_ == YamlDialect::kOpen) {
      anchored_[anchor] = value;
    }
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().node.kind == ConfigNode::Kind::kSequence) {
      open_.back().node.items.push_back(std::move(value));
    } else if (!open_.back().has_key) {
      start_entry(value);
    } else {
      Open& mapping = open_.back();
      mapping.pending.value = std::move(value);
      mapping.node.entries.push_back(std::move(mapping.pending));
      mapping.has_key = false;
    }
  }
  void start_entry(const ConfigNode& key) {
    Open& mapping = open_.back();
    mapping.has_key = true;
    mapping.pending = {key.text, key.line, key.column, {}};
    if (key.kind != ConfigNode::Kind::kScalar || key.text.empty()) {
      diagnostics_.error(key.location(), "a key must be a plain word");
      return;
    }
    const auto [first, is_new] = mapping.lines.try_emplace(key.text, key.line);
    if (!is_new && dialect_ == YamlDialect::kStrict) {
      diagnostics_.error(key.location(), "repeated key '" + key.text + "', first given on line " +
                                             std::to_string(first->second) + "; keep one of them");
    }
  }

  std::shared_ptr<const std::string> file_;
  YamlDialect dialect_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, ConfigNode> anchored_;
  std::size_t copied_ = 0;  // values that aliases repeat
  ConfigNode root_;
  Diagnostics diagnostics_;
  int documents_ = 0;
};

// yaml-cpp says nothing of what to do, so each of its messages gets a remedy.
std::string syntax_message(const std::string& what) {
  return "not valid YAML: " + what + "; check indentation, quotes and brackets here";
}

// A text that yaml-cpp cannot read, if it is JSON all the same: JSON writes characters beyond
// U+FFFF as two escapes ("\ud83d\ude00", RFC 8259 section 7), of which YAML knows none.
std::optional<ConfigNode> read_as_json(std::string_view text, const std::string& file) {
  Diagnostics unused;
  std::optional<ConfigNode> node = parse_json_object(text, {file}, unused);
  return unused.empty() ? std::move(node) : std::nullopt;
}

bool is_nested(const ConfigNode& node) {
  return node.kind == ConfigNode::Kind::kMapping && !node.entries.empty();
}

// A mapping that has a mapping inside stands over several lines.
bool is_deep(const ConfigNode& node) {
  return std::any_of(node.entries.begin(), node.entries.end(),
                     [](const ConfigEntry& entry) { return is_nested(entry.value); });
}

// Whether a plain scalar of this text would be read as something else than text.
bool needs_quotes(const std::string& text) {
  constexpr std::string_view kStartsOfNumbers = "0123456789+-.";
  const YAML::Node plain(text);
  bool flag = false;
  return text.empty() || text == "~" || text == "null" ||
         kStartsOfNumbers.find(text.front()) != std::string_view::npos ||
         YAML::convert<bool>::decode(plain, flag);
}

void emit(YAML::Emitter& out, const ConfigNode& node, bool block) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      out << YAML::Null;
      return;
    case ConfigNode::Kind::kScalar:
      // What cannot stand plainly the emitter quotes itself.
      if (node.quoted && needs_quotes(node.text)) {
        out << YAML::DoubleQuoted;
      }
      out << node.text;
      return;
    case ConfigNode::Kind::kSequence:
      out << YAML::Flow << YAML::BeginSeq;
      for (const ConfigNode& item : node.items) {
        emit(out, item, false);
      }
      out << YAML::EndSeq;
      return;
    case ConfigNode::Kind::kMapping:
      out << (block ? YAML::Block : YAML::Flow) << YAML::BeginMap;
      for (const ConfigEntry& entry : node.entries) {
        out << YAML::Key << entry.key << YAML::Value;
        emit(out, entry.value, block && is_deep(entry.value));
      }
      out << YAML::EndMap;
      return;
  }
}

std::string text_of(const ConfigNode& node, bool block) {
  YAML::Emitter out;
  emit(out, node, block);
  return out.c_str();
}

ConfigNode read_by(YamlDialect dialect, std::string_view text,
                   const std::shared_ptr<const std::string>& file) {
  TreeBuilder builder(file, dialect);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder) && builder.documents() < 2) {
    }
  } catch (const YAML::Exception& e) {
    if (std::optional<ConfigNode> json = read_as_json(text, *file)) {
      return std::move(*json);
    }
    builder.diagnostics().error({*file, e.mark.line + 1, e.mark.column + 1}, syntax_message(e.msg));
  }
  builder.diagnostics().throw_if_any();
  return builder.take_root();
}

}  // namespace

std::string to_yaml(const ConfigNode& node) { return text_of(node, is_nested(node)) + "\n"; }

std::string to_flow_yaml(const ConfigNode& node) { return text_of(node, false); }

ConfigNode read_full_yaml(std::string_view text, const std::shared_ptr<const std::string>& file) {
  return read_by(YamlDialect::kStrict, text, file);
}

ConfigNode read_open_yaml(std::string_view text, const std::shared_ptr<const std::string>& file) {
  return read_by(YamlDialect::kOpen, text, file);
}

std::optional<ConfigNode> read_plain_yaml(std::string_view text,
                                          const std::shared_ptr<const std::string>& file) {
  const bool ordinary = std::all_of(text.begin(), text.end(), is_ordinary);
  return ordinary ? PlainReader(text, file).document() : std::nullopt;
}

}  // namespace stepcast
