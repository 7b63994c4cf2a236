// SPDX-License-Identifier: Apache-2.0
// An experiment from the settings of a torchtitan job, under the names of its job configs.
#pragma once

#include <string>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/setting_reader.hpp"

namespace stepcast {

// What differs between the two generations of files besides their names.
struct TorchtitanJob {
  bool recipe = false;  // a Python function of 2026
  std::string module;   // of a recipe: llama3
};

// Problems go to the reader's diagnostics; the result counts if there are none.
FrameworkExperiment read_torchtitan(FrameworkReader& settings, const TorchtitanJob& job,
                                    const ImportInput& input);

}  // namespace stepcast
