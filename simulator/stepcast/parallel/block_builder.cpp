// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/block_builder.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {

void BlockBuilder::forward(OpId id, OpWork work) {
  ops_.forward.push_back({id, std::move(work), block_});
}

void BlockBuilder::backward(OpId id, OpWork work) {
  ops_.backward.push_back({id, std::move(work), block_});
}

void BlockBuilder::projection(OpId id, std::int64_t rows, std::int64_t outputs,
                              std::int64_t inputs) {
  projection_in(id, rows, outputs, inputs, context_.training.dtype);
}

void BlockBuilder::projection_16bit(OpId id, std::int64_t rows, std::int64_t outputs,
                                    std::int64_t inputs) {
  const Dtype dtype =
      is_quantized(context_.training.dtype) ? Dtype::kBf16 : context_.training.dtype;
  projection_in(id, rows, outputs, inputs, dtype);
}

void BlockBuilder::projection_in(OpId id, std::int64_t rows, std::int64_t outputs,
                                 std::int64_t inputs, Dtype dtype) {
  quantize(rows, outputs, inputs, dtype);
  forward(id, Gemm{rows, outputs, inputs, 1, dtype, GemmPass::kForward});
  backward(id, Gemm{rows, inputs, outputs, 1, dtype, GemmPass::kDgrad});
  backward(id, Gemm{outputs, inputs, rows, 1, dtype, GemmPass::kWgrad, sums_gradients(),
                    gradient_element()});
}

// FSDP frees what it has reduced: there is nothing to add to.
bool BlockBuilder::sums_gradients() const {
  const ParallelPlan& plan = context_.plan;
  return context_.software.accumulates_in_gemm && (plan.zero < 3 || !plan.fsdp_reshard);
}

// A product that adds to the gradients writes them as they are kept.
Bytes BlockBuilder::gradient_element() const {
  return sums_gradients() ? context_.software.states.gradient : Gemm{}.result;
}

// Scaled products read x (forward), dy and the transposes of both (backward) in 8 or 4 bits; the
// weight's copy is made once a micro-batch. The transposes are a second result of the same kernels.
void BlockBuilder::quantize(std::int64_t rows, std::int64_t outputs, std::int64_t inputs,
                            Dtype dtype) {
  if (!is_quantized(dtype)) {
    return;
  }
  const MemoryBoundKind kind = dtype == Dtype::kFp8Block ? MemoryBoundKind::kQuantizeBlock
                               : dtype == Dtype::kFp4    ? MemoryBoundKind::kQuantizeFp4
                                                         : MemoryBoundKind::kQuantize;
  const auto add = [&](Direction direction, std::int64_t r, std::int64_t c) {
    OpList& list = direction == Direction::kForward ? ops_.forward : ops_.backward;
    const MemoryBound cast{kind, r, c, Bytes(2), direction, Implementation::kFused};
    const MemoryBound transpose{MemoryBoundKind::kTranspose, r, c, size_of(dtype), direction,
                                Implementation::kFused};
    list.push_back({OpId::kQuantize, cast, block_});
    list.push_back({OpId::kQuantizeTranspose, transpose, block_});
  };
  add(Direction::kForward, rows, inputs);
  add(Direction::kForward, outputs, inputs);
  add(Direction::kBackward, rows, outputs);
}

void BlockBuilder::grouped(OpId id, std::int64_t groups, std::int64_t rows, std::int64_t outputs,
                           std::int64_t inputs) {
  const Dtype dtype = context_.training.dtype;
  const bool sequential = context_.software.grouped_gemm == GroupedGemmMode::kLegacy;
  quantize(rows, outputs, inputs, dtype);
  forward(id, GroupedGemm{groups, rows, outputs, inputs, dtype, GemmPass::kForward, sequential});
  backward(id, GroupedGemm{groups, rows, inputs, outputs, dtype, GemmPass::kDgrad, sequential});
  backward(id, GroupedGemm{groups,
                           rows,
                           outputs,
                           inputs,
                           dtype,
                           GemmPass::kWgrad,
                           sequential,
                           {},
                           sums_gradients(),
                           gradient_element()});
}

void BlockBuilder::attention(OpId id, Attention op) {
  op.direction = Direction::kForward;
  forward(id, op);
  op.direction = Direction::kBackward;
  backward(id, op);
}

void BlockBuilder::memory_bound(OpId id, MemoryBoundKind kind, std::int64_t rows, std::int64_t cols,
                                Implementation implementation, Bytes element) {
  forward(id, MemoryBound{kind, rows, cols, element, Direction::kForward, implementation});
  backward(id, MemoryBound{kind, rows, cols, element, Direction::kBackward, implementation});
}

void BlockBuilder::forward_memory_bound(OpId id, MemoryBoundKind kind, std::int64_t rows,
                                        std::int64_t cols, Implementation implementation,
                                        Bytes element) {
  forward(id, MemoryBound{kind, rows, cols, element, Direction::kForward, implementation});
}

void BlockBuilder::cast(OpId id, std::int64_t rows, std::int64_t cols) {
  const auto kernel = [&](MemoryBoundKind kind) {
    return MemoryBound{kind, rows, cols, Bytes(2), Direction::kForward, Implementation::kEager};
  };
  forward(id, kernel(MemoryBoundKind::kCast));
  backward(id, kernel(MemoryBoundKind::kCastUp));
}

void BlockBuilder::activation(OpId id, std::int64_t rows, std::int64_t width) {
  const std::size_t start = mark();
  const bool gated = context_.model.mlp.gated;
  memory_bound(id, gated ? MemoryBoundKind::kGatedActivation : MemoryBoundKind::kActivation, rows,
               width, context_.software.activation);
  const RecomputeSpec& recompute = context_.training.recompute;
  const bool experts = block_ == Block::kRoutedExperts;
  if (recompute.recomputes(RecomputeModule::kMlpActivation) ||
      (experts && recompute.recomputes(RecomputeModule::kMoeActivation))) {
    recompute_since(start);
  }
}

void BlockBuilder::norm(OpId id, std::int64_t rows) {
  const MemoryBoundKind kind = context_.model.norm == NormKind::kLayerNorm
                                   ? MemoryBoundKind::kLayerNorm
                                   : MemoryBoundKind::kNorm;
  memory_bound(id, kind, rows, context_.model.hidden, context_.software.norm);
}

void BlockBuilder::gradient_sum(OpId id, std::int64_t rows, std::int64_t terms,
                                Implementation implementation) {
  const MemoryBound sum{MemoryBoundKind::kResidual, rows,          context_.model.hidden, Bytes(2),
                        Direction::kBackward,       implementation};
  for (std::int64_t i = 1; i < terms; ++i) {
    backward(id, sum);
  }
}

void BlockBuilder::forward_collective(OpId id, const Collective& collective) {
  if (collective.group.size > 1) {
    forward(id, collective);
  }
}

void BlockBuilder::backward_collective(OpId id, const Collective& collective) {
  if (collective.group.size > 1) {
    backward(id, collective);
  }
}

void BlockBuilder::forward_exchange(OpId id, const ExpertExchange& exchange) {
  if (exchange.group.size > 1) {
    forward(id, exchange);
  }
}

void BlockBuilder::backward_exchange(OpId id, const ExpertExchange& exchange) {
  if (exchange.group.size > 1) {
    backward(id, exchange);
  }
}

void BlockBuilder::enter_tensor_parallel(OpId id) {
  const Bytes bytes = static_cast<double>(context_.tokens() * context_.model.hidden) * Bytes(2);
  const auto collective = [&](CollectiveOp op) {
    return Collective{op, bytes, context_.plan.tp_group(), Axis::kTensor};
  };
  if (context_.plan.sequence_parallel) {
    forward_collective(id, collective(CollectiveOp::kAllGather));
    relayout(Direction::kForward);
    // Backward is reversed when it is finished: the copy runs before the reduction.
    backward_collective(id, collective(CollectiveOp::kReduceScatter));
    relayout(Direction::kBackward);
    if (!context_.software.keeps_gathered_norm_output) {
      backward_collective(id, collective(CollectiveOp::kAllGather));
    }
  } else {
    backward_collective(id, collective(CollectiveOp::kAllReduce));
  }
}

void BlockBuilder::leave_tensor_parallel(OpId id) {
  const Bytes bytes = static_cast<double>(context_.tokens() * context_.model.hidden) * Bytes(2);
  const auto collective = [&](CollectiveOp op) {
    return Collective{op, bytes, context_.plan.tp_group(), Axis::kTensor};
  };
  if (context_.plan.sequence_parallel) {
    relayout(Direction::kForward);
    forward_collective(id, collective(CollectiveOp::kReduceScatter));
    relayout(Direction::kBackward);
    backward_collective(id, collective(CollectiveOp::kAllGather));
  } else {
    forward_collective(id, collective(CollectiveOp::kAllReduce));
  }
}

// Collectives gather and scatter the outermost dimension; where that is the batch, the sequence's
// parts of each of its entries are copied into place.
void BlockBuilder::relayout(Direction direction) {
  if (context_.software.tp_relayout && context_.plan.tp > 1 &&
      context_.training.micro_batch_size > 1) {
    OpList& ops = direction == Direction::kForward ? ops_.forward : ops_.backward;
    ops.push_back(
        {OpId::kTpRelayout,
         MemoryBound{MemoryBoundKind::kStridedCopy, context_.tokens(), context_.model.hidden,
                     Bytes(2), direction, Implementation::kCompiled},
         block_});
  }
}

void BlockBuilder::recompute_since(std::size_t mark) {
  again_.resize(ops_.forward.size(), false);
  std::fill(again_.begin() + static_cast<std::ptrdiff_t>(mark), again_.end(), true);
}

BlockOps BlockBuilder::finish() {
  std::reverse(ops_.backward.begin(), ops_.backward.end());
  for (std::size_t i = 0; i < again_.size(); ++i) {
    if (again_[i]) {
      ops_.recompute.push_back(ops_.forward[i]);
    }
  }
  return std::move(ops_);
}

}  // namespace stepcast
