// SPDX-License-Identifier: Apache-2.0
// A script that launches torchtitan: the job config that it names, and what its command changes.
//
//   CONFIG_FILE=train_configs/llama3_8b.toml ./run_train.sh --parallelism.tensor_parallel_degree 8
//   torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file llama3_8b.toml
//   NGPU=8 MODULE=llama3 CONFIG=llama3_8b ./run_train.sh
//
// The config is looked for beside the script and above it. What the script does not say, and
// run_train.sh takes for granted, is not read: a command without a config is an error.
#pragma once

#include <vector>

#include "frameworks/imported_experiment.hpp"

namespace stepcast {

struct TorchtitanLaunch {
  ImportInput input;  // the config's text, with the command's arguments before what was given
  std::vector<SettingDoubt> doubts;
};

// Throws ConfigError where the script runs no torchtitan, or its config is not there.
TorchtitanLaunch read_torchtitan_launch(const ImportInput& input);

}  // namespace stepcast
