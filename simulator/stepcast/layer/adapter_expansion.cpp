// SPDX-License-Identifier: Apache-2.0
// LoRA's operators beside a projection: dropout, A, B, the scale and the sum, as NeMo's and
// Megatron Bridge's ParallelLinearAdapter run them, with their collectives under tensor
// parallelism.
#include <algorithm>

#include "stepcast/layer/block_builder.hpp"

namespace stepcast {

void BlockBuilder::thin_product(OpId id, std::int64_t outputs, std::int64_t inputs,
                                const Gradients& gradients) {
  const std::int64_t rows = context_.tokens();
  forward(id, Gemm{rows, outputs, inputs, 1, Dtype::kBf16, GemmPass::kForward});
  if (gradients.input) {
    backward(id, Gemm{rows, inputs, outputs, 1, Dtype::kBf16, GemmPass::kDgrad});
  }
  backward(id, Gemm{outputs, inputs, rows, 1, Dtype::kBf16, GemmPass::kWgrad, sums_gradients(),
                    gradient_element()});
}

// What A reads stays for its weight gradient, in 16 bits: behind dropout a tensor of its own for
// each adapter, else one for all that read the same, unless attention keeps it anyway.
void BlockBuilder::read_adapter_input(const Adapter& adapter) {
  const std::int64_t rows = context_.tokens();
  const Implementation implementation = context_.software.adapter;
  const bool fp32 = context_.software.adapter_fp32;
  const auto both_ways = [&](MemoryBoundKind kind, MemoryBoundKind gradient, Bytes element) {
    MemoryBound op{kind, rows, adapter.inputs, element, Direction::kForward, implementation};
    forward(OpId::kAdapterDropout, op);
    if (product_input_) {
      op.kind = gradient;
      op.direction = kind == gradient ? Direction::kBackward : Direction::kForward;
      backward(OpId::kAdapterDropout, op);
    }
  };
  using enum MemoryBoundKind;
  if (fp32) {
    both_ways(kCastUp, kCast, kSixteenBits);
  }
  if (context_.training.weights.lora->dropout) {
    both_ways(kDropout, kDropout, fp32 ? Bytes(4) : kSixteenBits);
  }
  if (fp32) {
    both_ways(kCast, kCastUp, kSixteenBits);
  }
  if (context_.training.weights.lora->dropout) {
    save(TensorId::kAdapterInput, OpId::kAdapterDropout, rows, adapter.inputs, kSixteenBits);
    if (implementation != Implementation::kCompiled) {
      save(TensorId::kAdapterDropoutMask, OpId::kAdapterDropout, rows, adapter.inputs, Bytes(1));
    }
  } else if (adapter.reads != OpId::kAttentionCore && !keeps_adapter_input_) {
    save(TensorId::kAdapterInput, adapter.reads, rows, adapter.inputs, kSixteenBits);
    keeps_adapter_input_ = shared_input_.has_value();
  }
}

// Between A and B: the parts of the rank are gathered, or the sums over parts of the input made
// whole; in backward the gradients of B's parts are summed.
void BlockBuilder::around_rank(std::int64_t rank, Beside beside) {
  const Bytes bytes = static_cast<double>(context_.tokens() * rank) * kSixteenBits;
  const CollectiveOp forwards =
      beside == Beside::kColumnParallel ? CollectiveOp::kAllGather : CollectiveOp::kAllReduce;
  forward_collective(OpId::kAdapterTp, {forwards, bytes, context_.plan.tp_group(), Axis::kTensor});
  backward_collective(OpId::kAdapterTp,
                      {CollectiveOp::kAllReduce, bytes, context_.plan.tp_group(), Axis::kTensor});
}

// The scaled result joins that of the matrix; beside a row-parallel one on the ranks that hold it.
void BlockBuilder::add_to_result(const Adapter& adapter) {
  const Implementation implementation = context_.software.adapter;
  const bool leaves = adapter.beside == Beside::kRowParallel;
  const std::int64_t rows = leaves ? context_.sequence_tokens() : context_.tokens();
  if (leaves) {
    const bool apart = context_.plan.sequence_parallel;
    const Bytes whole = static_cast<double>(context_.tokens() * adapter.outputs) * kSixteenBits;
    const Collective moved{apart ? CollectiveOp::kAllToAll : CollectiveOp::kAllGather,
                           apart ? whole / static_cast<double>(context_.plan.tp) : whole,
                           context_.plan.tp_group(), Axis::kTensor};
    forward_collective(OpId::kAdapterTp, moved);
    if (apart) {
      backward_collective(OpId::kAdapterTp, moved);
    }
  }
  memory_bound(OpId::kAdapterScale, MemoryBoundKind::kCopy, rows, adapter.outputs, implementation,
               kSixteenBits);
  forward_memory_bound(OpId::kAdapterSum, MemoryBoundKind::kResidual, rows, adapter.outputs,
                       implementation, kSixteenBits);
}

void BlockBuilder::adapter(const Adapter& adapter) {
  needs_gradient_ = true;
  const std::int64_t tp = context_.plan.tp;
  const std::int64_t rank = context_.training.weights.lora->rank;
  const bool column = adapter.beside == Beside::kColumnParallel;
  const std::int64_t parts = column ? std::min(tp, rank) : 1;
  read_adapter_input(adapter);
  thin_product(OpId::kAdapterA, rank / parts, adapter.inputs, {product_input_, true});
  save_result(TensorId::kAdapterHidden, context_.tokens(), rank, kSixteenBits);
  around_rank(rank, adapter.beside);
  thin_product(OpId::kAdapterB, column ? adapter.outputs : adapter.outputs / tp, rank, {});
  add_to_result(adapter);
}

std::int64_t BlockBuilder::adapters(std::initializer_list<LoraTarget> targets) const {
  const TrainedWeights& weights = context_.training.weights;
  return std::ranges::count_if(targets, [&](LoraTarget target) { return weights.adapts(target); });
}

void BlockBuilder::adapt_column(LoraTarget target, std::int64_t outputs, OpId reads) {
  if (context_.training.weights.adapts(target)) {
    adapter({Beside::kColumnParallel, context_.model.hidden, outputs, reads});
  }
}

void BlockBuilder::adapt_row(LoraTarget target, std::int64_t inputs, OpId reads) {
  if (context_.training.weights.adapts(target)) {
    adapter({Beside::kRowParallel, inputs, context_.model.hidden, reads});
  }
}

}  // namespace stepcast
