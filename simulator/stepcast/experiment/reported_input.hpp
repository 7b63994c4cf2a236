// SPDX-License-Identifier: Apache-2.0
// A report given back as an experiment: the JSON of a projection, its `context`, or its
// `context.input` (experiment/settled_input.hpp) says all that ran, and projects to the same again.
#pragma once

#include <filesystem>

#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

struct ExperimentTree {
  ConfigNode root;
  std::filesystem::path folder;  // in which the files that it names lie
};

// The experiment that a file holds or reports. Throws ConfigError if the file cannot be read, and
// where a report says of its plan what does not follow from the plan that was given.
ExperimentTree load_experiment_tree(const std::filesystem::path& file, const DataRoot& data);

// The experiment as its report gives it back: every key that was left out filled in, the rest as it
// was given. It projects to the same. Files that it names are those that were read, so that
// relative ones hold where the program runs.
ConfigNode settled_experiment(const Experiment& experiment);

}  // namespace stepcast
