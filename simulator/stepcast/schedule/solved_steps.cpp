// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/solved_steps.hpp"

#include "stepcast/base/hash.hpp"
#include "stepcast/pipeline/pipeline_stages.hpp"

namespace stepcast {
namespace {

// What is kept stays within some hundred MiB.
constexpr std::size_t kMostConfigurations = 256;

}  // namespace

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
               dropout, documents, weights, weight_format, offload, work_spread,
               garbage_collection] = training;
  const auto& [kind, method, layers, layer_list, budget, modules] = recompute;
  return hash_of_values(tp, cp, ep, etp, dp, fsdp, zero, sequence_parallel, fsdp_reshard,
                        cp_algorithm, cp_all_to_all, micro_batch_size, sequence_length, dtype, kind,
                        method, layers, layer_list, budget, modules, accumulates, mirrored_over);
}

void SolvedSteps::forget_if_many() {
  if (configurations_.size() >= kMostConfigurations) {
    configurations_.clear();
  }
}

void SolvedSteps::forget_times() {
  for (auto& [key, configuration] : configurations_) {
    configuration.forget_times();
  }
}

PlanOutline SolvedSteps::outline(const ExpansionContext& context) {
  forget_if_many();
  PlanOutline outline;
  LayerConfiguration key = layer_configuration(context);
  auto known = configurations_.find(key);
  if (known == configurations_.end()) {
    known = configurations_
                .emplace(std::piecewise_construct, std::forward_as_tuple(std::move(key)),
                         std::forward_as_tuple(context, works_->of(context)))
                .first;
  }
  outline.configuration = &known->second;
  outline.classes = stage_classes(context);
  for (std::size_t i = 0; i < outline.classes.classes.size(); ++i) {
    outline.solved.push_back(outline.configuration->stage(outline.classes.classes[i], context,
                                                          outline.classes.first[i]));
  }
  return outline;
}

std::vector<StageMemory> SolvedSteps::memory(const PlanOutline& outline,
                                             const ExpansionContext& context,
                                             std::optional<MemoryLimit> limit,
                                             std::optional<Bytes> too_much) {
  const KeptMoments moments = pipelines_->moments(context.plan);
  MemoryParts parts;
  parts.stages.reserve(outline.classes.of_stage.size());
  for (const std::size_t own : outline.classes.of_stage) {
    parts.stages.push_back(&outline.configuration->holding(outline.solved[own], context));
  }
  parts.exchange = outline.configuration->exchange_memory(context);
  parts.copies = expert_copies_memory(context);
  parts.limit = limit;
  parts.too_much = too_much;
  parts.left_out = moments.left_out;
  return memory_by_stage(context, parts, *moments.moments);
}

PlanPipeline SolvedSteps::pipeline(const ParallelPlan& plan, const PipelineRuntime& runtime) {
  return pipelines_->pipeline(plan, runtime);
}

}  // namespace stepcast
