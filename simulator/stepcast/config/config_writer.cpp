// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/config_writer.hpp"

#include <utility>

namespace stepcast {
namespace {

struct ScalarText {
  ConfigNode operator()(bool value) const { return scalar_at({}, value ? "true" : "false"); }
  ConfigNode operator()(std::int64_t value) const { return scalar_at({}, std::to_string(value)); }
  ConfigNode operator()(double value) const { return scalar_at({}, shortest_text(value)); }
  ConfigNode operator()(std::string_view value) const {
    ConfigNode node = scalar_at({}, std::string(value));
    node.quoted = true;
    return node;
  }
};

template <typename Value>
ConfigNode list_of(const std::vector<Value>& values) {
  ConfigNode list = empty_at({}, ConfigNode::Kind::kSequence);
  list.items.reserve(values.size());
  for (const Value& value : values) {
    list.items.push_back(scalar_node(value));
  }
  return list;
}

}  // namespace

ConfigNode scalar_node(const ConfigScalar& value) { return std::visit(ScalarText{}, value); }

ConfigNode list_node(const std::vector<std::int64_t>& values) { return list_of(values); }
ConfigNode list_node(const std::vector<std::string>& texts) { return list_of(texts); }

ConfigWriter::ConfigWriter() { open_.push_back(empty_at({}, ConfigNode::Kind::kMapping)); }

void ConfigWriter::field(std::string_view key, ConfigNode value) {
  open_.back().entries.push_back({std::string(key), 0, 0, std::move(value)});
}

void ConfigWriter::begin(std::string_view key) {
  keys_.emplace_back(key);
  open_.push_back(empty_at({}, ConfigNode::Kind::kMapping));
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
