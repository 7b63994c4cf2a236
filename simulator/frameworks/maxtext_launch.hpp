// SPDX-License-Identifier: Apache-2.0
// The keys that a run of MaxText is given: by a file, with those that it builds upon, or by the
// command of a script.
//
//   python3 -m MaxText.train MaxText/configs/base.yml model_name=llama3.1-70b
//
// A command's file is looked for beside the script and above it; of base.yml the values are the
// defaults here. What follows it counts before what it says.
#pragma once

#include <vector>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/launch_size.hpp"

namespace stepcast {

struct MaxTextLaunch {
  std::vector<Setting> settings;   // that a file says
  std::vector<Setting> arguments;  // of the command, which count before those
  std::vector<SettingDoubt> doubts;
  LaunchSize size;  // that a script's launcher says
};

// Throws ConfigError where it is neither, or a script runs no MaxText.
MaxTextLaunch read_maxtext_launch(const ImportInput& input);

}  // namespace stepcast
