// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/optimizer_step.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/layer/weight_matrix.hpp"
#include "stepcast/plan/update_rule.hpp"
#include "stepcast/schedule/data_parallel.hpp"

namespace stepcast {
namespace {

constexpr Bytes kFp32{4};

// Ranks that divide the optimizer of these matrices among them.
struct Sharers {
  ProcessGroup group;
  std::int64_t ranks = 1;
};

class MuonStep {
 public:
  MuonStep(const ExpansionContext& context, const MuonSpec& muon, UpdateOps& update)
      : context_(context),
        muon_(muon),
        rule_(*matrix_rule(context.training.optimizer, context.plan, context.software)),
        on_device_(share_on_device(context.training.optimizer, context.software)),
        update_(update) {}

  void add(const WeightMatrices& matrices, const Sharers& sharers) {
    const std::optional<MuonSharding> sharding = matrix_sharding(muon_, context_.plan);
    if (matrices.empty() || !(on_device_ > 0.0)) {
      return;
    }
    if (!sharding || sharers.ranks == 1) {
      return add_local(matrices);
    }
    switch (*sharding) {
      case MuonSharding::kWholeMatrices:
        return add_local(owned_matrices(matrices, sharers.ranks, muon_.tp_mode).slowest);
      case MuonSharding::kGather:
        return add_gathered(matrices, sharers);
      case MuonSharding::kAllToAll:
        return add_exchanged(matrices, sharers);
    }
  }

 private:
  // Matrices that lie whole on the rank.
  void add_local(const WeightMatrices& matrices) {
    for (const WeightMatrix& matrix : matrices) {
      add_momentum(matrix.elements(), matrix.count);
      add_iterations(matrix, matrix.count);
      add_update(matrix.elements(), matrix.count);
    }
  }

  void add_gathered(const WeightMatrices& matrices, const Sharers& sharers) {
    add_momentum(elements_of(matrices) / real(sharers.ranks), 1);
    for (const WeightMatrix& matrix : matrices) {
      push({moved(OpId::kMuonGather, CollectiveOp::kAllGather, matrix, sharers)}, matrix.count);
    }
    for (const WeightMatrix& matrix : iterated_where_gathered(matrices, sharers)) {
      add_iterations(matrix, matrix.count);
    }
    add_update(elements_of(matrices) / real(sharers.ranks), 1);
  }
  [[nodiscard]] WeightMatrices iterated_where_gathered(const WeightMatrices& matrices,
                                                       const Sharers& sharers) const {
    if (context_.plan.zero == 3) {
      return matrices;
    }
    WeightMatrices own = owned_matrices(matrices, sharers.ranks, muon_.tp_mode).slowest;
    const auto cost = [this](const WeightMatrix& matrix) {
      return newton_schulz_flops(iterated(matrix, muon_.tp_mode));
    };
    WeightMatrix shared = *std::ranges::max_element(
        matrices,
        [&cost](const WeightMatrix& a, const WeightMatrix& b) { return cost(a) < cost(b); });
    shared.count = 1;
    stepcast::add({shared}, 1, own);
    return own;
  }

  void add_exchanged(const WeightMatrices& matrices, const Sharers& sharers) {
    add_momentum(elements_of(matrices) / real(sharers.ranks), 1);
    for (const WeightMatrix& matrix : matrices) {
      const std::int64_t batches = (matrix.count + sharers.ranks - 1) / sharers.ranks;
      push({moved(OpId::kMuonToOwner, CollectiveOp::kAllToAll, matrix, sharers)}, batches);
      add_iterations(matrix, batches);
      push({moved(OpId::kMuonFromOwner, CollectiveOp::kAllToAll, matrix, sharers)}, batches);
    }
    add_update(elements_of(matrices) / real(sharers.ranks), 1);
  }
  // A matrix of all parts, or as many bytes of a rank's parts of as many matrices.
  [[nodiscard]] static Op moved(OpId id, CollectiveOp op, const WeightMatrix& matrix,
                                const Sharers& sharers) {
    return {id, Collective{op, matrix.elements() * kSixteenBits, sharers.group, Axis::kData},
            Block::kOptimizer};
  }

  void add_momentum(double elements, std::int64_t times) {
    const Bytes each = (1.0 / 3.0) * (context_.software.states.gradient + 2.0 * rule_.states);
    OpList ops{pass(OpId::kMuonMomentum, MemoryBoundKind::kMomentum, elements, each)};
    if (muon_.nesterov) {
      ops.push_back(pass(OpId::kMuonNesterov, MemoryBoundKind::kMomentum, elements, kFp32));
    }
    push(std::move(ops), times);
  }
  void add_update(double elements, std::int64_t times) {
    push({pass(OpId::kMuonUpdate, MemoryBoundKind::kMatrixUpdate, elements, rule_.parameter)},
         times);
  }

  void add_iterations(const WeightMatrix& matrix, std::int64_t times) {
    const IteratedMatrix shape = iterated(matrix, muon_.tp_mode);
    const bool divided = matrix.parts > 1;
    const bool distributed = divided && muon_.tp_mode == MuonTensorParallel::kDistributed;
    OpList start;
    if (divided && muon_.tp_mode == MuonTensorParallel::kDuplicated) {
      start.push_back(summed(OpId::kMuonTpGather, CollectiveOp::kAllGather,
                             real(matrix.inputs) * real(matrix.outputs) * kFp32, matrix));
    }
    start.push_back(pass(OpId::kMuonNormalize, MemoryBoundKind::kNormalizeMatrix,
                         real(shape.rows) * real(shape.columns), kFp32));
    if (distributed) {
      start.push_back(summed(OpId::kMuonNormSum, CollectiveOp::kAllReduce, kFp32, matrix));
    }
    push(std::move(start), times);
    push(step(matrix, shape, distributed ? Summed::kOverRanks : Summed::kHere),
         times * muon_.steps);
  }

  // Where the products of rows add up.
  enum class Summed { kHere, kOverRanks };
  [[nodiscard]] OpList step(const WeightMatrix& matrix, const IteratedMatrix& shape,
                            Summed where) const {
    const auto [rows, columns] = shape;
    OpList ops{{OpId::kMuonGram, Gemm{rows, rows, columns}, Block::kOptimizer}};
    if (where == Summed::kOverRanks) {
      ops.push_back(summed(OpId::kMuonGramSum, CollectiveOp::kAllReduce,
                           real(rows) * real(rows) * kSixteenBits, matrix));
    }
    Gemm polynomial{rows, rows, rows};
    polynomial.pass = GemmPass::kDgrad;
    polynomial.accumulate = true;
    Gemm product{rows, columns, rows};
    product.pass = GemmPass::kDgrad;
    product.accumulate = true;
    ops.push_back({OpId::kMuonPolynomial, polynomial, Block::kOptimizer});
    ops.push_back({OpId::kMuonProduct, product, Block::kOptimizer});
    return ops;
  }
  // Over the ranks of tensor parallelism that hold parts of a matrix.
  [[nodiscard]] Op summed(OpId id, CollectiveOp op, Bytes bytes, const WeightMatrix& matrix) const {
    const ProcessGroup group = matrix.expert ? context_.plan.etp_group() : context_.plan.tp_group();
    return {id, Collective{op, bytes, group, Axis::kTensor}, Block::kOptimizer};
  }

  // Nobody has written these by hand: compiled, or kernel by kernel.
  [[nodiscard]] Op pass(OpId id, MemoryBoundKind kind, double elements, Bytes element) const {
    const auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(elements));
    const Implementation implementation = context_.software.optimizer == Implementation::kCompiled
                                              ? Implementation::kCompiled
                                              : Implementation::kEager;
    return {id, MemoryBound{kind, 1, count, element, Direction::kForward, implementation},
            Block::kOptimizer};
  }
  void push(OpList ops, std::int64_t times) { update_.push_back({std::move(ops), times}); }

  const ExpansionContext& context_;
  const MuonSpec& muon_;
  UpdateRule rule_;
  double on_device_;
  UpdateOps& update_;
};

Op pass_over(OpId id, MemoryBoundKind kind, std::int64_t count, Bytes element) {
  return {id,
          MemoryBound{kind, 1, std::max<std::int64_t>(1, count), element, Direction::kForward,
                      Implementation::kFused},
          Block::kOptimizer};
}

// The norm reads the gradients of the rank's shard and clipping scales them. A copy moves two
// elements where reading or writing alone moves one: half as many stand for it.
void add_clipping(const ExpansionContext& context, std::int64_t shard, OpList& ops) {
  const Bytes gradient = context.software.states.gradient;
  ops.push_back(pass_over(OpId::kGradientNorm, MemoryBoundKind::kCopy, shard / 2, gradient));
  ops.push_back(pass_over(OpId::kGradientClip, MemoryBoundKind::kCopy, shard, gradient));
}

// The new parameters are copied into 16 bits; the buffers of all local gradients are zeroed.
void add_passes_beside_update(const ExpansionContext& context, std::int64_t shard,
                              std::int64_t local, OpList& ops) {
  const Bytes gradient = context.software.states.gradient;
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

void add_muon_step(const ExpansionContext& context, const WeightMatrices& held, UpdateOps& update) {
  const auto* muon = std::get_if<MuonSpec>(&context.training.optimizer.rule);
  if (muon == nullptr) {
    return;
  }
  const ParallelPlan& plan = context.plan;
  const HiddenMatrices hidden = hidden_matrices(held);
  MuonStep step(context, *muon, update);
  step.add(hidden.dense, {plan.sharing_group(), plan.shards()});
  step.add(hidden.experts, {plan.edp_group(), plan.expert_shards()});
}

double updated_elements(const ExpansionContext& context, const LocalParameters& trained) {
  const ParallelPlan& plan = context.plan;
  if (plan.zero == 0) {
    return trained.total();
  }
  return trained.dense / real(plan.shards()) + trained.expert / real(plan.expert_shards());
}

// Gradients that an offload took to the host are scaled there by clip_grad_norm_ (offload_time).
double clipped_elements(const ExpansionContext& context, double shard) {
  const std::optional<OptimizerOffload> offload =
      offload_of(context.training.optimizer, context.software);
  const bool there = offload && offload->states == OffloadedStates::kAll;
  return there && context.software.norms_on_host ? (1.0 - offload->share) * shard : shard;
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
  if (context.software.clips_gradients || context.software.scales_gradients) {
    const auto clipped = static_cast<std::int64_t>(clipped_elements(context, shard));
    add_clipping(context, std::max<std::int64_t>(1, clipped), ops);
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
