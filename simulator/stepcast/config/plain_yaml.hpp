// SPDX-License-Identifier: Apache-2.0
// Reads ordinary YAML with libyaml, in a seventh of the instructions that yaml-cpp takes.
//
// Ordinary is what profiles, models and experiments consist of: one document of mappings, sequences
// and scalars, in ASCII. What is more than that, or wrong, is left to yaml-cpp, whose reading and
// whose messages are the ones that count (config_node.hpp); both give the same tree, places
// included, of a text that both read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

// The tree of `text`; nothing if the text is not ordinary: it cannot be parsed, it repeats a key,
// has a value that is empty or null, an anchor, an alias, a tag, a block scalar (| or >), a marker
// of documents (--- or ...), a byte beyond ASCII, or nests deeper than kDeepestPlainYaml.
std::optional<ConfigNode> read_plain_yaml(std::string_view text,
                                          const std::shared_ptr<const std::string>& file);

inline constexpr int kDeepestPlainYaml = 64;

}  // namespace stepcast
