// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/stage_holding.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/plan/update_rule.hpp"

namespace stepcast {
namespace {

// One of each distinct weight of a layer, cached where fused accumulation has no gradient to
// return. Experts of a layer are alike.
Bytes dummy_gradients(const ExpansionContext& context, const BuiltStage& stage) {
  double elements = 0.0;
  for (const BuiltLayer& layer : stage.layers) {
    elements = std::max(elements, layer.distinct_elements);
  }
  return elements * context.software.memory.dummy_gradients;
}

// Of the layer that keeps most, and of the embedding.
LocalParameters computed_last(const BuiltStage& stage) {
  const BuiltLayer* fullest = nullptr;
  for (const BuiltLayer& layer : stage.layers) {
    if (fullest == nullptr || total(layer.ops->saved) > total(fullest->ops->saved)) {
      fullest = &layer;
    }
  }
  LocalParameters last = fullest == nullptr ? LocalParameters{} : fullest->parameters;
  if (stage.content.embedding) {
    last += stage.embedding;
  }
  return last;
}

// Ranks that share what a stage of ZeRO and those above it divide.
double sharing_ranks(const ParallelPlan& plan, int stage, bool expert) {
  if (plan.zero < stage) {
    return 1.0;
  }
  return real(expert ? plan.expert_shards() : plan.shards());
}

// Of a rank, at so many bytes for each parameter that is trained and for each that is frozen.
Bytes parameter_memory(const LocalParameters& parameters, const ParallelPlan& plan, Bytes trained,
                       Bytes frozen) {
  const LocalParameters updated = parameters.trained();
  const double dense = sharing_ranks(plan, 3, false);
  const double expert = sharing_ranks(plan, 3, true);
  const Bytes of_dense = updated.dense / dense * trained + parameters.frozen_dense / dense * frozen;
  return of_dense +
         (updated.expert / expert * trained + parameters.frozen_expert / expert * frozen);
}

Bytes frozen_bytes(const SoftwareSpec& software, Dtype dtype, Bytes trained) {
  return software.converts_frozen(dtype) ? size_of(dtype) : trained;
}

// As many ranks share a parameter and the copies of it.
Bytes stacked_copies(const LocalParameters& parameters, const ExpansionContext& context) {
  const Bytes copies = context.software.memory.stacked_copies;
  return parameter_memory(parameters, context.plan, copies,
                          frozen_bytes(context.software, Dtype::kBf16, copies));
}

}  // namespace

StateMemory state_memory(const LocalParameters& parameters, const ParallelPlan& plan,
                         const SoftwareSpec& software, Dtype dtype,
                         const OptimizerSpec& optimizer) {
  const StateBytes& bytes = software.states;
  const UpdateRule rule = elementwise_rule(optimizer, plan, software);
  // The sharded fp32 parameters are the master copy themselves.
  const Bytes parameter = shards_are_master(plan, software) ? Bytes(4) : bytes.parameter;
  StateMemory memory;
  memory.parameters =
      parameter_memory(parameters, plan, parameter, frozen_bytes(software, dtype, parameter));
  const LocalParameters trained = parameters.trained();
  for (const bool expert : {false, true}) {
    const double elements = expert ? trained.expert : trained.dense;
    memory.gradients += elements / sharing_ranks(plan, 2, expert) * bytes.gradient;
    memory.optimizer += elements / sharing_ranks(plan, 1, expert) * rule.kept();
  }
  return memory;
}

StageHolding stage_holding(const ExpansionContext& context, const BuiltStage& stage) {
  const StageContent& content = stage.content;
  const LocalParameters parameters = stage.parameters.all();
  const double trained = parameters.trained().total();
  StageHolding holding;
  holding.budget = stage_budget(context, stage);
  holding.states = state_memory(parameters, context.plan, context.software, context.training.dtype,
                                context.training.optimizer);
  holding.states.optimizer += matrix_state_change(context, stage.matrices);
  holding.matrices = stage.matrices;
  holding.parameters = trained;
  holding.gradients = max(holding.states.gradients, holding.budget.full_gradients) +
                      trained * context.software.memory.gradient_copy +
                      stacked_copies(parameters, context);
  if (holding.budget.full_gradients == Bytes{}) {
    holding.late_gradients =
        state_memory(computed_last(stage), context.plan, context.software).gradients;
  }
  holding.dummy_gradients = dummy_gradients(context, stage);
  holding.neighbours = (content.embedding ? 0.0 : 1.0) + (content.loss ? 0.0 : 1.0);
  holding.loss = content.loss;
  return holding;
}

}  // namespace stepcast
