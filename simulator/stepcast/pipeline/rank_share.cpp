// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/rank_share.hpp"

#include "stepcast/base/hash.hpp"
#include "stepcast/pipeline/pipeline_stages.hpp"

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
  const auto& [plan, training, accumulates, mirrored_over] = share;
  // What is not hashed below is a default in every share, or seldom differs from plan to plan.
  const auto& [tp, pp, vpp, cp, ep, etp, dp, edp, fsdp, zero, sequence_parallel, fsdp_reshard,
               schedule, cp_algorithm, uniform, overlap, exchange, ep_in_domain, exchange_units,
               stages, micro_batches] = plan;
  const auto& [sequence_length, micro_batch_size, global_batch_size, dtype, recompute, optimizer,
               dropout] = training;
  const auto& [kind, method, layers, layer_list, budget, modules] = recompute;
  return hash_of_values(tp, cp, ep, etp, dp, fsdp, zero, sequence_parallel, fsdp_reshard,
                        cp_algorithm, micro_batch_size, sequence_length, dtype, kind, method,
                        layers, layer_list, budget, modules, accumulates, mirrored_over);
}

}  // namespace stepcast
