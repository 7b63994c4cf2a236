// SPDX-License-Identifier: Apache-2.0
// Operands of products in 8 and 4 bits: what makes them, in which layouts, and what is kept of
// them.
#include "stepcast/layer/block_builder.hpp"

namespace stepcast {
namespace {

bool reads_attention_norm(OpId id) {
  return id == OpId::kAttentionQkv || id == OpId::kAttentionQ || id == OpId::kAttentionK ||
         id == OpId::kAttentionV;
}

}  // namespace

// Scaled products read x (forward), dy and the transposes of both (backward) in 8 or 4 bits; the
// weight's copy is made once a micro-batch, or where it is frozen perhaps once for good. The
// transposes are a second result of the same kernels; those of x and dy are for the weight
// gradient.
void BlockBuilder::quantize(OpId id, std::int64_t rows, std::int64_t outputs, std::int64_t inputs,
                            Dtype dtype, const Gradients& gradients) {
  if (!is_quantized(dtype)) {
    return;
  }
  const MemoryBoundKind kind = dtype == Dtype::kFp8Block ? MemoryBoundKind::kQuantizeBlock
                               : dtype == Dtype::kFp4    ? MemoryBoundKind::kQuantizeFp4
                                                         : MemoryBoundKind::kQuantize;
  const Implementation casts = context_.software.quantize;
  const auto quantised = [&](Direction direction, std::int64_t r, std::int64_t c) {
    add(direction, OpId::kQuantize, MemoryBound{kind, r, c, Bytes(2), direction, casts});
  };
  const auto transposed_by = [&](Implementation implementation, Direction direction, std::int64_t r,
                                 std::int64_t c) {
    add(direction, OpId::kQuantizeTranspose,
        MemoryBound{MemoryBoundKind::kTranspose, r, c, size_of(dtype), direction, implementation});
  };
  const auto transposed = [&](Direction direction, std::int64_t r, std::int64_t c) {
    transposed_by(casts, direction, r, c);
  };
  quantised(Direction::kForward, rows, inputs);
  if (gradients.weight) {
    transpose_input(id, rows, inputs, dtype);
  }
  const FrozenWeights frozen = context_.software.frozen_weights;
  if (gradients.weight || frozen == FrozenWeights::kParameters) {
    quantised(Direction::kForward, outputs, inputs);
    transposed(Direction::kForward, outputs, inputs);
  } else if (gradients.input && frozen == FrozenWeights::kProductsOneLayout) {
    transposed_by(Implementation::kCompiled, Direction::kBackward, outputs, inputs);
  }
  if (gradients.input || gradients.weight) {
    quantised(Direction::kBackward, rows, outputs);
  }
  if (gradients.weight) {
    transposed(Direction::kBackward, rows, outputs);
  }
}

void BlockBuilder::transpose_input(OpId id, std::int64_t rows, std::int64_t inputs, Dtype dtype) {
  const bool in_norm = context_.software.transposes_in_norm && reads_attention_norm(id);
  const Direction direction = in_norm ? Direction::kBackward : Direction::kForward;
  add(direction, OpId::kQuantizeTranspose,
      MemoryBound{in_norm ? MemoryBoundKind::kTransposeInNorm : MemoryBoundKind::kTranspose, rows,
                  inputs, size_of(dtype), direction, context_.software.quantize});
}

Accumulation BlockBuilder::accumulation(GemmPass pass) const {
  const FastAccumulation fast = context_.software.fast_accumulation;
  const bool forward = pass == GemmPass::kForward && fast == FastAccumulation::kForward;
  return forward || fast == FastAccumulation::kAll ? Accumulation::kFast : Accumulation::kPrecise;
}

Bytes BlockBuilder::operand() const {
  return is_quantized(context_.training.dtype) ? Bytes(1) : kSixteenBits;
}

bool BlockBuilder::keeps_operand() const {
  return !is_quantized(context_.training.dtype) || context_.software.keeps_quantized_inputs;
}

}  // namespace stepcast
