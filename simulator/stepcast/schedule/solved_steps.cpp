// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/solved_steps.hpp"

namespace stepcast {
namespace {

// What is kept stays within some hundred MiB.
constexpr std::size_t kMostConfigurations = 256;

}  // namespace

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
                                             std::optional<Bytes> limit,
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

PlanPipeline SolvedSteps::pipeline(const ParallelPlan& plan, PassOrder order) {
  return pipelines_->pipeline(plan, order);
}

}  // namespace stepcast
