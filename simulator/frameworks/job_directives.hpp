// SPDX-License-Identifier: Apache-2.0
// What the comments of a script ask a batch system for: Slurm, PBS, Grid Engine, Fujitsu's PJM,
// LSF and Flux.
//
//   #SBATCH --nodes=16    # sixteen      #PBS -l select=16:ngpus=4      #$ -l node_f=16
//   #PJM -L node=16,gpu=8                #BSUB -nnodes 16               # flux: -N 16
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frameworks/shell_script.hpp"

namespace stepcast {

// The options of all such lines, in the words of Slurm: --nodes, --gpus-per-node, --ntasks, and
// --NAME=VALUE or --NAME VALUE as they stand for what has no such word.
std::vector<ShellWord> batch_directives(std::string_view text, const std::string& file);

// Variables that the batch system sets, as far as the options say what they are.
std::map<std::string, std::string> batch_variables(const std::vector<ShellWord>& options);

// What tells a script with such lines that it runs as a job, and has not to submit itself any more:
// SLURM_JOB_ID and its kin. Which number a job gets nobody knows, and nothing depends on it.
std::map<std::string, std::string> job_identifiers(std::string_view text);

}  // namespace stepcast
