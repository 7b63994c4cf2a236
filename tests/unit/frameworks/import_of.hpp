// SPDX-License-Identifier: Apache-2.0
// Texts of frameworks as experiments, for tests.
#pragma once

#include <string>
#include <vector>

#include "frameworks/imported_experiment.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast::test {

inline ImportInput input_of(std::string text, std::string file,
                            std::vector<std::string> overrides = {}) {
  ImportInput input;
  input.text = std::move(text);
  input.file = std::move(file);
  input.overrides = std::move(overrides);
  input.data = data_root();
  return input;
}

// The value of a dotted key on one line; empty if it is absent.
inline std::string value_of(const ImportedExperiment& imported, std::string_view path) {
  const ConfigNode* node = &imported.experiment;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = node->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return node == nullptr ? std::string{} : to_flow_yaml(*node);
}

// The problems of an import, a line each; empty if there are none.
inline std::string problems_of(ImportedExperiment (*import)(const ImportInput&),
                               const ImportInput& input) {
  try {
    (void)import(input);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

}  // namespace stepcast::test
