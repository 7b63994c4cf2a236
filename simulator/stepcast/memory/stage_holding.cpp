// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/stage_holding.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/memory/optimizer_memory.hpp"
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

// As many ranks share a parameter and the copies of it.
Bytes stacked_copies(const LocalParameters& parameters, const ExpansionContext& context) {
  SoftwareSpec software = context.software;
  software.fsdp_parameters_fp32 = false;
  software.states.parameter = context.software.memory.stacked_copies;
  return state_memory(parameters, context.plan, software).parameters;
}

}  // namespace

StateMemory state_memory(const LocalParameters& parameters, const ParallelPlan& plan,
                         const SoftwareSpec& software, Dtype dtype,
                         const OptimizerSpec& optimizer) {
  const StateBytes& bytes = software.states;
  const UpdateRule rule = elementwise_rule(optimizer, plan, software);
  // The sharded fp32 parameters are the master copy themselves.
  const Bytes parameter = shards_are_master(plan, software) ? Bytes(4) : bytes.parameter;
  const auto shared = [&](int stage, bool expert) {
    if (plan.zero < stage) {
      return 1.0;
    }
    return real(expert ? plan.expert_shards() : plan.shards());
  };
  StateMemory memory;
  const LocalParameters trained = parameters.trained();
  for (const bool expert : {false, true}) {
    const double elements = expert ? trained.expert : trained.dense;
    const double frozen = expert ? parameters.frozen_expert : parameters.frozen_dense;
    const Bytes kept = software.converts_frozen(dtype) ? size_of(dtype) : parameter;
    memory.parameters +=
        elements / shared(3, expert) * parameter + frozen / shared(3, expert) * kept;
    memory.gradients += elements / shared(2, expert) * bytes.gradient;
    memory.optimizer += elements / shared(1, expert) * rule.kept();
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
