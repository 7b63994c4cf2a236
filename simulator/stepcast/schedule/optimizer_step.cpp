// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/optimizer_step.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/plan/update_rule.hpp"
#include "stepcast/schedule/data_parallel.hpp"
#include "stepcast/schedule/muon_step.hpp"

namespace stepcast {
namespace {

Op pass_over(OpId id, MemoryBoundKind kind, std::int64_t count, Bytes element) {
  return {id,
          MemoryBound{kind, 1, std::max<std::int64_t>(1, count), element, Direction::kForward,
                      Implementation::kFused},
          Block::kOptimizer};
}

// The norm reads the gradients of the rank's shard and clipping scales them; the new parameters are
// copied into 16 bits; the buffers of all local gradients are zeroed. A copy moves two elements
// where reading or writing alone moves one: half as many stand for it.
void add_passes_beside_update(const ExpansionContext& context, std::int64_t shard,
                              std::int64_t local, OpList& ops) {
  const Bytes gradient = context.software.states.gradient;
  ops.push_back(pass_over(OpId::kGradientNorm, MemoryBoundKind::kCopy, shard / 2, gradient));
  ops.push_back(pass_over(OpId::kGradientClip, MemoryBoundKind::kCopy, shard, gradient));
  ops.push_back(pass_over(OpId::kParameterCast, MemoryBoundKind::kCast, shard, kSixteenBits));
  ops.push_back(pass_over(OpId::kGradientZero, MemoryBoundKind::kCopy, local / 2, gradient));
}

// The mean over replicas divides each local gradient before the sum; a norm reads it once more.
void add_passes_before_reduction(const ExpansionContext& context, std::int64_t local, OpList& ops) {
  const Bytes gradient = context.software.states.gradient;
  if (context.plan.dp * context.plan.cp > 1) {
    ops.push_back(pass_over(OpId::kGradientMean, MemoryBoundKind::kCopy, local, gradient));
  }
  ops.push_back(pass_over(OpId::kGradientCheck, MemoryBoundKind::kCopy, local / 2, gradient));
}

// Of the parameters that are updated one by one.
LocalParameters without_matrices(LocalParameters parameters, const OptimizerSpec& optimizer,
                                 const WeightMatrices& matrices) {
  if (optimizer.kind() == OptimizerKind::kMuon) {
    const HiddenMatrices hidden = hidden_matrices(matrices);
    parameters.dense -= elements_of(hidden.dense);
    parameters.expert -= elements_of(hidden.experts);
  }
  return parameters;
}

// The kernel that updates parameters one by one, where the device does.
void add_update(const ExpansionContext& context, double elements, OpList& ops) {
  const OptimizerSpec& optimizer = context.training.optimizer;
  const UpdateRule rule = elementwise_rule(optimizer, context.plan, context.software);
  const double share = share_on_device(optimizer, context.software);
  if (share > 0.0) {
    const auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(share * elements));
    ops.push_back({OpId::kOptimizer,
                   MemoryBound{rule.kernel, 1, count, rule.element, Direction::kForward,
                               context.software.optimizer},
                   Block::kOptimizer});
  }
}

}  // namespace

double updated_elements(const ExpansionContext& context, const LocalParameters& trained) {
  const ParallelPlan& plan = context.plan;
  if (plan.zero == 0) {
    return trained.total();
  }
  return trained.dense / real(plan.shards()) + trained.expert / real(plan.expert_shards());
}

UpdateOps optimizer_ops(const ExpansionContext& context, const HeldWeights& held) {
  const LocalParameters trained = held.parameters.trained();
  const double shard = updated_elements(context, trained);
  const auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(shard));
  const auto local = static_cast<std::int64_t>(trained.total());
  const OptimizerSpec& optimizer = context.training.optimizer;
  OpList ops;
  add_update(context,
             updated_elements(context, without_matrices(trained, optimizer, held.matrices)), ops);
  if (context.software.checks_gradients) {
    add_passes_before_reduction(context, local, ops);
  }
  if (context.software.clips_gradients) {
    add_passes_beside_update(context, count, local, ops);
  }
  const OpList sent = updated_parameters_sent(context, trained, shard);
  UpdateOps update;
  if (optimizer.kind() != OptimizerKind::kMuon) {
    ops.insert(ops.end(), sent.begin(), sent.end());
    update.push_back({std::move(ops), 1});
    return update;
  }
  update.push_back({std::move(ops), 1});
  add_muon_step(context, held.matrices, update);
  if (!sent.empty()) {
    update.push_back({sent, 1});
  }
  return update;
}

}  // namespace stepcast
