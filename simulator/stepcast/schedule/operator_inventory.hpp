// SPDX-License-Identifier: Apache-2.0
// Which operators a pipeline rank runs in a step, and how often.
//
//   count = micro-batches * sum over the rank's stages of (times that the stage runs the operator)
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/schedule/step_operators.hpp"

namespace stepcast {

// When a rank runs an operator; `kOnce` are the collectives of a step, outside its micro-batches.
enum class StepPass { kForward, kBackward, kRecompute, kOptimizer, kOnce };
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<StepPass> = {
    "forward", "backward", "recompute", "optimizer", "once"};

struct CountedOp {
  Op op;
  StepPass pass = StepPass::kForward;
  std::int64_t count = 0;  // in a step
};

// All operators of one pipeline rank in a step. Equal ones of the same name and pass are one entry,
// in order of first appearance.
std::vector<CountedOp> operator_inventory(const ExpansionContext& context, std::int64_t rank);

}  // namespace stepcast
