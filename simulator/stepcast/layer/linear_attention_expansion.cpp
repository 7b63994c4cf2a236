// SPDX-License-Identifier: Apache-2.0
// Linear attention by a gated delta rule (mixer_spec.hpp): products, the short convolution of
// queries, keys and values, the decays, the recurrence in chunks, a norm that a gate scales, and
// the product after it. As Megatron-LM (core/ssm/gated_delta_net.py) and flash-linear-attention
// (fla/layers/{gated_deltanet,kda}.py) run it.
//
// Tensor parallelism divides heads. Context parallelism passes the last rows of each part of the
// sequence to the next for the convolution, and gathers what each part makes of the state and of
// the state before it, d_k x d_v and d_k x d_k of each head in fp32 (fla/ops/cp); with all-to-all a
// rank has all positions of a share of the heads instead.
#include "stepcast/base/dtype.hpp"
#include "stepcast/layer/mixer_expansion.hpp"

namespace stepcast {
namespace {

using Kind = MemoryBoundKind;

constexpr Bytes kStateElement{4};
constexpr std::int64_t kSequenceParts = 2;  // of the sequence that a context-parallel rank holds

class LinearExpander {
 public:
  LinearExpander(const ExpansionContext& context, BlockBuilder& build)
      : context_(context),
        build_(build),
        linear_(*context.model.mixers.linear_attention),
        rows_(context.tokens()),
        qk_(linear_.qk_width() / context.plan.tp),
        v_(linear_.v_width() / context.plan.tp),
        heads_(linear_.heads / context.plan.tp) {}

  void expand() {
    build_.begin(Block::kAttention);
    build_.enter_tensor_parallel(OpId::kAttentionTpIn);
    kimi() ? project_apart() : project_at_once();
    filter();
    normalise();
    build_.memory_bound(OpId::kLinearDecay, Kind::kLogitWeights, rows_, decays() + heads_,
                        context_.software.mixer(), kStateElement);
    build_.save_result(TensorId::kLinearDecays, rows_, decays() + heads_, kStateElement);
    exchange_context();
    core();
    build_.memory_bound(OpId::kLinearNorm, Kind::kGatedNorm, rows_, v_, context_.software.mixer());
    if (build_.trains() && build_.keeps_operand()) {
      build_.save_result(TensorId::kLinearOutput, rows_, v_, build_.operand());
    }
    build_.projection(OpId::kLinearOut, rows_, hidden(), v_);
    build_.leave_tensor_parallel(OpId::kAttentionTpOut);
  }

 private:
  [[nodiscard]] bool kimi() const { return linear_.rule == DeltaRule::kKimiDelta; }
  [[nodiscard]] std::int64_t hidden() const { return context_.model.hidden; }
  [[nodiscard]] std::int64_t decays() const { return kimi() ? qk_ : heads_; }

  // Queries, keys, values, gates, steps and decays of one product.
  void project_at_once() {
    build_.projection(OpId::kLinearIn, rows_, 2 * qk_ + 2 * v_ + 2 * heads_, hidden());
    save_projected(OpId::kLinearIn);
    build_.save(TensorId::kLinearGate, OpId::kLinearIn, rows_, v_ + 2 * heads_, kSixteenBits);
  }

  void project_apart() {
    const bool low_rank_gate = linear_.gate_rank > 0;
    constexpr std::int64_t kReaders = 6;  // of the hidden state
    build_.gradient_sum(OpId::kAttentionGradientSum, rows_, kReaders, context_.software.norm);
    {
      const BlockBuilder::SharedInput beside(build_);
      build_.projection(OpId::kLinearQ, rows_, qk_, hidden());
      build_.projection(OpId::kLinearK, rows_, qk_, hidden());
      build_.projection(OpId::kLinearV, rows_, v_, hidden());
      build_.projection(OpId::kLinearStep, rows_, heads_, hidden());
      build_.projection(OpId::kLinearDecayDown, rows_, linear_.qk_head_dim, hidden());
      build_.projection(low_rank_gate ? OpId::kLinearGateDown : OpId::kLinearGate, rows_,
                        low_rank_gate ? linear_.gate_rank : v_, hidden());
    }
    save_projected(OpId::kLinearQ);
    build_.projection(OpId::kLinearDecayUp, rows_, qk_, linear_.qk_head_dim);
    build_.save_result(TensorId::kLinearDecayLogits, rows_, qk_ + linear_.qk_head_dim,
                       kSixteenBits);
    if (low_rank_gate) {
      build_.projection(OpId::kLinearGate, rows_, v_, linear_.gate_rank);
    }
    build_.save(TensorId::kLinearGate, OpId::kLinearGate, rows_, v_ + linear_.gate_rank,
                kSixteenBits);
  }

  // What the convolution's backward reads.
  void save_projected(OpId producer) {
    build_.save(TensorId::kLinearProjected, producer, rows_, 2 * qk_ + v_, kSixteenBits);
  }

  void filter() {
    pass_halo(context_, OpId::kLinearHalo, linear_.convolution_width - 1, 2 * qk_ + v_, build_);
    build_.filter(OpId::kLinearFilter, Kind::kActivatedConvolution, rows_, 2 * qk_ + v_,
                  linear_.convolution_width);
    build_.save_result(TensorId::kLinearFiltered, rows_, 2 * qk_ + v_, kSixteenBits);
  }

  // Queries and keys to unit length, head by head; a kernel's blocks take several heads.
  void normalise() {
    for (const OpId id : {OpId::kAttentionQNorm, OpId::kAttentionKNorm}) {
      build_.memory_bound(id, Kind::kNorm, rows_, qk_,
                          context_.software.mixer_passes.value_or(Implementation::kFused));
    }
    build_.save_result(TensorId::kLinearNormed, rows_, 2 * qk_, kSixteenBits);
  }

  void exchange_context() {
    const ParallelPlan& plan = context_.plan;
    const std::int64_t batch = context_.training.micro_batch_size;
    const auto both = [&](CollectiveOp op, double values, Bytes element) {
      const Collective moved{op, values * element, plan.cp_group(), Axis::kContext};
      build_.forward_collective(OpId::kLinearState, moved);
      build_.backward_collective(OpId::kLinearState, moved);
    };
    if (plan.cp_algorithm == CpAlgorithm::kAllToAll) {
      const auto values = static_cast<double>(rows_ * (2 * qk_ + 2 * v_));
      return both(CollectiveOp::kAllToAll, values, kSixteenBits);
    }
    const auto values =
        static_cast<double>(plan.cp * kSequenceParts * batch * heads_ * linear_.qk_head_dim *
                            (linear_.v_head_dim + linear_.qk_head_dim));
    both(CollectiveOp::kAllGather, values, kStateElement);
  }

  void core() {
    const ParallelPlan& plan = context_.plan;
    const bool by_heads = plan.cp_algorithm == CpAlgorithm::kAllToAll && plan.cp > 1;
    LinearAttention op;
    op.batch = context_.training.micro_batch_size;
    op.seq = context_.training.sequence_length / (by_heads ? 1 : plan.cp);
    op.heads = by_heads ? local_heads(heads_, plan.cp) : heads_;
    op.qk_heads = local_heads(linear_.qk_heads / plan.tp, by_heads ? plan.cp : 1);
    op.d_k = linear_.qk_head_dim;
    op.d_v = linear_.v_head_dim;
    op.chunk = linear_.chunk;
    op.rule = linear_.rule;
    build_.mixing(OpId::kLinearCore, op);
    build_.save_result(TensorId::kLinearCore, rows_, v_, kSixteenBits);
    build_.save_result(TensorId::kLinearTriangles, rows_ * heads_, linear_.chunk, kSixteenBits);
  }

  const ExpansionContext& context_;
  BlockBuilder& build_;
  const LinearAttentionSpec& linear_;
  std::int64_t rows_;
  std::int64_t qk_;
  std::int64_t v_;
  std::int64_t heads_;
};

}  // namespace

void expand_linear_attention(const ExpansionContext& context, BlockBuilder& build) {
  LinearExpander(context, build).expand();
}

}  // namespace stepcast
