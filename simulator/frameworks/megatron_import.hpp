// SPDX-License-Identifier: Apache-2.0
// Megatron-LM: an experiment from the script that launches it, from its arguments alone, or from
// its YAML; and the other way round.
//
//   torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 32 ...
#pragma once

#include "frameworks/exported_file.hpp"
#include "frameworks/imported_experiment.hpp"
#include "frameworks/megatron_core.hpp"

namespace stepcast {

ImportedExperiment import_megatron(const ImportInput& input);
std::vector<ExportedFile> export_megatron(const ExportInput& input);
std::vector<ExportRefusal> why_not_megatron(const ExportInput& input);

// MLPerf Training: an experiment from the variables that NVIDIA's submissions are launched with.
//
//   config_GB200_128x4x240xtp2pp4ep32cp1_mxfp8.sh: export MINIBS=240, TENSOR_MODEL_PARALLEL=2 ...
//
// MINIBS is the number of sequences of a replica and step: the global batch is that times data
// parallelism. What the file sources is read where it lies beside it. Variables that nobody here
// knows are listed, not refused: most of them are for the machine.
ImportedExperiment import_mlperf(const ImportInput& input);

// "key=value" of an override that is no variable of a shell, as settings. Throws ConfigError for
// one without '='.
std::vector<Setting> override_settings(const std::vector<std::string>& overrides,
                                       const FrameworkWords& words);

}  // namespace stepcast
