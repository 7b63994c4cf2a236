// SPDX-License-Identifier: Apache-2.0
// What a stage holds whatever the order of the pipeline: its states, and what each of its passes
// needs.
#pragma once

#include "stepcast/layer/sharding.hpp"
#include "stepcast/memory/stage_budget.hpp"

namespace stepcast {

// Bytes of what ZeRO shards, of one rank.
struct StateMemory {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
};
// `dtype` is that of products, in which frozen parameters may be kept. Every parameter counts as
// one that is updated by itself (optimizer_memory.hpp).
StateMemory state_memory(const LocalParameters& parameters, const ParallelPlan& plan,
                         const SoftwareSpec& software, Dtype dtype = Dtype::kBf16,
                         const OptimizerSpec& optimizer = {});

struct StageHolding {
  StageBudget budget;
  StateMemory states;
  WeightMatrices matrices;  // that the optimizer updates as a whole
  double parameters = 0.0;  // elements that are trained, before ZeRO
  Bytes gradients;          // of all its weights, as the plan shards them
  Bytes late_gradients;   // of them, those of its fullest layer and of the embedding, which are not
                          // there while the backward of the last such layer runs
  Bytes dummy_gradients;  // of one micro-batch through all of a rank's stages
  double neighbours = 0.0;  // stages that it receives from: activations, gradients
  bool loss = false;
};
StageHolding stage_holding(const ExpansionContext& context, const BuiltStage& stage);

}  // namespace stepcast
