// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/config_yaml.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string_view>

namespace stepcast {
namespace {

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

}  // namespace

std::string to_yaml(const ConfigNode& node) { return text_of(node, is_nested(node)) + "\n"; }

std::string to_flow_yaml(const ConfigNode& node) { return text_of(node, false); }

}  // namespace stepcast
