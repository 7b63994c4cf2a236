// SPDX-License-Identifier: Apache-2.0
// How many nodes and GPUs a job has, by what launches it: torchrun, DeepSpeed's launcher, mpirun,
// srun, and the options of a batch system.
//
//   #SBATCH --nodes=16 --gres=gpu:4      srun torchrun --nproc_per_node 4 ...    16 nodes of 4
//   mpirun -np 64 --npernode 4 ...                                              16 nodes of 4
//
// Processes of torchrun count before GPUs that are asked for, and these before tasks: one task a
// node is one GPU a node only where nothing else says how many there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frameworks/shell_script.hpp"

namespace stepcast {

// What follows from no number that stands there.
struct SizeAssumption {
  std::string ours;  // "cluster.nodes"
  std::string value;
  std::string note;
};

struct LaunchSize {
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus_per_node;
  std::optional<std::int64_t> gpus;  // of the job, where these two say nothing
  bool starts_one_process = false;   // python or torchrun by itself
  std::vector<SizeAssumption> assumptions;
};

// Of the words that launch a program, the innermost launcher first.
LaunchSize launch_size(const std::vector<ShellWord>& launcher);

}  // namespace stepcast
