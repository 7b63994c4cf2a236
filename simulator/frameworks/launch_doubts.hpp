// SPDX-License-Identifier: Apache-2.0
// Which arguments of a command hang on what nobody says: each unknown part is put to what else it
// could be, and the arguments that differ then are in doubt.
//
//   [ -f x ] && A="--tp 2" || A="--tp 4";  train.py $A     tp, on whether the file x is there
#pragma once

#include <string>
#include <vector>

#include "frameworks/launch_command.hpp"
#include "frameworks/setting_reader.hpp"
#include "frameworks/shell_script.hpp"

namespace stepcast {

// Of the arguments behind `program`, or of all where it is empty. Names are as
// settings_in() has them.
std::vector<SettingDoubt> doubts_of(const ShellScript& script, const ShellCommand& command,
                                    const std::string& program,
                                    ArgumentForm form = ArgumentForm::kOptions);

}  // namespace stepcast
