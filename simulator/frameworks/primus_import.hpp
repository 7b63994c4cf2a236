// SPDX-License-Identifier: Apache-2.0
// Primus: an experiment from its YAML, and the other way round.
#pragma once

#include "frameworks/export_refusal.hpp"
#include "frameworks/exported_file.hpp"
#include "frameworks/imported_experiment.hpp"

namespace stepcast {

ImportedExperiment import_primus(const ImportInput& input);
std::vector<ExportedFile> export_primus(const ExportInput& input);
std::vector<ExportRefusal> why_not_primus(const ExportInput& input);

// The name in `configs/models` of a model that Primus or Megatron Bridge calls `name`, without
// regard to capitals; empty if there is none.
std::string shipped_model(const std::string& name, const DataRoot& data);

}  // namespace stepcast
