// SPDX-License-Identifier: Apache-2.0
// What ran, with everything that was left out filled in: `context.input` of the reports.
//
//   model, gpu, cluster, nodes, gpus, software   names and counts
//   training           every key
//   software_assumed   true where nobody named the software; training_assumed: keys of training
//                      that nobody gave
//   plan               the settled plan; `given` in it is the plan as it was written, and is not
//                      there where none was
//   cluster_settings   the node, the network, the power and the clock; `given` in it is what the
//                      experiment says of them, the rest follows from the GPU and the cluster
//   software_settings  where the software differs from the named set
//   model_settings     the whole model, where it is none of the shipped ones
//   backends           by role
//
// Two experiments whose step differs differ in it, and it can be given back as an experiment
// (experiment/reported_input.hpp).
#pragma once

#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

// The key that says that nobody named the software.
inline constexpr std::string_view kSoftwareAssumed = "software_assumed";
// The key of the list of training keys whose values nobody gave.
inline constexpr std::string_view kTrainingAssumed = "training_assumed";
inline constexpr std::string_view kPlanAssumed = "plan_assumed";

ConfigNode settled_input(const Experiment& experiment, const ParallelPlan& plan);

}  // namespace stepcast
