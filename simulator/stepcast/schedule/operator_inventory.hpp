// SPDX-License-Identifier: Apache-2.0
// Which operators a pipeline rank runs in a step, and how often.
//
//   count = micro-batches * sum over the rank's stages of (times that the stage runs the operator)
//
// Layers of one kind run the same list of operators, so that a step is a few lists and how often
// each stage runs them: step_time prices the lists, the inventory counts their operators.
#pragma once

#include <string_view>
#include <vector>

#include "stepcast/parallel/layer_expansion.hpp"

namespace stepcast {

// When a rank runs an operator; `kOnce` are the collectives of a step, outside its micro-batches.
enum class StepPass { kForward, kBackward, kRecompute, kOptimizer, kOnce };
std::string_view name(StepPass pass);

// A stage runs a list `count` times in a pass over one micro-batch.
struct ListUse {
  std::size_t list = 0;
  StepPass pass = StepPass::kForward;
  std::int64_t count = 0;
};

struct StepLists {
  std::vector<OpList> lists;                 // each once, however many stages run it
  std::vector<std::vector<ListUse>> stages;  // of plan.stages, for one micro-batch
};

// Everything that stages run for a micro-batch but the transfers between them.
StepLists step_lists(const ExpansionContext& context);

// What a stage sends to the next one (and gradients to the one before) for each micro-batch.
Collective pipeline_send(const ExpansionContext& context);

struct CountedOp {
  Op op;
  StepPass pass = StepPass::kForward;
  std::int64_t count = 0;  // in a step
};

// All operators of one pipeline rank in a step. Equal ones of the same name and pass are one entry,
// in order of first appearance.
std::vector<CountedOp> operator_inventory(const ExpansionContext& context, std::int64_t rank);

}  // namespace stepcast
