// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/stage_holding.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/layer/weight_matrix.hpp"
#include "stepcast/plan/update_rule.hpp"

namespace stepcast {
namespace {

// Ranks that share the optimizer's states of a matrix.
double sharing(const WeightMatrix& matrix, const ParallelPlan& plan) {
  return plan.zero == 0 ? 1.0 : real(matrix.expert ? plan.expert_shards() : plan.shards());
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
      const double elements = matrix.elements() / sharing(matrix, context.plan);
      change += real(matrix.count) * (statistics - elements) * kStatistic;
    }
    return change;
  }
  Bytes operator()(const MuonSpec&) const {
    const OptimizerSpec& optimizer = context.training.optimizer;
    const Bytes whole = matrix_rule(optimizer, context.plan, context.software)->kept();
    const Bytes single = elementwise_rule(optimizer, context.plan, context.software).kept();
    const HiddenMatrices hidden = hidden_matrices(matrices);
    const ParallelPlan& plan = context.plan;
    return (elements_of(hidden.dense) / real(plan.zero == 0 ? 1 : plan.shards()) +
            elements_of(hidden.experts) / real(plan.zero == 0 ? 1 : plan.expert_shards())) *
           (whole - single);
  }
};

}  // namespace

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
