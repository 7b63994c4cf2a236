// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/config_writer.hpp"

#include <utility>

namespace stepcast {
namespace {

ConfigNode plain(std::string text) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.text = std::move(text);
  return node;
}

struct ScalarText {
  ConfigNode operator()(bool value) const { return plain(value ? "true" : "false"); }
  ConfigNode operator()(std::int64_t value) const { return plain(std::to_string(value)); }
  ConfigNode operator()(double value) const { return plain(shortest_text(value)); }
  ConfigNode operator()(std::string_view value) const {
    ConfigNode node = plain(std::string(value));
    node.quoted = true;
    return node;
  }
};

ConfigNode empty_node(ConfigNode::Kind kind) {
  ConfigNode node;
  node.kind = kind;
  return node;
}

}  // namespace

ConfigNode scalar_node(const ConfigScalar& value) { return std::visit(ScalarText{}, value); }

ConfigNode list_node(const std::vector<std::int64_t>& values) {
  ConfigNode list = empty_node(ConfigNode::Kind::kSequence);
  list.items.reserve(values.size());
  for (const std::int64_t value : values) {
    list.items.push_back(scalar_node(value));
  }
  return list;
}

ConfigNode list_node(const std::vector<std::string>& texts) {
  ConfigNode list = empty_node(ConfigNode::Kind::kSequence);
  list.items.reserve(texts.size());
  for (const std::string& text : texts) {
    list.items.push_back(scalar_node(text));
  }
  return list;
}

ConfigWriter::ConfigWriter() { open_.push_back(empty_node(ConfigNode::Kind::kMapping)); }

void ConfigWriter::field(std::string_view key, ConfigNode value) {
  open_.back().entries.push_back({std::string(key), 0, 0, std::move(value)});
}

void ConfigWriter::begin(std::string_view key) {
  keys_.emplace_back(key);
  open_.push_back(empty_node(ConfigNode::Kind::kMapping));
}

void ConfigWriter::end() {
  ConfigNode inner = std::move(open_.back());
  open_.pop_back();
  const std::string key = std::move(keys_.back());
  keys_.pop_back();
  field(key, std::move(inner));
}

ConfigNode ConfigWriter::take() { return std::move(open_.front()); }

}  // namespace stepcast
