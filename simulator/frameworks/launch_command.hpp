// SPDX-License-Identifier: Apache-2.0
// The training command of a launch script: what launches it, the arguments of the program, and what
// these hang on that nobody says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frameworks/launch_size.hpp"
#include "frameworks/setting.hpp"
#include "frameworks/setting_reader.hpp"
#include "frameworks/shell_script.hpp"

namespace stepcast {

struct LaunchCommand {
  std::string program;               // "pretrain_gpt.py"; empty for arguments by themselves
  std::vector<ShellWord> launcher;   // what stands before the program, what starts that, and
                                     // options of batch lines
  std::vector<ShellWord> arguments;  // what stands behind it
  std::vector<SettingDoubt> doubts;
  bool grows_segments = false;  // PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True is set for it
};

// Whether a program, by its path, trains.
using TrainingPrograms = std::function<bool(const std::string& program)>;

// The command with most arguments among those that a script runs, also inside the texts that it
// hands to other shells; where its program does not train, another of half as many at least whose
// program does. Throws ConfigError if it has none.
LaunchCommand training_command(const ShellScript& script, const std::string& file,
                               const TrainingPrograms& trains = {});

// How a program is told what to do.
enum class ArgumentForm {
  kOptions,      // --tensor-model-parallel-size 8
  kAssignments,  // per_device_batch_size=4, as MaxText and Hydra take them
};

// A program by the names that its command may have.
struct LaunchedProgram {
  std::string_view what;   // "MaxText", for messages
  std::string_view signs;  // parts of the word that runs it, with blanks between
  ArgumentForm form = ArgumentForm::kOptions;
};

// The command that runs such a program, the one with most arguments of several; also one that
// stands in the text of an option, as clusters are handed it. Throws ConfigError if there is none.
LaunchCommand command_of(const LaunchedProgram& program, const ShellScript& script,
                         const std::string& file);

// The arguments of a program by their form, of assignments those alone.
std::vector<Setting> settings_in(const std::vector<ShellWord>& words, ArgumentForm form);

// Words as settings: --tensor-model-parallel-size 8 is tensor_model_parallel_size: 8; an argument
// without a value is a switch, one with several has them with blanks between.
std::vector<Setting> argument_settings(const std::vector<ShellWord>& words);

// The words before `program`, what starts them, and what the batch system is asked for.
std::vector<ShellWord> launcher_of(const ShellCommand& command, std::size_t program,
                                   const ShellScript& script);

}  // namespace stepcast
