// SPDX-License-Identifier: Apache-2.0
// What a launch script runs: bash as far as launch scripts use it, and nothing is run for it.
//
//   MODEL_ARGS=( --num-layers 32 )
//   torchrun --nnodes ${NNODES:-4} pretrain_gpt.py "${MODEL_ARGS[@]}"
//
// becomes the command {torchrun, --nnodes, 4, pretrain_gpt.py, --num-layers, 32}. Followed are
// variables, arrays, maps, all of ${ }, $(( )) and (( )), quotes, here-documents, if, case, loops,
// functions, [ ] and [[ ]] with regular expressions, eval, read, scripts that others source or
// start, and what echo, printf and their kin print.
//
// What cannot be known without running something (what a command prints, whether it succeeds,
// whether a file is there, what the caller gives) is an unknown of `unknowns`. Where a condition
// hangs on one, each branch is followed, and what they leave different is a choice between them; a
// command of one branch has the condition among its doubts. So a word of a command is known, or
// says what it hangs on.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/shell_text.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast {

struct ShellWord {
  std::string text;
  Location where;
  bool is_known = true;  // else `text` is what it is if nobody gives anything
};

// A field of a command, which may be unknown in part.
struct ShellField {
  ShellText text;
  Location where;
};

struct ShellCommand {
  std::vector<ShellWord> words;  // every unknown being its guess
  std::vector<ShellField> fields;
  std::vector<ShellUnknownId> doubts;              // conditions that decide whether it runs
  std::map<std::string, std::string> environment;  // NAME=VALUE before it
  std::vector<ShellWord> within;  // words of the commands that start it: srun -N 4 bash -c ...
};

struct ShellScript {
  std::vector<ShellCommand> commands;                         // in the order in which they run
  std::map<std::string, std::vector<std::string>> variables;  // at its end; scalars have one item
  std::vector<ShellWord> directives;  // options of "#SBATCH" lines and those of its kin
  std::set<std::string> unknown;      // what nobody sets, prints or gives, for messages
  ShellUnknowns unknowns;
  std::vector<ShellWord> missing;   // scripts that it sources or starts and that are not there
  std::optional<Location> stopped;  // where it ends itself before its last line
};

// The text of a script that another one sources, if it is there.
using ShellSources = std::function<std::optional<std::string>(const std::string& name)>;

// `given` are variables that the script cannot change; "1" and "2" are its arguments. Throws
// ConfigError where it is no script.
ShellScript run_script(std::string_view text, const std::string& file,
                       const std::map<std::string, std::string>& given,
                       const ShellSources& sources);

// Values of the assignments "KEY=VALUE" whose key has no small letters, as a variable of a shell,
// or is the number of an argument.
std::map<std::string, std::string> shell_assignments(const std::vector<std::string>& texts);

}  // namespace stepcast
