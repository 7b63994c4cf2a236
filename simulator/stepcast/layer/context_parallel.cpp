// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/context_parallel.hpp"

#include <algorithm>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/layer/mixer_expansion.hpp"

namespace stepcast {
namespace {

using Kind = MemoryBoundKind;

constexpr Bytes kFp32Value{4};

// Values of a token on a rank: queries, keys, values and results of its heads.
struct Widths {
  std::int64_t q = 0;
  std::int64_t k = 0;
  std::int64_t v = 0;
  std::int64_t result = 0;
  [[nodiscard]] std::int64_t kv() const { return k + v; }
};

Widths widths_of(const Attention& op) {
  return {op.heads * op.d_qk, op.kv_heads * op.d_qk, op.kv_heads * op.d_v, op.heads * op.d_v};
}

// Attention after the exchange of heads.
Attention on_own_heads(Attention whole, const ParallelPlan& plan) {
  whole.heads = std::max<std::int64_t>(1, whole.heads / plan.cp_heads());
  whole.kv_heads = std::max<std::int64_t>(1, whole.kv_heads / plan.cp_heads());
  return whole;
}

// With a scale a tensor 8-bit values travel as they are; those with scales of blocks are made after
// they have arrived.
Bytes sent_element(const ExpansionContext& context) {
  const bool small = context.software.attention_8bit && !context.software.attention_block_scaled &&
                     context.training.dtype == Dtype::kFp8;
  return small ? Bytes(1) : kSixteenBits;
}

class ContextParallel {
 public:
  ContextParallel(const ExpansionContext& context, const Attention& whole, BlockBuilder& build)
      : plan_(context.plan),
        passes_(context.software.ring_attention),
        op_(on_own_heads(whole, context.plan)),
        all_(widths_of(whole)),
        own_(widths_of(op_)),
        tokens_(context.tokens()),
        group_tokens_(context.tokens() * context.plan.cp_heads()),
        element_(sent_element(context)),
        steps_(context.plan.cp_sequence()),
        build_(build) {}

  void expand() {
    if (plan_.cp_heads() > 1) {
      exchange_heads({all_.q, all_.k, all_.v});
    }
    if (steps_ == 1) {
      build_.mixing(OpId::kAttentionCore, op_);
    } else if (passes_ != Implementation::kFused) {
      merged_by_passes();
    } else if (plan_.cp_algorithm == CpAlgorithm::kAllGather) {
      gathered();
    } else {
      ring();
    }
    if (plan_.cp_heads() > 1) {
      exchange_heads({all_.result});
    }
  }

 private:
  void forward_cp(CollectiveOp op, Bytes bytes, ProcessGroup group) {
    build_.forward_collective(OpId::kAttentionCp, {op, bytes, group, Axis::kContext});
  }
  void backward_cp(CollectiveOp op, Bytes bytes, ProcessGroup group) {
    build_.backward_collective(OpId::kAttentionCp, {op, bytes, group, Axis::kContext});
  }
  void forward_sequence(CollectiveOp op, Bytes bytes) {
    forward_cp(op, bytes, plan_.cp_sequence_group());
  }
  void backward_sequence(CollectiveOp op, Bytes bytes) {
    backward_cp(op, bytes, plan_.cp_sequence_group());
  }

  // Of K V on a rank: values, and bytes as they are sent.
  [[nodiscard]] double kv_values() const { return real(group_tokens_ * own_.kv()); }
  [[nodiscard]] Bytes kv_bytes() const { return kv_values() * element_; }

  // Each tensor is copied so that what a rank gets lies together, sent, and put in order; the
  // gradients take the way back.
  void exchange_heads(std::initializer_list<std::int64_t> widths) {
    const std::int64_t all = sum_over(widths);
    build_.memory_bound(OpId::kAttentionCpCopy, Kind::kStridedCopy, tokens_, all,
                        Implementation::kFused, element_);
    for (const std::int64_t width : widths) {
      const Bytes bytes = real(tokens_ * width) * element_;
      forward_cp(CollectiveOp::kAllToAll, bytes, plan_.cp_heads_group());
      backward_cp(CollectiveOp::kAllToAll, bytes, plan_.cp_heads_group());
    }
    build_.memory_bound(OpId::kAttentionCpCopy, Kind::kStridedCopy, tokens_, all,
                        Implementation::kFused, element_);
  }

  // Of step i, counted from 0.
  [[nodiscard]] Attention step(std::int64_t i) const {
    Attention part = op_;
    if (shortens(op_.documents, op_.seq_kv) || op_.window > 0) {
      const std::int64_t all = op_.seq_kv / steps_;
      const std::int64_t rows = std::max<std::int64_t>(1, all / steps_);
      part.seq_q = i == 0 ? std::max<std::int64_t>(1, all - (steps_ - 1) * rows) : rows;
      return part;
    }
    part.seq_q = op_.seq_kv / steps_;
    part.seq_kv = i == 0 ? part.seq_q : part.seq_q / 2;
    part.causal = i == 0;
    return part;
  }

  // --- Transformer Engine ---

  void ring() {
    const bool small = element_ == Bytes(1);
    // 8-bit gradients are added up in fp32.
    const Bytes sum = small ? kFp32Value : kSixteenBits;
    build_.forward_memory_bound(OpId::kAttentionKvJoin, Kind::kJoin, group_tokens_, own_.kv(),
                                Implementation::kFused, element_);
    for (std::int64_t i = 0; i < steps_; ++i) {
      const bool last = i + 1 == steps_;  // the first of backward
      add_gradients(i, sum);
      if (!last) {
        forward_sequence(CollectiveOp::kSendRecv, kv_bytes());
      }
      build_.mixing(OpId::kAttentionCore, step(i));
      if (!small) {
        backward_sequence(CollectiveOp::kSendRecv, (i == 0 || last ? 1.0 : 2.0) * kv_bytes());
      } else if (i == 0) {
        backward_sequence(CollectiveOp::kAllToAll, real(steps_) * kv_bytes());
      } else {
        backward_sequence(CollectiveOp::kSendRecv, kv_bytes());
      }
    }
    add_results();
    build_.backward_memory_bound(OpId::kAttentionCpCopy, Kind::kCopy, group_tokens_, own_.kv(),
                                 Implementation::kFused, element_);
  }

  // After step i of backward, in the order of the builder: the last is the first to run.
  void add_gradients(std::int64_t i, Bytes element) {
    const bool first = i + 1 == steps_;
    const Kind kind = first ? Kind::kCopy : Kind::kAddPartial;
    const std::int64_t rows = i == 0 ? group_tokens_ : group_tokens_ / 2;
    build_.backward_memory_bound(OpId::kAttentionKvSum, kind, rows, own_.kv(),
                                 Implementation::kFused, element);
    build_.backward_memory_bound(OpId::kAttentionMerge, kind, group_tokens_, own_.q,
                                 Implementation::kFused, element);
  }

  void add_results() {
    for (std::int64_t i = 1; i < steps_; ++i) {
      build_.forward_memory_bound(OpId::kAttentionMerge, Kind::kAddPartial, group_tokens_,
                                  op_.heads, Implementation::kFused, kFp32Value);
    }
    for (std::int64_t i = 0; i < steps_; ++i) {
      build_.forward_memory_bound(OpId::kAttentionMerge, i == 0 ? Kind::kCopy : Kind::kAddPartial,
                                  group_tokens_, own_.result, Implementation::kFused, kSixteenBits);
    }
  }

  // Both calls as one, on two streams.
  void gathered() {
    const std::int64_t everywhere = steps_ * group_tokens_;
    const Bytes keys = real(everywhere * own_.k) * element_;
    const Bytes values = real(everywhere * own_.v) * element_;
    Attention both = op_;
    both.seq_q = op_.seq_kv / steps_;
    // In the order of the builder, backward last: sums of gradients, in order, scattered.
    for (const std::int64_t width : {own_.k, own_.v}) {
      backward_sequence(CollectiveOp::kReduceScatter, real(everywhere * width) * kSixteenBits);
    }
    build_.backward_memory_bound(OpId::kAttentionCpCopy, Kind::kStridedCopy, everywhere, own_.kv(),
                                 Implementation::kFused, kSixteenBits);
    build_.backward_memory_bound(OpId::kAttentionKvSum, Kind::kAddPartial, everywhere, own_.kv(),
                                 Implementation::kFused, kSixteenBits);
    build_.backward_memory_bound(OpId::kAttentionMerge, Kind::kCopy, group_tokens_, own_.q,
                                 Implementation::kFused, kSixteenBits);
    for (const Bytes bytes : {keys, values}) {
      forward_sequence(CollectiveOp::kAllGather, bytes);
    }
    build_.memory_bound(OpId::kAttentionCpCopy, Kind::kStridedCopy, everywhere, own_.kv(),
                        Implementation::kFused, element_);
    build_.mixing(OpId::kAttentionCore, both);
    build_.forward_memory_bound(OpId::kAttentionMerge, Kind::kCopy, group_tokens_, own_.result,
                                Implementation::kFused, kSixteenBits);
    for (const Bytes bytes : {values, keys}) {
      backward_sequence(CollectiveOp::kAllGather, bytes);
    }
  }

  // --- PyTorch ---

  void merged_by_passes() {
    const bool gathers = plan_.cp_algorithm == CpAlgorithm::kAllGather;
    const std::int64_t others = group_tokens_ * (steps_ - 1);
    const Bytes everywhere = real(steps_) * kv_bytes();
    for (std::int64_t i = 0; i < steps_; ++i) {
      backward_sequence(CollectiveOp::kSendRecv, kv_values() * kFp32Value);
    }
    build_.backward_memory_bound(OpId::kAttentionKvSum, Kind::kSumPartials, others, own_.kv(),
                                 passes_, kSixteenBits);
    if (gathers) {
      join();
      forward_sequence(CollectiveOp::kAllGather, everywhere);
      // What was gathered is kept.
      build_.save(TensorId::kAttentionGathered, OpId::kAttentionKvJoin, steps_ * group_tokens_,
                  own_.kv(), kSixteenBits);
    }
    for (std::int64_t i = 0; i < steps_; ++i) {
      const bool passes_on = !gathers && i + 1 < steps_;
      if (passes_on) {
        join();
        forward_sequence(CollectiveOp::kSendRecv, kv_bytes());
      }
      build_.mixing(OpId::kAttentionCore, step(i));
      if (passes_on) {
        backward_sequence(CollectiveOp::kSendRecv, kv_bytes());
      }
    }
    if (gathers) {
      backward_sequence(CollectiveOp::kAllGather, everywhere);
    }
    build_.memory_bound(OpId::kAttentionMerge, Kind::kMergePartials, others, own_.result, passes_);
    // Beside the result of all parts its transposed copy.
    build_.save_result(TensorId::kAttentionMerged, group_tokens_, own_.result, kSixteenBits);
  }

  // K and V side by side.
  void join() {
    build_.memory_bound(OpId::kAttentionKvJoin, Kind::kJoin, group_tokens_, own_.kv(),
                        Implementation::kFused);
  }

  const ParallelPlan& plan_;
  Implementation passes_;
  Attention op_;
  Widths all_;  // of a tensor-parallel rank
  Widths own_;  // after the exchange of heads
  std::int64_t tokens_;
  std::int64_t group_tokens_;  // after it
  Bytes element_;
  std::int64_t steps_;
  BlockBuilder& build_;
};

}  // namespace

void expand_context_parallel(const ExpansionContext& context, const Attention& whole,
                             BlockBuilder& build) {
  ContextParallel(context, whole, build).expand();
}

std::int64_t attention_kv_heads(const AttentionHeads& heads, const SoftwareSpec& software,
                                std::int64_t tp) {
  return local_heads(software.repeats_kv_heads ? heads.query : heads.kv, tp);
}

Bytes context_parallel_buffers(const ExpansionContext& context, const AttentionHeads& of_layer) {
  const ParallelPlan& plan = context.plan;
  if (plan.cp_sequence() == 1) {
    return {};
  }
  const double tokens = real(context.tokens());
  const double heads = real(local_heads(of_layer.query, plan.tp));
  const Bytes q = tokens * heads * real(of_layer.qk_dim) * kSixteenBits;
  const Bytes result = tokens * heads * real(of_layer.v_dim) * kSixteenBits;
  const std::int64_t kv_heads = attention_kv_heads(of_layer, context.software, plan.tp);
  const Bytes kv = tokens * real(kv_heads * (of_layer.qk_dim + of_layer.v_dim)) * kSixteenBits;
  const double ranks = real(plan.cp_sequence());
  if (context.software.ring_attention != Implementation::kFused) {
    // Gradients of queries, keys and values in fp32, those of a step, and what is sent on.
    return 3.0 * q + 5.0 * kv;
  }
  if (plan.cp_algorithm == CpAlgorithm::kAllGather) {
    // Keys and values in the order of ranks and of tokens; with gradients, theirs of both calls.
    return 2.0 * q + ranks * 3.0 * kv;
  }
  // Forward: what has arrived in every step and what each has made. Backward: two buffers of keys,
  // values and their gradients, and the gradients of a step.
  return max((ranks - 1.0) * kv + ranks * result, 2.0 * q + 5.0 * kv);
}

}  // namespace stepcast
