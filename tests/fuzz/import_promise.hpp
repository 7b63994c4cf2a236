// SPDX-License-Identifier: Apache-2.0
// What every reader of a framework's file promises of any bytes.
#pragma once

#include "frameworks/imported_experiment.hpp"
#include "fuzz/targets.hpp"

namespace stepcast::fuzz {

// An experiment whose text parses, or a ConfigError whose every line has a message.
inline int import_keeps_promise(ImportedExperiment (*import)(const ImportInput&),
                                std::string_view text, const std::string& file) {
  ImportInput input;
  input.text = std::string(text);
  input.file = file;
  input.gpu = "h100_sxm";
  input.unknown = UnknownSettings::kRemarked;
  input.data = {STEPCAST_DATA_ROOT};
  try {
    const ImportedExperiment imported = import(input);
    const ConfigNode again = parse_config(to_yaml(imported, file), "imported");
    promise(again.find("model") != nullptr, "an experiment has no model");
    promise(again.find("training") != nullptr, "an experiment has no training");
  } catch (const ConfigError& error) {
    promise(!error.diagnostics().empty(), "an error says nothing");
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      promise(!diagnostic.message.empty(), "an error has no message");
    }
  }
  return 0;
}

}  // namespace stepcast::fuzz
