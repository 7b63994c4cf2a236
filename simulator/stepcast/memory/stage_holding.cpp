// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/stage_holding.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/memory/fsdp_unit.hpp"
#include "stepcast/plan/update_rule.hpp"

namespace stepcast {
namespace {

// Ranks that share what a stage of ZeRO and those above it divide.
double sharing_ranks(const ParallelPlan& plan, int stage, bool expert) {
  if (plan.zero < stage) {
    return 1.0;
  }
  return real(expert ? plan.expert_shards() : plan.shards());
}

struct StateChange {
  const ExpansionContext& context;
  const WeightMatrices& matrices;

  Bytes operator()(const AdamWSpec&) const { return {}; }
  Bytes operator()(const SgdSpec&) const { return {}; }
  Bytes operator()(const AdafactorSpec&) const {
    constexpr Bytes kStatistic{4};
    Bytes change;
    for (const WeightMatrix& matrix : matrices) {
      const double statistics = real(matrix.inputs + matrix.outputs);
      const double elements = matrix.elements() / sharing_ranks(context.plan, 1, matrix.expert);
      change += real(matrix.count) * (statistics - elements) * kStatistic;
    }
    return change;
  }
  Bytes operator()(const MuonSpec&) const {
    const OptimizerSpec& optimizer = context.training.optimizer;
    const Bytes whole = matrix_rule(optimizer, context.plan, context.software)->kept();
    const Bytes single = elementwise_rule(optimizer, context.plan, context.software).kept();
    const HiddenMatrices hidden = hidden_matrices(matrices);
    return (elements_of(hidden.dense) / sharing_ranks(context.plan, 1, false) +
            elements_of(hidden.experts) / sharing_ranks(context.plan, 1, true)) *
           (whole - single);
  }
};

void add_activations(const ExpansionContext& context, const BuiltStage& stage,
                     StageBudget& budget) {
  for (const BuiltLayer& layer : stage.layers) {
    budget.kept += kept_by(context, layer, layer.count, layer.recomputed);
    budget.recomputed = max(budget.recomputed, recomputed_activations(context, layer));
    budget.last_kept = max(budget.last_kept, left_by_forward(context, layer));
    budget.workspace = max(budget.workspace, layer_workspace(layer));
  }
  const Bytes away = offloaded_activations(context, stage);
  budget.kept -= away;
  budget.travelling = min(away, 2.0 * budget.last_kept);
}

// Elements of the output matrix on one rank, unsharded.
double head_elements(const ExpansionContext& context) {
  const std::int64_t vocabulary = local_vocabulary(context.model, context.plan, context.software);
  return real(vocabulary * context.model.hidden);
}

// A tied matrix is that of the embedding.
bool trains_head(const ExpansionContext& context) {
  return context.training.weights.trains(context.model.tied_embeddings ? ParameterRole::kEmbedding
                                                                       : ParameterRole::kHead);
}

Bytes logit_at_loss(const MemoryRules& rules, Implementation loss) {
  switch (loss) {
    case Implementation::kEager:
      return rules.logit_at_eager_loss;
    case Implementation::kCompiled:
      return rules.logit_at_compiled_loss;
    case Implementation::kFused:
      return rules.logit_at_fused_loss;
  }
  return rules.logit_at_fused_loss;
}

std::optional<Bytes> logit_at_parallel_loss(const ExpansionContext& context) {
  const MemoryRules& rules = context.software.memory;
  const bool eager = context.software.cross_entropy == Implementation::kEager;
  return eager && rules.logit_at_eager_parallel_loss ? rules.logit_at_eager_parallel_loss
                                                     : rules.logit_at_parallel_loss;
}

void add_loss(const ExpansionContext& context, StageBudget& budget) {
  const MemoryRules& rules = context.software.memory;
  const Bytes one_rank =
      rules.logit_at_loss.value_or(logit_at_loss(rules, context.software.cross_entropy));
  const Bytes at_loss = context.plan.tp > 1
                            ? max(one_rank, logit_at_parallel_loss(context).value_or(one_rank))
                            : one_rank;
  const Bytes at_head = rules.logit_at_head.value_or(Bytes(2));
  const double logits =
      real(context.tokens() * local_vocabulary(context.model, context.plan, context.software)) /
      real(rules.loss_chunks);
  // The normed input of the head, all of it under sequence parallelism, and its gradient.
  const Bytes input = 2.0 * real(context.tokens() * context.model.hidden) * kSixteenBits +
                      (context.in_autocast() ? head_elements(context) * kSixteenBits : Bytes{});
  const Bytes weight_gradient =
      trains_head(context) ? head_elements(context) * kSixteenBits : Bytes{};
  budget.loss = logits * at_loss + input;
  budget.head_backward = logits * at_head + weight_gradient + input;
  budget.logits = logits * kSixteenBits;
}

struct Ends {
  double embedding = 0.0;
  double head = 0.0;
};

Ends ends_of(const ExpansionContext& context, const BuiltStage& stage) {
  const StageContent& content = stage.content;
  const bool own_head = !content.embedding || !context.model.tied_embeddings;
  return {content.embedding ? stage.embedding.dense : 0.0,
          content.loss && own_head ? head_elements(context) : 0.0};
}

Ends trained_of(const ExpansionContext& context, const Ends& ends) {
  const bool embedding = context.training.weights.trains(ParameterRole::kEmbedding);
  return {embedding ? ends.embedding : 0.0, trains_head(context) ? ends.head : 0.0};
}

// What products of weight gradients read besides the activations that forward kept: of a product
// the gradient of its result, m x k of a Gemm, rows x n of experts.
Bytes result_gradients(const OpList& backward) {
  Bytes total;
  for (const Op& op : backward) {
    const auto* one = std::get_if<Gemm>(&op.work);
    const auto* experts = std::get_if<GroupedGemm>(&op.work);
    if (one != nullptr && one->pass == GemmPass::kWgrad) {
      total += real(one->batch * one->m * one->k) * size_of(one->dtype);
    } else if (experts != nullptr && experts->pass == GemmPass::kWgrad) {
      total += real(experts->m_total * experts->n) * size_of(experts->dtype);
    }
  }
  return total;
}

void add_deferred(const ExpansionContext& context, const BuiltStage& stage, StageBudget& budget) {
  for (const BuiltLayer& layer : stage.layers) {
    budget.deferred += real(layer.count) * result_gradients(layer.ops->backward);
  }
  if (stage.content.loss && trains_head(context)) {
    budget.deferred += budget.logits;
  }
}

// The largest unit of FSDP among the kinds of layers that end the model: their backward runs first
// and meets everything that is kept.
struct LargestUnit {
  Bytes gathered;
  Bytes reduced;  // beside its backward
};

LargestUnit largest_unit_at_end(const ExpansionContext& context, const BuiltStage& stage) {
  const ModelSpec& model = context.model;
  const std::array<LayerKind, 2> ends = {
      layer_kind(model, context.training.weights, model.layers - 1),
      layer_kind(model, context.training.weights, std::max<std::int64_t>(0, model.layers - 2))};
  LargestUnit any;
  LargestUnit at_end;
  const auto widen = [&](const BuiltLayer& layer, LargestUnit& unit) {
    unit.gathered = max(unit.gathered, gathered_unit(context, layer.parameters));
    unit.reduced = max(unit.reduced, reduced_beside(context, layer.parameters));
  };
  for (const BuiltLayer& layer : stage.layers) {
    widen(layer, any);
    if (std::ranges::find(ends, layer.kind) != ends.end()) {
      widen(layer, at_end);
    }
  }
  return at_end.gathered == Bytes{} ? any : at_end;
}

void add_sharding(const ExpansionContext& context, const BuiltStage& stage, StageBudget& budget) {
  const ParallelPlan& plan = context.plan;
  const MemoryRules& rules = context.software.memory;
  const LargestUnit largest = largest_unit_at_end(context, stage);
  const Ends ends = ends_of(context, stage);
  const double both = ends.embedding + ends.head;
  const StageParameters& parameters = stage.parameters;
  if (!plan.fsdp_reshard) {
    budget.gathered = gathered_unit(context, parameters.layers) + both * kSixteenBits;
  } else {
    budget.gathered_layers = (rules.scans_layers ? 1.0 : 2.0) * largest.gathered;
    (rules.root_holds_ends ? budget.gathered : budget.gathered_head) =
        (rules.root_holds_ends ? both : ends.head) * kSixteenBits;
  }
  budget.reduced_layer = largest.reduced;
  // Gathered weights go before a group's gradients are reduced. Its 16-bit gradients go when they
  // have been copied for the reduction, all but the last one, which its loop still names
  // (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce); only then is there
  // room for the shard, which is among the gradients already.
  const Ends trained = trained_of(context, ends);
  const double reduced =
      rules.root_holds_ends ? trained.embedding + trained.head : trained.embedding;
  const double last = rules.root_holds_ends && trained.head > 0.0 ? trained.head : reduced;
  const Bytes shard = reduced / real(plan.fsdp) * context.software.states.gradient;
  budget.reduced_ends = reduced * context.software.gradient_reduce +
                        max(reduced * kSixteenBits - shard, last * kSixteenBits);
  for (const BuiltLayer& layer : stage.layers) {
    budget.lone_gathered = max(budget.lone_gathered, lone_copies(context, layer.parameters));
  }
  if (sums_full_gradients(context)) {
    // Of experts that FSDP shards as well: what one rank computes is reduced after the last of
    // them.
    budget.full_gradients = parameters.all().trained().total() * context.software.gradient_reduce;
  }
}

// Gradients that go to the host as soon as they are reduced, where nothing shards them before: of
// one layer, or of what lies beside the layers.
void add_leaving_gradients(const ExpansionContext& context, const BuiltStage& stage,
                           StageBudget& budget) {
  budget.reduced_layer = largest_unit_at_end(context, stage).reduced;
  budget.reduced_ends = trained_of(context, ends_of(context, stage)).embedding * kSixteenBits;
}

// One of each distinct weight of a layer, cached where fused accumulation has no gradient to
// return. Experts of a layer are alike.
Bytes dummy_gradients(const ExpansionContext& context, const BuiltStage& stage) {
  double elements = 0.0;
  for (const BuiltLayer& layer : stage.layers) {
    elements = std::max(elements, layer.distinct_elements);
  }
  return elements * context.software.memory.dummy_gradients;
}

// Of a rank, at so many bytes for each parameter that is trained, for each that is frozen, and for
// each of those that lies in fewer than 16 bits.
struct ParameterBytes {
  Bytes trained;
  Bytes frozen;
  Bytes packed;
};
Bytes parameter_memory(const LocalParameters& parameters, const ParallelPlan& plan,
                       const ParameterBytes& bytes) {
  const LocalParameters updated = parameters.trained();
  const double dense = sharing_ranks(plan, 3, false);
  const double expert = sharing_ranks(plan, 3, true);
  const auto of_frozen = [&bytes](double all, double packed, double ranks) {
    return (all - packed) / ranks * bytes.frozen + packed / ranks * bytes.packed;
  };
  const Bytes of_dense = updated.dense / dense * bytes.trained +
                         of_frozen(parameters.frozen_dense, parameters.packed_dense, dense);
  return of_dense + (updated.expert / expert * bytes.trained +
                     of_frozen(parameters.frozen_expert, parameters.packed_expert, expert));
}

Bytes frozen_bytes(const SoftwareSpec& software, Dtype dtype, Bytes trained) {
  return software.converts_frozen(dtype) ? size_of(dtype) : trained;
}

Bytes replica_buckets(const ExpansionContext& context, double trained) {
  const bool replicated = context.plan.zero == 0 && context.plan.replicas() > 1;
  return replicated ? trained * context.software.memory.replica_buckets : Bytes{};
}

bool holds_several_experts(const ExpansionContext& context) {
  return context.model.moe && context.model.moe->experts > context.plan.ep;
}

// As many ranks share a parameter and the copies of it.
Bytes stacked_copies(const LocalParameters& parameters, const ExpansionContext& context) {
  const MemoryRules& rules = context.software.memory;
  const auto copied = [&](const LocalParameters& some, Bytes copies) {
    const Bytes frozen = frozen_bytes(context.software, Dtype::kBf16, copies);
    return parameter_memory(some, context.plan, {copies, frozen, frozen});
  };
  LocalParameters dense = parameters;
  dense.expert = dense.frozen_expert = dense.packed_expert = 0.0;
  LocalParameters experts = parameters;
  experts.dense = experts.frozen_dense = experts.packed_dense = 0.0;
  return copied(dense, rules.stacked_copies) +
         (holds_several_experts(context) ? copied(experts, rules.stacked_expert_copies) : Bytes{});
}

}  // namespace

StageBudget stage_budget(const ExpansionContext& context, const BuiltStage& stage) {
  StageBudget budget;
  add_activations(context, stage, budget);
  if (stage.content.loss) {
    add_loss(context, budget);
  }
  add_deferred(context, stage, budget);
  if (gathers_layers(context)) {
    add_sharding(context, stage, budget);
  } else if (gradients_leave_at_once(context.training.optimizer, context.plan, context.software)) {
    add_leaving_gradients(context, stage, budget);
  }
  return budget;
}

Bytes packed_bytes(BaseWeights base) { return quantised_bytes(base).value_or(kSixteenBits); }

BaseWeights base_of(const TrainedWeights& weights) {
  return weights.lora ? weights.lora->base : BaseWeights::kAsOthers;
}

StateMemory state_memory(const LocalParameters& parameters, const ParallelPlan& plan,
                         const SoftwareSpec& software, Dtype dtype, const OptimizerSpec& optimizer,
                         BaseWeights base) {
  const StateBytes& bytes = software.states;
  const UpdateRule rule = elementwise_rule(optimizer, plan, software);
  // The sharded fp32 parameters are the master copy themselves.
  const Bytes parameter = shards_are_master(plan, software) ? Bytes(4) : bytes.parameter;
  StateMemory memory;
  memory.parameters = parameter_memory(
      parameters, plan, {parameter, frozen_bytes(software, dtype, parameter), packed_bytes(base)});
  const LocalParameters trained = parameters.trained();
  for (const bool expert : {false, true}) {
    const double elements = expert ? trained.expert : trained.dense;
    memory.gradients += elements / sharing_ranks(plan, 2, expert) * bytes.gradient;
    memory.optimizer += elements / sharing_ranks(plan, 1, expert) * rule.kept();
    memory.master += elements / sharing_ranks(plan, 1, expert) * rule.master;
  }
  return memory;
}

StateMemory state_memory(const ExpansionContext& context, const LocalParameters& parameters) {
  return state_memory(parameters, context.plan, context.software, context.training.dtype,
                      context.training.optimizer, base_of(context.training.weights));
}

StateMemory on_device(const ExpansionContext& context, const StateMemory& states) {
  const SharesOnDevice shares =
      shares_on_device(context.training.optimizer, context.plan, context.software);
  StateMemory here;
  here.parameters = context.training.offload.parameters ? Bytes{} : states.parameters;
  here.gradients = shares.gradients * states.gradients;
  here.master = shares.master * states.master;
  here.optimizer = here.master + shares.moments * (states.optimizer - states.master);
  return here;
}

std::int64_t offloaded_layers(const ExpansionContext& context) {
  const HostOffload& offload = context.training.offload;
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  const std::int64_t some = offload.activation_layers > 0 ? offload.activation_layers : kAll;
  return offload.activations ? some : 0;
}

Bytes offloaded_activations(const ExpansionContext& context, const BuiltStage& stage) {
  std::int64_t left = offloaded_layers(context);
  Bytes away;
  for (const BuiltLayer& layer : stage.layers) {
    const std::int64_t some = std::min(left, layer.count);
    away += kept_by(context, layer, some, std::min(some, layer.recomputed));
    left -= some;
  }
  return away;
}

StageHolding stage_holding(const ExpansionContext& context, const BuiltStage& stage) {
  const StageContent& content = stage.content;
  const LocalParameters parameters = stage.parameters.all();
  const double trained = parameters.trained().total();
  StageHolding holding;
  holding.budget = stage_budget(context, stage);
  holding.states = state_memory(context, parameters);
  holding.states.optimizer += matrix_state_change(context, stage.matrices);
  holding.matrices = stage.matrices;
  holding.parameters = trained;
  holding.gradients = max(holding.states.gradients, holding.budget.full_gradients) +
                      trained * context.software.memory.gradient_copy;
  holding.copies = stacked_copies(parameters, context);
  holding.first_layers = first_layers(context, stage);
  holding.dummy_gradients = dummy_gradients(context, stage);
  holding.replica_buckets = replica_buckets(context, trained);
  holding.neighbours = (content.embedding ? 0.0 : 1.0) + (content.loss ? 0.0 : 1.0);
  holding.loss = content.loss;
  return holding;
}

Bytes matrix_state_change(const ExpansionContext& context, const WeightMatrices& matrices) {
  return std::visit(StateChange{context, matrices}, context.training.optimizer.rule);
}

Bytes whole_matrix_excess(const ExpansionContext& context, const WeightMatrices& matrices) {
  const auto* muon = std::get_if<MuonSpec>(&context.training.optimizer.rule);
  if (muon == nullptr || matrix_sharding(*muon, context.plan) != MuonSharding::kWholeMatrices) {
    return {};
  }
  const Bytes kept =
      matrix_rule(context.training.optimizer, context.plan, context.software)->kept();
  const auto above_mean = [muon](const WeightMatrices& own, std::int64_t ranks) {
    return owned_matrices(own, ranks, muon->tp_mode).most_elements - elements_of(own) / real(ranks);
  };
  const HiddenMatrices hidden = hidden_matrices(matrices);
  const double elements = above_mean(hidden.dense, context.plan.shards()) +
                          above_mean(hidden.experts, context.plan.expert_shards());
  return std::max(0.0, elements) * kept;
}

}  // namespace stepcast
