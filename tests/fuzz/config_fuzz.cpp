// SPDX-License-Identifier: Apache-2.0
#include "config_trees.hpp"
#include "fuzz/targets.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast::fuzz {
namespace {

// Every value of a file has a place in it.
void check(const ConfigNode& node) {
  promise(node.line > 0 && node.column > 0, "a value has no place");
  for (const ConfigNode& item : node.items) {
    check(item);
  }
  for (const ConfigEntry& entry : node.entries) {
    promise(!entry.key.empty() && entry.line > 0, "a key is empty or has no place");
    promise(node.find(entry.key) == &entry.value, "a key is repeated");
    check(entry.value);
  }
}

// The two readers of YAML agree on what both read.
void check_readers(std::string_view text) {
  const auto file = std::make_shared<const std::string>("fuzz");
  if (const std::optional<ConfigNode> plain = read_plain_yaml(text, file)) {
    promise(test::same_tree(*plain, read_full_yaml(text, file)), "two readers of YAML disagree");
  }
}

}  // namespace

int fuzz_config(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  try {
    ConfigNode root = parse_config(text, "fuzz");
    check(root);
    check_readers(text);
    apply_override(root, std::string(text.substr(0, text.find('\n'))));
  } catch (const ConfigError& error) {
    promise(!error.diagnostics().empty(), "an error says nothing");
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      promise(!diagnostic.message.empty(), "an error has no message");
    }
  }
  return 0;
}

}  // namespace stepcast::fuzz
