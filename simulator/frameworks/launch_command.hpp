// SPDX-License-Identifier: Apache-2.0
// The training command of a launch script: what launches it, and the arguments of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frameworks/setting.hpp"
#include "frameworks/shell_script.hpp"

namespace stepcast {

struct LaunchCommand {
  std::string program;               // "pretrain_gpt.py"; empty for arguments by themselves
  std::vector<ShellWord> launcher;   // what stands before the program, and options of batch lines
  std::vector<ShellWord> arguments;  // what stands behind it
};

// All commands that a script runs, also inside the texts that it hands to other shells.
std::vector<ShellCommand> launched_commands(const ShellScript& script, const std::string& file);

// The command with most arguments among those that a script runs, also inside the texts that it
// hands to other shells. Throws ConfigError if it has none.
LaunchCommand training_command(const ShellScript& script, const std::string& file);

// The nodes and GPUs that torchrun, srun or a batch line is told of.
struct LaunchSize {
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus_per_node;
};
LaunchSize launch_size(const LaunchCommand& command);

// Words as settings: --tensor-model-parallel-size 8 is tensor_model_parallel_size: 8; an argument
// without a value is a switch, one with several has them with blanks between.
std::vector<Setting> argument_settings(const std::vector<ShellWord>& words);

}  // namespace stepcast
