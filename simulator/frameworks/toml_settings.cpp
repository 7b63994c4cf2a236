// SPDX-License-Identifier: Apache-2.0
#include "frameworks/toml_settings.hpp"

#include <toml++/toml.h>
#include <sstream>

namespace stepcast {
namespace {

ConfigNode placed(const toml::node& node, const std::shared_ptr<const std::string>& file) {
  ConfigNode placed;
  placed.file = file;
  placed.line = static_cast<int>(node.source().begin.line);
  placed.column = static_cast<int>(node.source().begin.column);
  return placed;
}

// As TOML writes it, texts without their quotes.
std::string written(const toml::node& node) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  std::ostringstream out;
  node.visit([&out](const auto& value) { out << value; });
  return out.str();
}

ConfigNode value_of(const toml::node& node, const std::shared_ptr<const std::string>& file) {
  ConfigNode value = placed(node, file);
  if (const auto* list = node.as_array()) {
    value.kind = ConfigNode::Kind::kSequence;
    for (const toml::node& item : *list) {
      value.items.push_back(value_of(item, file));
    }
    return value;
  }
  value.kind = ConfigNode::Kind::kScalar;
  value.text = written(node);
  return value;
}

void collect(const toml::table& table, const std::string& prefix,
             const std::shared_ptr<const std::string>& file, std::vector<Setting>& settings) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      collect(*inner, name + ".", file, settings);
    } else {
      settings.push_back({name, value_of(node, file)});
    }
  }
}

}  // namespace

std::vector<Setting> toml_settings(std::string_view text, const std::string& file) {
  std::vector<Setting> settings;
  try {
    const toml::table root = toml::parse(text, file);
    collect(root, {}, std::make_shared<const std::string>(file), settings);
  } catch (const toml::parse_error& fault) {
    const toml::source_position where = fault.source().begin;
    throw ConfigError({file, static_cast<int>(where.line), static_cast<int>(where.column)},
                      "is no TOML: " + std::string(fault.description()));
  }
  return settings;
}

}  // namespace stepcast
