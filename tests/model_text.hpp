// SPDX-License-Identifier: Apache-2.0
// A model read from YAML text.
#pragma once

#include <string>
#include <string_view>

#include "stepcast/model/model_spec.hpp"

namespace stepcast::test {

// Throws ConfigError with all problems; `name` is what they call the text.
inline ModelSpec model_from(std::string_view yaml, const std::string& name = "a.yaml") {
  const ConfigNode root = parse_config(yaml, name);
  Diagnostics diagnostics;
  MappingReader reader(root, "", diagnostics);
  ModelSpec model = read_model(reader);
  diagnostics.throw_if_any();
  return model;
}

}  // namespace stepcast::test
