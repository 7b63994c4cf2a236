// SPDX-License-Identifier: Apache-2.0
// MLPerf Training: an experiment from the variables that NVIDIA's submissions are launched with.
//
//   config_GB200_128x4x240xtp2pp4ep32cp1_mxfp8.sh: export MINIBS=240, TENSOR_MODEL_PARALLEL=2 ...
//
// MINIBS is the number of sequences of a replica and step: the global batch is that times data
// parallelism. What the file sources is read where it lies beside it. Variables that nobody here
// knows are listed, not refused: most of them are for the machine.
#pragma once

#include "frameworks/imported_experiment.hpp"

namespace stepcast {

ImportedExperiment import_mlperf(const ImportInput& input);

}  // namespace stepcast
