// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/rank_share.hpp"

#include "stepcast/parallel/pipeline_stages.hpp"

namespace stepcast {

RankShare rank_share(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  const bool twice = placement_of(plan.schedule) == StagePlacement::kBidirectional;
  RankShare share{plan, context.training, plan.micro_batches > 1, twice ? plan.pp : 0};
  const ParallelPlan defaults;
  share.plan.pp = defaults.pp;
  share.plan.vpp = defaults.vpp;
  share.plan.schedule = defaults.schedule;
  share.plan.stages.clear();
  share.plan.micro_batches = defaults.micro_batches;
  share.training.global_batch_size = 0;
  return share;
}

std::size_t hash_of(const RankShare& share) {
  const ParallelPlan& plan = share.plan;
  const TrainingRecipe& training = share.training;
  std::size_t hash = 0;
  for (const std::int64_t value :
       {plan.tp, plan.cp, plan.ep, plan.etp, plan.dp, plan.fsdp, plan.zero,
        std::int64_t{plan.sequence_parallel}, std::int64_t{plan.fsdp_reshard},
        training.micro_batch_size, training.sequence_length,
        static_cast<std::int64_t>(training.dtype),
        static_cast<std::int64_t>(training.recompute.kind),
        static_cast<std::int64_t>(training.recompute.method), training.recompute.layers,
        std::int64_t{share.accumulates}, share.mirrored_over}) {
    hash = (hash ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  }
  return hash;
}

}  // namespace stepcast
