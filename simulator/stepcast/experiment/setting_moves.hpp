// SPDX-License-Identifier: Apache-2.0
// Moves of settings after which an experiment has to be read again, since others follow from them:
// what a software set recommends hangs on the format of the numbers, for example.
//
//   training.dtype       the next format of fp4, fp8, bf16
//   plan.cp_algorithm    each other, where there is context parallelism
//   expert_exchange.num_sms  twice and half as many as the dispatcher takes
//   training.optimizer, training.offload.*  to the host, and back from it
//   software.attention   a kernel that fuses it, where none does
//   software.gradient_reduce  16 bits for 32
//
// What the software, the dispatcher or the part does not have is refused when it is read.
#pragma once

#include <string>
#include <vector>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

struct SettingMove {
  std::string key;  // that is moved: "training.dtype"
  std::string value;
  KeySettings settings;  // as --set takes them
};

// `tree` is what `experiment` was read from, and `settled` its plan.
std::vector<SettingMove> setting_moves(const ConfigNode& tree, const Experiment& experiment,
                                       const ParallelPlan& settled);

}  // namespace stepcast
