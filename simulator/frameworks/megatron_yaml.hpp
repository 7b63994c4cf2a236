// SPDX-License-Identifier: Apache-2.0
// Megatron's arguments in YAML.
//
//   language_model: {num_layers: 24}     of --yaml-cfg: groups, which Megatron takes apart again
//   MODEL_ARGS: {--num-layers: 24}       of its functional tests, which start one run by them
//   num_layers: 24                       by themselves
//
// ${VAR} in a value is what VAR=VALUE gives behind the file; what nobody gives is told where it
// could change what is predicted. Environment variables and how a test is judged change nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frameworks/imported_experiment.hpp"

namespace stepcast {

// "--num-layers" and "num-layers" as the field that they set.
std::string megatron_field_name(std::string_view key);

struct MegatronYaml {
  std::vector<Setting> settings;  // in the file's own words
  std::vector<SettingDoubt> doubts;
};

// Throws ConfigError.
MegatronYaml read_megatron_yaml(const ImportInput& input);

}  // namespace stepcast
