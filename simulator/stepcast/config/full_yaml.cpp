// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/full_yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "stepcast/config/json_node.hpp"

namespace stepcast {
namespace {

// Builds the tree from the parser's events: unlike YAML::Node this keeps repeated keys visible.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::shared_ptr<const std::string> file) : file_(std::move(file)) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      error(mark, "a second document starts here; a config file holds one document");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(node(mark, ConfigNode::Kind::kNull));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    error(mark, "an alias (*name) is not supported; write the value out");
    add(node(mark, ConfigNode::Kind::kNull));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    ConfigNode scalar = node(mark, ConfigNode::Kind::kScalar);
    scalar.text = value;
    scalar.quoted = tag == "!";
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open_.push_back({node(mark, ConfigNode::Kind::kSequence), {}, false, {}});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open_.push_back({node(mark, ConfigNode::Kind::kMapping), {}, false, {}});
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
  };

  [[nodiscard]] ConfigNode node(const YAML::Mark& mark, ConfigNode::Kind kind) const {
    ConfigNode result;
    result.kind = kind;
    result.file = file_;
    result.line = mark.line + 1;
    result.column = mark.column + 1;
    return result;
  }
  void error(const YAML::Mark& mark, std::string message) {
    diagnostics_.error({*file_, mark.line + 1, mark.column + 1}, std::move(message));
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) {
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
    open_.pop_back();
    add(std::move(done));
  }
  void add(ConfigNode value) {
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
    if (!is_new) {
      diagnostics_.error(key.location(), "repeated key '" + key.text + "', first given on line " +
                                             std::to_string(first->second) + "; keep one of them");
    }
  }

  std::shared_ptr<const std::string> file_;
  std::vector<Open> open_;
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

}  // namespace

ConfigNode read_full_yaml(std::string_view text, const std::shared_ptr<const std::string>& file) {
  TreeBuilder builder(file);
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

}  // namespace stepcast
