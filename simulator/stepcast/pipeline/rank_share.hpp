// SPDX-License-Identifier: Apache-2.0
// What of a plan and a recipe sets the work of one rank: everything but the pipeline around it.
//
// Plans that differ only in what is left out here run the same operators for a layer, keep the same
// tensors of it, and reduce the same gradients: whoever solves many plans solves that once.
#pragma once

#include "stepcast/layer/layer_expansion.hpp"

namespace stepcast {

struct RankShare {
  ParallelPlan plan;               // its pipeline left at the defaults
  TrainingRecipe training;         // without the global batch
  bool accumulates = false;        // more than one micro-batch
  std::int64_t mirrored_over = 0;  // ranks of a pipeline whose stages are held twice
  bool operator==(const RankShare&) const = default;
};

RankShare rank_share(const ExpansionContext& context);
// Equal for equal shares.
std::size_t hash_of(const RankShare& share);

}  // namespace stepcast
