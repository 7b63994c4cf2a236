// SPDX-License-Identifier: Apache-2.0
// Primus: an experiment from its YAML, and the other way round.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/exported_file.hpp"
#include "frameworks/imported_experiment.hpp"
#include "frameworks/setting.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast {

ImportedExperiment import_primus(const ImportInput& input);
std::vector<ExportedFile> export_primus(const ExportInput& input);
std::vector<ExportRefusal> why_not_primus(const ExportInput& input);

// The name in `configs/models` of a model that Primus or Megatron Bridge calls `name`, without
// regard to capitals; empty if there is none.
std::string shipped_model(const std::string& name, const DataRoot& data);

// Primus' layers of YAML as one list of settings.
//
//   modules.pre_trainer: {framework: megatron, config: pre_trainer.yaml, model: llama3_8B.yaml,
//                         overrides: {...}}
//
// The presets that `config` and `model` name extend others, in order, the file itself last; the
// overrides count before both, and what the command line says before all. ${VAR:default} takes the
// default unless the command line gives VAR=value; ${VAR} needs it.
struct PrimusConfig {
  std::string framework;          // "megatron"
  std::string module;             // "sft_trainer", the name of the module's preset
  std::string model;              // "llama3_8B", the name of its preset
  bool has_presets = false;       // whether the files of the presets were there
  std::vector<Setting> settings;  // the overrides, then those of the command line
  std::vector<Setting> presets;   // what counts where those say nothing
};

// A key that a preset sets, for files whose presets are not beside them.
struct PresetValue {
  std::string_view name;
  std::string_view value;
};
void append_preset(std::span<const PresetValue> preset, const Location& where,
                   std::vector<Setting>& settings);

// Throws ConfigError with every problem.
PrimusConfig read_primus_config(const ImportInput& input);

// The import of a framework that Primus runs beside Megatron; null for one that it hands nothing
// to.
using PrimusBackend = ImportedExperiment (*)(const PrimusConfig& config, const ImportInput& input);
PrimusBackend primus_backend(std::string_view framework);

// A setting that is a mapping as one for each of its leaves: {training: {seq_len: 8}} is
// training.seq_len = 8.
std::vector<Setting> dotted_settings(const Setting& setting);

}  // namespace stepcast
