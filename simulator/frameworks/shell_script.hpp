// SPDX-License-Identifier: Apache-2.0
// What a launch script runs: bash as far as launch scripts use it.
//
//   MODEL_ARGS=( --num-layers 32 )
//   torchrun --nnodes ${NNODES:-4} pretrain_gpt.py "${MODEL_ARGS[@]}"
//
// becomes the command {torchrun, --nnodes, 4, pretrain_gpt.py, --num-layers, 32}. Understood are
// variables, arrays, ${A:-b} and its kin, $(( )), quotes, comments, continued lines, if, case,
// functions, here-documents, and the first turn of a loop. Nothing is run: what a command prints,
// $(hostname), and what the caller's environment holds, is unknown and empty. Wrong for scripts
// whose arguments depend on either; their names stand in `unknown`.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"

namespace stepcast {

struct ShellWord {
  std::string text;
  Location where;
};

struct ShellCommand {
  std::vector<ShellWord> words;
};

struct ShellScript {
  std::vector<ShellCommand> commands;                         // in the order in which they run
  std::map<std::string, std::vector<std::string>> variables;  // at its end; scalars have one item
  std::vector<ShellWord> directives;                          // options of "#SBATCH" lines
  std::set<std::string> unknown;                              // variables that nobody sets
};

// The text of a script that another one sources, if it is there.
using ShellSources = std::function<std::optional<std::string>(const std::string& name)>;

// `given` are variables that the script cannot change. Throws ConfigError where it is no script.
ShellScript run_script(std::string_view text, const std::string& file,
                       const std::map<std::string, std::string>& given,
                       const ShellSources& sources);

}  // namespace stepcast
