// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/layer_configuration.hpp"

#include "stepcast/base/hash.hpp"
#include "stepcast/pipeline/pipeline_stages.hpp"

namespace stepcast {

LayerConfiguration layer_configuration(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  const bool twice = placement_of(plan.schedule) == StagePlacement::kBidirectional;
  LayerConfiguration configuration{plan, context.training, plan.micro_batches > 1,
                                   twice ? plan.pp : 0};
  const ParallelPlan defaults;
  configuration.plan.pp = defaults.pp;
  configuration.plan.vpp = defaults.vpp;
  configuration.plan.schedule = defaults.schedule;
  configuration.plan.stages.clear();
  configuration.plan.micro_batches = defaults.micro_batches;
  configuration.training.global_batch_size = 0;
  return configuration;
}

std::size_t hash_of(const LayerConfiguration& configuration) {
  const auto& [plan, training, accumulates, mirrored_over] = configuration;
  // What is not hashed below is a default in every configuration, or seldom differs from plan to
  // plan.
  const auto& [tp, pp, vpp, cp, ep, etp, dp, edp, fsdp, zero, sequence_parallel, fsdp_reshard,
               fsdp_experts, schedule, cp_algorithm, cp_all_to_all, uniform, overlap, exchange,
               ep_in_domain, exchange_units, stages, micro_batches, order, strides] = plan;
  const auto& [sequence_length, micro_batch_size, global_batch_size, dtype, recompute, optimizer,
               dropout, documents, weights] = training;
  const auto& [kind, method, layers, layer_list, budget, modules] = recompute;
  return hash_of_values(tp, cp, ep, etp, dp, fsdp, zero, sequence_parallel, fsdp_reshard,
                        cp_algorithm, cp_all_to_all, micro_batch_size, sequence_length, dtype, kind,
                        method, layers, layer_list, budget, modules, accumulates, mirrored_over);
}

}  // namespace stepcast
