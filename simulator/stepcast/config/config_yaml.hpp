// SPDX-License-Identifier: Apache-2.0
// YAML text as a tree, by two readers that agree wherever both read a text (config_node.hpp asks
// the quick one first), and a tree as YAML text that parse_config reads back to the same tree,
// apart from places.
//
//   model: llama3.1_70b
//   plan: {tp: 8, pp: 4}
//
// What is written has mappings of scalars and lists on one line below the first level.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

// The tree of any text of YAML, null if it is empty, by yaml-cpp: what it says of a text is what a
// config file means, and what is wrong with it. Throws ConfigError with all problems found.
ConfigNode read_full_yaml(std::string_view text, const std::shared_ptr<const std::string>& file);

// The same of what other programs write for themselves: anchors, aliases and merges stand for what
// they repeat, and of a key that stands several times the last one counts.
ConfigNode read_open_yaml(std::string_view text, const std::shared_ptr<const std::string>& file);

// Reads ordinary YAML with libyaml, in a seventh of the instructions that yaml-cpp takes.
//
// Ordinary is what profiles, models and experiments consist of: one document of mappings, sequences
// and scalars, in ASCII. What is more than that, or wrong, is left to yaml-cpp, whose reading and
// whose messages are the ones that count (config_node.hpp); both give the same tree, places
// included, of a text that both read.
//
// The tree of `text`; nothing if the text is not ordinary: it cannot be parsed, it repeats a key,
// has a value that is empty or null, an anchor, an alias, a tag, a block scalar (| or >), a marker
// of documents (--- or ...), a byte beyond ASCII, or nests deeper than kDeepestPlainYaml.
std::optional<ConfigNode> read_plain_yaml(std::string_view text,
                                          const std::shared_ptr<const std::string>& file);

inline constexpr int kDeepestPlainYaml = 64;

// A mapping as a block; anything else as one line.
std::string to_yaml(const ConfigNode& node);
// On one line: "{tp: 8, pp: 4}".
std::string to_flow_yaml(const ConfigNode& node);

}  // namespace stepcast
