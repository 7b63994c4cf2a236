// SPDX-License-Identifier: Apache-2.0
// What a stage holds whatever the order of the pipeline: its states, and what each of its passes
// needs.
#pragma once

#include "stepcast/layer/built_stage.hpp"
#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/sharding.hpp"
#include "stepcast/layer/weight_matrix.hpp"
#include "stepcast/memory/first_layer.hpp"

namespace stepcast {

// What one stage of the pipeline adds to its rank's memory at each moment of a micro-batch.
struct StageBudget {
  // Activations of one micro-batch.
  Bytes kept;        // from forward to backward
  Bytes recomputed;  // the largest set that recomputing brings back for a moment
  Bytes last_kept;   // what is left when backward reaches the first layer
  // Where saved tensors go to the host, what of them is on its way there or back: those of two
  // layers, one in use and one that travels.
  Bytes travelling;
  // From the gradient of the stage's input to that of its weights, where a schedule parts them: the
  // gradients of the results of its products.
  Bytes deferred;
  // While a layer's backward runs: gradients of its activations.
  Bytes workspace;
  // What the loss needs; zero on stages without one.
  Bytes loss;           // while it runs
  Bytes head_backward;  // while the output matrix' backward runs
  Bytes logits;         // 16-bit logits, where they are kept
  // Full sharding.
  Bytes gathered;         // all the time
  Bytes gathered_layers;  // while layers run: the current one and the prefetched one
  Bytes gathered_head;    // from the head's forward to its backward
  Bytes reduced_layer;    // a layer's full gradients and what the reduction reads
  Bytes reduced_ends;     // the same of what is reduced last
  Bytes full_gradients;   // summed unsharded over the micro-batches
  Bytes lone_gathered;    // of a layer's experts that FSDP wraps though no other rank has them
};

StageBudget stage_budget(const ExpansionContext& context, const BuiltStage& stage);

// Bytes of what ZeRO shards, of one rank.
struct StateMemory {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;  // wherever it lies
  Bytes master;     // of it, copies of parameters
};
// Of a frozen base that lies in fewer bits, else of 16, and of what is trained of it.
Bytes packed_bytes(BaseWeights base);
BaseWeights base_of(const TrainedWeights& weights);

// `dtype` is that of products, in which frozen parameters may be kept. Every parameter counts as
// one that is updated by itself (matrix_state_change). Packed ones lie in `base`.
StateMemory state_memory(const LocalParameters& parameters, const ParallelPlan& plan,
                         const SoftwareSpec& software, Dtype dtype = Dtype::kBf16,
                         const OptimizerSpec& optimizer = {},
                         BaseWeights base = BaseWeights::kAsOthers);
// Of a rank of the context's plan, in its formats.
StateMemory state_memory(const ExpansionContext& context, const LocalParameters& parameters);
// What of these lies on the device and not on the host (shares_on_device of plan/update_rule.hpp,
// HostOffload of plan/training_recipe.hpp).
StateMemory on_device(const ExpansionContext& context, const StateMemory& states);

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
  std::vector<FirstLayer> first_layers;  // one of each kind, in the order of BuiltStage
  StateMemory states;
  WeightMatrices matrices;  // that the optimizer updates as a whole
  double parameters = 0.0;  // elements that are trained, before ZeRO
  Bytes gradients;          // of all its weights, as the plan shards them
  Bytes copies;             // of weights that a program's loop over layers reads
  Bytes replica_buckets;    // that live all the time
  Bytes dummy_gradients;    // of one micro-batch through all of a rank's stages
  double neighbours = 0.0;  // stages that it receives from: activations, gradients
  bool loss = false;
};
StageHolding stage_holding(const ExpansionContext& context, const BuiltStage& stage);

// Layers of a stage whose saved tensors go to the host, the first ones; more than there are for
// all.
std::int64_t offloaded_layers(const ExpansionContext& context);
// Bytes of a micro-batch's saved tensors that go to the host in forward and come back in backward
// (HostOffload): k a layer that keeps k, U one that keeps its input alone.
Bytes offloaded_activations(const ExpansionContext& context, const BuiltStage& stage);

}  // namespace stepcast
