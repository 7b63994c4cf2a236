// SPDX-License-Identifier: Apache-2.0
// The operators that one rank runs for one micro-batch: of a layer, of the embedding, of the loss.
//
// Tensor parallelism splits N (column) or K (row) of a weight, never the tokens of a projection:
// the collectives around it gather and scatter them (Megatron-LM, arXiv 1909.08053; sequence
// parallelism, arXiv 2205.05198). Every forward product m x n x k has the backward products dgrad m
// x k x n and wgrad n x k x m.
#pragma once

#include "stepcast/base/dtype.hpp"
#include "stepcast/layer/saved_tensor.hpp"
#include "stepcast/model/model_spec.hpp"
#include "stepcast/model/op.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

// What every expansion depends on.
struct ExpansionContext {
  const ModelSpec& model;
  const ParallelPlan& plan;
  const TrainingRecipe& training;
  const SoftwareSpec& software;

  // Tokens of a micro-batch on a context-parallel rank; all tensor-parallel ranks see them.
  [[nodiscard]] std::int64_t tokens() const {
    return training.micro_batch_size * training.sequence_length / plan.cp;
  }
  // Tokens of a tensor-parallel rank outside the projections.
  [[nodiscard]] std::int64_t sequence_tokens() const {
    return plan.sequence_parallel ? tokens() / plan.tp : tokens();
  }
  // Whether forward runs under autocast (Autocast).
  [[nodiscard]] bool in_autocast() const {
    const bool sharded = plan.zero == 3 && plan.shards() > 1;
    return software.autocast == Autocast::kUnsharded && !sharded;
  }
  // Of a value of the residual stream.
  [[nodiscard]] Bytes stream_element() const { return in_autocast() ? Bytes(4) : kSixteenBits; }
  // Of a gradient as it is reduced: under autocast as it is kept.
  [[nodiscard]] Bytes reduced_gradient() const {
    return in_autocast() ? software.states.gradient : software.gradient_reduce;
  }
};

struct BlockOps {
  OpList forward;
  std::vector<ModuleSet> modules;  // that each operator of `forward` belongs to
  OpList backward;
  std::vector<SavedTensor> saved;  // what backward needs of forward, if nothing is recomputed

  // What follows from the recipe's recomputation (recompute_choice.hpp).
  std::vector<SavedTensor> kept;  // from forward to backward; full recomputation is not applied
  OpList recompute;               // what selective recomputation runs before backward
  OpList full_recompute;          // what full recomputation runs: forward, or its needed part
};

// One layer. Whether full recomputation runs is up to the caller, because only some layers of a
// stage may do it.
BlockOps expand_layer(const ExpansionContext& context, LayerKind kind);
BlockOps expand_embedding(const ExpansionContext& context);
// Final norm, output matrix and cross entropy.
BlockOps expand_loss(const ExpansionContext& context);
// What a multi-token prediction module runs besides its layer and its loss.
BlockOps expand_mtp_projection(const ExpansionContext& context);

}  // namespace stepcast
