// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/block_builder.hpp"

#include <algorithm>

namespace stepcast {

void BlockBuilder::projection(std::string_view name, std::int64_t rows, std::int64_t outputs,
                              std::int64_t inputs) {
  projection_in(name, rows, outputs, inputs, context_.training.dtype);
}

void BlockBuilder::projection_16bit(std::string_view name, std::int64_t rows, std::int64_t outputs,
                                    std::int64_t inputs) {
  const Dtype dtype =
      is_quantized(context_.training.dtype) ? Dtype::kBf16 : context_.training.dtype;
  projection_in(name, rows, outputs, inputs, dtype);
}

void BlockBuilder::projection_in(std::string_view name, std::int64_t rows, std::int64_t outputs,
                                 std::int64_t inputs, Dtype dtype) {
  quantize(rows, outputs, inputs, dtype);
  ops_.forward.push_back({name, Gemm{rows, outputs, inputs, 1, dtype, GemmPass::kForward}});
  ops_.backward.push_back({name, Gemm{rows, inputs, outputs, 1, dtype, GemmPass::kDgrad}});
  ops_.backward.push_back({name, Gemm{outputs, inputs, rows, 1, dtype, GemmPass::kWgrad,
                                      sums_gradients(), gradient_element()}});
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
  const auto add = [&](OpList& list, std::int64_t r, std::int64_t c, Direction direction) {
    const MemoryBound cast{kind, r, c, Bytes(2), direction, Implementation::kFused};
    const MemoryBound transpose{MemoryBoundKind::kTranspose, r, c, size_of(dtype), direction,
                                Implementation::kFused};
    list.push_back({"quantize", cast});
    list.push_back({"quantize.transpose", transpose});
  };
  add(ops_.forward, rows, inputs, Direction::kForward);
  add(ops_.forward, outputs, inputs, Direction::kForward);
  add(ops_.backward, rows, outputs, Direction::kBackward);
}

void BlockBuilder::grouped(std::string_view name, std::int64_t groups, std::int64_t rows,
                           std::int64_t outputs, std::int64_t inputs) {
  const Dtype dtype = context_.training.dtype;
  const bool sequential = context_.software.grouped_gemm == GroupedGemmMode::kLegacy;
  quantize(rows, outputs, inputs, dtype);
  ops_.forward.push_back(
      {name, GroupedGemm{groups, rows, outputs, inputs, dtype, GemmPass::kForward, sequential}});
  ops_.backward.push_back(
      {name, GroupedGemm{groups, rows, inputs, outputs, dtype, GemmPass::kDgrad, sequential}});
  ops_.backward.push_back({name, GroupedGemm{groups,
                                             rows,
                                             outputs,
                                             inputs,
                                             dtype,
                                             GemmPass::kWgrad,
                                             sequential,
                                             {},
                                             sums_gradients(),
                                             gradient_element()}});
}

void BlockBuilder::attention(std::string_view name, Attention op) {
  op.direction = Direction::kForward;
  ops_.forward.push_back({name, op});
  op.direction = Direction::kBackward;
  ops_.backward.push_back({name, op});
}

void BlockBuilder::memory_bound(std::string_view name, MemoryBoundKind kind, std::int64_t rows,
                                std::int64_t cols, Implementation implementation, Bytes element) {
  ops_.forward.push_back(
      {name, MemoryBound{kind, rows, cols, element, Direction::kForward, implementation}});
  ops_.backward.push_back(
      {name, MemoryBound{kind, rows, cols, element, Direction::kBackward, implementation}});
}

void BlockBuilder::forward_memory_bound(std::string_view name, MemoryBoundKind kind,
                                        std::int64_t rows, std::int64_t cols,
                                        Implementation implementation, Bytes element) {
  ops_.forward.push_back(
      {name, MemoryBound{kind, rows, cols, element, Direction::kForward, implementation}});
}

void BlockBuilder::cast(std::string_view name, std::int64_t rows, std::int64_t cols) {
  const auto kernel = [&](MemoryBoundKind kind) {
    return MemoryBound{kind, rows, cols, Bytes(2), Direction::kForward, Implementation::kEager};
  };
  ops_.forward.push_back({name, kernel(MemoryBoundKind::kCast)});
  ops_.backward.push_back({name, kernel(MemoryBoundKind::kCastUp)});
}

void BlockBuilder::activation(std::string_view name, std::int64_t rows, std::int64_t width) {
  const std::size_t start = mark();
  const bool gated = context_.model.mlp.gated;
  memory_bound(name, gated ? MemoryBoundKind::kGatedActivation : MemoryBoundKind::kActivation, rows,
               width, context_.software.activation);
  const RecomputeSpec& recompute = context_.training.recompute;
  const bool experts = name == "experts.activation";
  if (recompute.recomputes(RecomputeModule::kMlpActivation) ||
      (experts && recompute.recomputes(RecomputeModule::kMoeActivation))) {
    recompute_since(start);
  }
}

void BlockBuilder::norm(std::string_view name, std::int64_t rows) {
  const MemoryBoundKind kind = context_.model.norm == NormKind::kLayerNorm
                                   ? MemoryBoundKind::kLayerNorm
                                   : MemoryBoundKind::kNorm;
  memory_bound(name, kind, rows, context_.model.hidden, context_.software.norm);
}

void BlockBuilder::gradient_sum(std::string_view name, std::int64_t rows, std::int64_t terms,
                                Implementation implementation) {
  const MemoryBound sum{MemoryBoundKind::kResidual, rows,          context_.model.hidden, Bytes(2),
                        Direction::kBackward,       implementation};
  for (std::int64_t i = 1; i < terms; ++i) {
    ops_.backward.push_back({name, sum});
  }
}

void BlockBuilder::forward_collective(std::string_view name, const Collective& collective) {
  if (collective.group.size > 1) {
    ops_.forward.push_back({name, collective});
  }
}

void BlockBuilder::backward_collective(std::string_view name, const Collective& collective) {
  if (collective.group.size > 1) {
    ops_.backward.push_back({name, collective});
  }
}

void BlockBuilder::forward_exchange(std::string_view name, const ExpertExchange& exchange) {
  if (exchange.group.size > 1) {
    ops_.forward.push_back({name, exchange});
  }
}

void BlockBuilder::backward_exchange(std::string_view name, const ExpertExchange& exchange) {
  if (exchange.group.size > 1) {
    ops_.backward.push_back({name, exchange});
  }
}

void BlockBuilder::enter_tensor_parallel(std::string_view name) {
  const Bytes bytes = static_cast<double>(context_.tokens() * context_.model.hidden) * Bytes(2);
  const auto collective = [&](CollectiveOp op) {
    return Collective{op, bytes, context_.plan.tp_group(), Axis::kTensor};
  };
  if (context_.plan.sequence_parallel) {
    forward_collective(name, collective(CollectiveOp::kAllGather));
    relayout(ops_.forward, Direction::kForward);
    // Backward is reversed when it is finished: the copy runs before the reduction.
    backward_collective(name, collective(CollectiveOp::kReduceScatter));
    relayout(ops_.backward, Direction::kBackward);
    if (!context_.software.keeps_gathered_norm_output) {
      backward_collective(name, collective(CollectiveOp::kAllGather));
    }
  } else {
    backward_collective(name, collective(CollectiveOp::kAllReduce));
  }
}

void BlockBuilder::leave_tensor_parallel(std::string_view name) {
  const Bytes bytes = static_cast<double>(context_.tokens() * context_.model.hidden) * Bytes(2);
  const auto collective = [&](CollectiveOp op) {
    return Collective{op, bytes, context_.plan.tp_group(), Axis::kTensor};
  };
  if (context_.plan.sequence_parallel) {
    relayout(ops_.forward, Direction::kForward);
    forward_collective(name, collective(CollectiveOp::kReduceScatter));
    relayout(ops_.backward, Direction::kBackward);
    backward_collective(name, collective(CollectiveOp::kAllGather));
  } else {
    forward_collective(name, collective(CollectiveOp::kAllReduce));
  }
}

// Collectives gather and scatter the outermost dimension; where that is the batch, the sequence's
// parts of each of its entries are copied into place.
void BlockBuilder::relayout(OpList& ops, Direction direction) {
  if (context_.software.tp_relayout && context_.plan.tp > 1 &&
      context_.training.micro_batch_size > 1) {
    ops.push_back({"tp.relayout", MemoryBound{MemoryBoundKind::kStridedCopy, context_.tokens(),
                                              context_.model.hidden, Bytes(2), direction,
                                              Implementation::kCompiled}});
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
