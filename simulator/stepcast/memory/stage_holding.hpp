// SPDX-License-Identifier: Apache-2.0
// What a stage holds whatever the order of the pipeline: its states, and what each of its passes
// needs.
#pragma once

#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/sharding.hpp"
#include "stepcast/layer/weight_matrix.hpp"
#include "stepcast/memory/stage_budget.hpp"

namespace stepcast {

// Bytes of what ZeRO shards, of one rank.
struct StateMemory {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
};
// `dtype` is that of products, in which frozen parameters may be kept. Every parameter counts as
// one that is updated by itself (matrix_state_change).
StateMemory state_memory(const LocalParameters& parameters, const ParallelPlan& plan,
                         const SoftwareSpec& software, Dtype dtype = Dtype::kBf16,
                         const OptimizerSpec& optimizer = {});

// What the states of `matrices`, which optimizers update as a whole, take more, or less, than those
// of as many parameters that are updated one by one, if all ranks that share them hold the same.
//
//   Muon       momentum in place of AdamW's moments
//   Adafactor  an fp32 of each row and of each column in place of one of each element; every rank
//              that shares a matrix has them all
Bytes matrix_state_change(const ExpansionContext& context, const WeightMatrices& matrices);
// What the rank that holds most of whole matrices has above the mean.
Bytes whole_matrix_excess(const ExpansionContext& context, const WeightMatrices& matrices);

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
