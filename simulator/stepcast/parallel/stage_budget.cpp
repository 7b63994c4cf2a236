// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/stage_budget.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/parallel/activation_inventory.hpp"
#include "stepcast/parallel/recompute_choice.hpp"

namespace stepcast {
namespace {

constexpr Bytes kHalf{2};

void add_activations(const ExpansionContext& context, std::size_t index, StageBudget& budget) {
  const RecomputeSpec& recompute = context.training.recompute;
  const bool runs =
      recompute.kind == RecomputeKind::kFull && recompute.method == RecomputeMethod::kUniform;
  const double run = runs ? real(recompute.layers) : 1.0;
  const std::vector<std::int64_t> again = recomputed_layers(context, index);
  const std::vector<KindCount> kinds = stage_kinds(context.model, context.plan, index);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const KindCount& entry = kinds[i];
    const Bytes whole = saved_activations(context, entry.kind);
    budget.kept += real(entry.layers - again[i]) * whole;
    budget.kept += real(again[i]) / run * layer_input(context);
    if (again[i] > 0) {
      // Its input is among what is kept already.
      budget.recomputed = max(budget.recomputed, run * whole - layer_input(context));
    } else {
      budget.recomputed = max(budget.recomputed, rerun_activations(context, entry.kind));
    }
    const Bytes left = again[i] > 0 ? layer_input(context) : whole;
    budget.last_kept = max(budget.last_kept, left);
    budget.workspace = max(budget.workspace, backward_workspace(context, entry.kind));
  }
}

// Elements of the output matrix on one rank, unsharded.
double head_elements(const ExpansionContext& context) {
  const std::int64_t vocabulary = local_vocabulary(context.model, context.plan, context.software);
  return real(vocabulary * context.model.hidden);
}

void add_loss(const ExpansionContext& context, StageBudget& budget) {
  const MemoryRules& rules = context.software.memory;
  const bool eager = context.software.cross_entropy == Implementation::kEager;
  const Bytes at_loss = rules.logit_at_loss.value_or(eager ? Bytes(12) : Bytes(4));
  const Bytes at_head = rules.logit_at_head.value_or(Bytes(2));
  const double logits =
      real(context.tokens() * local_vocabulary(context.model, context.plan, context.software)) /
      real(rules.loss_chunks);
  // The normed input of the head, all of it under sequence parallelism, and its gradient.
  const Bytes input = 2.0 * real(context.tokens() * context.model.hidden) * kHalf;
  const Bytes weight_gradient = head_elements(context) * kHalf;
  budget.loss = logits * at_loss + input;
  budget.head_backward = logits * at_head + weight_gradient + input;
  budget.logits = logits * kHalf;
}

struct Ends {
  double embedding = 0.0;
  double head = 0.0;
};

Ends ends_of(const ExpansionContext& context, std::size_t index) {
  const StageContent& stage = context.plan.stages[index];
  Ends ends;
  if (stage.embedding) {
    ends.embedding = local_parameters(embedding_parameters(context.model), context.plan).dense;
  }
  if (stage.loss) {
    ends.head = head_elements(context);
  }
  if (stage.embedding && stage.loss && context.model.tied_embeddings) {
    ends.head = 0.0;
  }
  return ends;
}

void add_sharding(const ExpansionContext& context, std::size_t index, StageBudget& budget) {
  const ParallelPlan& plan = context.plan;
  const MemoryRules& rules = context.software.memory;
  const Bytes to_reduce = kHalf + context.software.gradient_reduce;
  double largest = 0.0;
  for (const KindCount& entry : stage_kinds(context.model, plan, index)) {
    const LocalParameters layer =
        local_parameters(layer_parameters(context.model, entry.kind), plan);
    largest = std::max(largest, layer.dense + (plan.edp > 1 ? layer.expert : 0.0));
  }
  const Ends ends = ends_of(context, index);
  const double both = ends.embedding + ends.head;
  const StageParameters parameters = stage_parameters(context.model, plan, index);
  if (!plan.fsdp_reshard) {
    budget.gathered =
        (parameters.layers.dense + both + (plan.edp > 1 ? parameters.layers.expert : 0.0)) * kHalf;
  } else {
    budget.gathered_layers = 2.0 * largest * kHalf;
    (rules.root_holds_ends ? budget.gathered : budget.gathered_head) =
        (rules.root_holds_ends ? both : ends.head) * kHalf;
  }
  budget.reduced_layer = largest * to_reduce;
  budget.reduced_ends = (rules.root_holds_ends ? both : ends.embedding) * to_reduce;
  if (!plan.fsdp_reshard && plan.micro_batches > 1) {
    budget.full_gradients = parameters.all().dense * context.software.gradient_reduce;
  }
}

}  // namespace

StageBudget stage_budget(const ExpansionContext& context, std::size_t index) {
  StageBudget budget;
  add_activations(context, index, budget);
  if (context.plan.stages[index].loss) {
    add_loss(context, budget);
  }
  if (context.plan.zero == 3 && context.plan.replicas() > 1) {
    add_sharding(context, index, budget);
  }
  return budget;
}

}  // namespace stepcast
