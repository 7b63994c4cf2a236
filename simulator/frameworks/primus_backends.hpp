// SPDX-License-Identifier: Apache-2.0
// What Primus hands to the frameworks that it runs beside Megatron: their own keys, under
// `overrides`, with presets of Primus for what those leave out.
//
//   overrides: {training: {seq_len: 8192}}     ->  training.seq_len = 8192, of torchtitan
//
// Source: AMD-AGI/Primus at fd1eeabb, primus/configs/modules/{torchtitan,maxtext,megatron_bridge},
// primus/configs/models and primus/backends/{torchtitan,maxtext,megatron_bridge}.
#pragma once

#include "frameworks/imported_experiment.hpp"
#include "frameworks/primus_import.hpp"

namespace stepcast {

// Null for a framework that Primus hands nothing to.
using PrimusBackend = ImportedExperiment (*)(const PrimusConfig& config, const ImportInput& input);
PrimusBackend primus_backend(std::string_view framework);

ImportedExperiment import_primus_torchtitan(const PrimusConfig& config, const ImportInput& input);
ImportedExperiment import_primus_maxtext(const PrimusConfig& config, const ImportInput& input);
ImportedExperiment import_primus_bridge(const PrimusConfig& config, const ImportInput& input);

}  // namespace stepcast
