// SPDX-License-Identifier: Apache-2.0
// Whether an import made an experiment: what a framework's file says may be read and still be none.
//
//   train.toml:14:21: error: 'training.global_batch_size': 1000000000000000000 is out of range; ...
#pragma once

#include "frameworks/imported_experiment.hpp"

namespace stepcast {

// Reads the experiment as `stepcast project` does. Throws ConfigError with each problem at the
// place in the framework's file from which the key came, or at the file as a whole. An import
// without a cluster is none yet and passes.
void check_import(const ImportedExperiment& imported, const ImportInput& input);

}  // namespace stepcast
