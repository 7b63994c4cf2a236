// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/block_builder.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

// Whether a product reads what the norm before attention gives.
bool reads_attention_norm(OpId id) {
  return id == OpId::kAttentionQkv || id == OpId::kAttentionQ || id == OpId::kAttentionK ||
         id == OpId::kAttentionV;
}

// Whether a product reads what a norm over the residual stream gives, which is in its format.
bool reads_stream(OpId id) {
  switch (id) {
    case OpId::kAttentionQkv:
    case OpId::kAttentionQ:
    case OpId::kAttentionK:
    case OpId::kAttentionV:
    case OpId::kAttentionGate:
    case OpId::kAttentionQDown:
    case OpId::kAttentionKvDown:
    case OpId::kAttentionKRope:
    case OpId::kMlpGateUp:
    case OpId::kMlpGate:
    case OpId::kMlpUp:
    case OpId::kMoeRouter:
    case OpId::kHeadOutput:
      return true;
    default:
      return false;
  }
}

// Whose matrices, or norms, operators of a block multiply with.
ParameterRole role_of(Block block, const ModelSpec& model) {
  switch (block) {
    case Block::kAttention:
      return ParameterRole::kAttention;
    case Block::kRouter:
      return ParameterRole::kRouter;
    case Block::kRoutedExperts:
      return ParameterRole::kExpert;
    case Block::kEmbedding:
      return ParameterRole::kEmbedding;
    case Block::kHead:
      return model.tied_embeddings ? ParameterRole::kEmbedding : ParameterRole::kHead;
    default:
      return ParameterRole::kMlp;
  }
}

}  // namespace

void BlockBuilder::forward(OpId id, OpWork work) {
  ops_.forward.push_back({id, std::move(work), block_});
  ops_.modules.push_back(modules_);
}

// Runs where what was added last makes what has a gradient.
void BlockBuilder::backward(OpId id, OpWork work) {
  if (needs_gradient_) {
    ops_.backward.push_back({id, std::move(work), block_});
  }
}

void BlockBuilder::add(Direction direction, OpId id, OpWork work) {
  direction == Direction::kForward ? forward(id, std::move(work)) : backward(id, std::move(work));
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
  const Gradients gradients = gradients_of_product();
  quantize(id, rows, outputs, inputs, dtype, gradients);
  if (context_.in_autocast() && dtype != Dtype::kFp32) {
    cast_operands(id, rows, outputs, inputs, gradients);
  }
  unpack(Direction::kForward, rows, outputs, inputs);
  Gemm product{rows, outputs, inputs, 1, dtype, GemmPass::kForward};
  product.accumulation = accumulation(GemmPass::kForward);
  forward(id, product);
  product = {rows, inputs, outputs, 1, dtype, GemmPass::kDgrad};
  product.accumulation = accumulation(GemmPass::kDgrad);
  if (gradients.input) {
    backward(id, product);
    unpack(Direction::kBackward, rows, outputs, inputs);
  }
  if (gradients.weight) {
    backward(id, Gemm{outputs, inputs, rows, 1, dtype, GemmPass::kWgrad, sums_gradients(),
                      gradient_element(), accumulation(GemmPass::kWgrad)});
  }
}

// Autocast gives a product its operands in 16 bits. A weight is cast once a forward and its
// gradient back; what is in fp32 is cast by each product that reads it, for itself. Both copies
// stay for backward.
void BlockBuilder::cast_operands(OpId id, std::int64_t rows, std::int64_t outputs,
                                 std::int64_t inputs, const Gradients& gradients) {
  const auto eager = [](MemoryBoundKind kind, std::int64_t r, std::int64_t c) {
    return MemoryBound{kind, r, c, kSixteenBits, Direction::kForward, Implementation::kEager};
  };
  forward(OpId::kAutocastWeight, eager(MemoryBoundKind::kCast, outputs, inputs));
  if (gradients.weight) {
    backward(OpId::kAutocastWeight, eager(MemoryBoundKind::kCastUp, outputs, inputs));
  }
  if (gradients.input) {
    save_given(TensorId::kWeightCasts, real(outputs) * real(inputs) * kSixteenBits);
  }
  if (!reads_stream(id)) {
    return;
  }
  forward(OpId::kAutocastInput, eager(MemoryBoundKind::kCast, rows, inputs));
  if (gradients.input) {
    backward(OpId::kAutocastInput, eager(MemoryBoundKind::kCastUp, rows, inputs));
  }
  if (gradients.weight) {
    save_result(TensorId::kProductInputs, rows, inputs, kSixteenBits);
  }
}

// Notes what the product that is about to be added reads and makes.
BlockBuilder::Gradients BlockBuilder::gradients_of_product() {
  const Gradients gradients{shared_input_.value_or(needs_gradient_),
                            trains() && !detached_untrained_};
  product_input_ = gradients.input;
  needs_gradient_ = needs_gradient_ || gradients.input || gradients.weight;
  return gradients;
}

bool BlockBuilder::trains() const {
  return context_.training.weights.trains(role_of(block_, context_.model));
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

void BlockBuilder::add_to_gradient(std::int64_t outputs, std::int64_t inputs) {
  if (trains() && !sums_gradients()) {
    backward(OpId::kGradientAccumulate,
             MemoryBound{MemoryBoundKind::kResidual, outputs, inputs, gradient_element(),
                         Direction::kForward, Implementation::kFused});
  }
}

void BlockBuilder::grouped(OpId id, std::int64_t groups, std::int64_t rows, std::int64_t outputs,
                           std::int64_t inputs, const ResultBytes& result) {
  // torch._grouped_mm is not among what autocast casts, and of fp32 it is a product an expert.
  const bool fp32 = context_.in_autocast();
  const Dtype dtype = fp32 ? Dtype::kFp32 : context_.training.dtype;
  const bool sequential = fp32 || context_.software.grouped_gemm == GroupedGemmMode::kLegacy;
  const Gradients gradients = gradients_of_product();
  quantize(id, rows, outputs, inputs, dtype, gradients);
  GroupedGemm product{groups, rows, outputs, inputs, dtype, GemmPass::kForward, sequential};
  product.result = result.forward;
  product.accumulation = accumulation(GemmPass::kForward);
  forward(id, product);
  product.n = inputs;
  product.k = outputs;
  product.pass = GemmPass::kDgrad;
  product.result = result.dgrad;
  product.accumulation = accumulation(GemmPass::kDgrad);
  if (gradients.input) {
    backward(id, product);
  }
  if (gradients.weight) {
    product.n = outputs;
    product.k = inputs;
    product.pass = GemmPass::kWgrad;
    product.accumulate = sums_gradients();
    product.result = gradient_element();
    product.accumulation = accumulation(GemmPass::kWgrad);
    backward(id, product);
  }
}

void BlockBuilder::batched_projection(OpId id, std::int64_t batch, std::int64_t rows,
                                      std::int64_t outputs, std::int64_t inputs) {
  const Gradients gradients = gradients_of_product();
  unpack(Direction::kForward, rows, batch * outputs, inputs);
  forward(id, Gemm{rows, outputs, inputs, batch, Dtype::kBf16, GemmPass::kForward});
  if (gradients.input) {
    backward(id, Gemm{rows, inputs, outputs, batch, Dtype::kBf16, GemmPass::kDgrad});
    unpack(Direction::kBackward, rows, batch * outputs, inputs);
  }
  if (gradients.weight) {
    backward(id, Gemm{outputs, inputs, rows, batch, Dtype::kBf16, GemmPass::kWgrad});
  }
}

void BlockBuilder::masked_product(OpId id, std::int64_t batch, std::int64_t rows,
                                  std::int64_t inputs, MaskGradient mask) {
  const std::int64_t hidden = routed_width(context_.model);
  forward(id, Gemm{rows, hidden, inputs, batch, Dtype::kBf16, GemmPass::kForward});
  if (mask == MaskGradient::kNeeded) {
    backward(id, Gemm{rows, inputs, hidden, batch, Dtype::kBf16, GemmPass::kForward});
  }
  backward(id, Gemm{inputs, hidden, rows, batch, Dtype::kBf16, GemmPass::kDgrad});
}

void BlockBuilder::memory_bound(OpId id, MemoryBoundKind kind, std::int64_t rows, std::int64_t cols,
                                Implementation implementation, Bytes element) {
  forward(id, MemoryBound{kind, rows, cols, element, Direction::kForward, implementation});
  backward(id, MemoryBound{kind, rows, cols, element, Direction::kBackward, implementation});
}

void BlockBuilder::filter(OpId id, MemoryBoundKind kind, std::int64_t rows, std::int64_t cols,
                          std::int64_t taps) {
  MemoryBound op{kind, rows, cols, kSixteenBits, Direction::kForward, Implementation::kFused};
  op.taps = taps;
  forward(id, op);
  op.direction = Direction::kBackward;
  backward(id, op);
}

void BlockBuilder::forward_memory_bound(OpId id, MemoryBoundKind kind, std::int64_t rows,
                                        std::int64_t cols, Implementation implementation,
                                        Bytes element) {
  forward(id, MemoryBound{kind, rows, cols, element, Direction::kForward, implementation});
}

void BlockBuilder::backward_memory_bound(OpId id, MemoryBoundKind kind, std::int64_t rows,
                                         std::int64_t cols, Implementation implementation,
                                         Bytes element) {
  backward(id, MemoryBound{kind, rows, cols, element, Direction::kForward, implementation});
}

void BlockBuilder::cast(OpId id, std::int64_t rows, std::int64_t cols) {
  const auto kernel = [&](MemoryBoundKind kind) {
    return MemoryBound{kind, rows, cols, Bytes(2), Direction::kForward, Implementation::kEager};
  };
  forward(id, kernel(MemoryBoundKind::kCast));
  backward(id, kernel(MemoryBoundKind::kCastUp));
}

void BlockBuilder::cast_up(OpId id, std::int64_t rows, std::int64_t cols,
                           Implementation implementation) {
  const auto kernel = [&](MemoryBoundKind kind) {
    return MemoryBound{kind, rows, cols, kSixteenBits, Direction::kForward, implementation};
  };
  forward(id, kernel(MemoryBoundKind::kCastUp));
  backward(id, kernel(MemoryBoundKind::kCast));
}

void BlockBuilder::activation(OpId id, std::int64_t rows, std::int64_t width,
                              std::int64_t kept_rows, Implementation implementation) {
  const bool of_experts = block_ == Block::kRoutedExperts;
  ModuleSet modules = {RecomputeModule::kMlpActivation};
  if (of_experts) {
    modules = modules.with({RecomputeModule::kMoeActivation});
  }
  const ModuleScope scope(*this, modules);
  const SoftwareSpec& software = context_.software;
  const bool gated = context_.model.mlp.gated;
  const bool apart = block_ == Block::kSharedExpert && !software.compiles_shared_expert;
  const Implementation made = apart ? Implementation::kEager : implementation;
  if (of_experts && context_.model.moe->clamped_activation &&
      software.activation_clamp != Implementation::kFused) {
    memory_bound(OpId::kExpertsClamp, MemoryBoundKind::kClamp, rows, (gated ? 2 : 1) * width,
                 software.activation_clamp);
  }
  if (!of_experts || !software.activation_in_product) {
    const MemoryBoundKind of_gate = context_.model.mlp.soft_clamped
                                        ? MemoryBoundKind::kSoftClampedActivation
                                        : MemoryBoundKind::kGatedActivation;
    memory_bound(id, gated ? of_gate : MemoryBoundKind::kActivation, rows, width, made,
                 of_experts ? context_.stream_element() : kSixteenBits);
  }
  if (kept_rows == 0) {
    return;
  }
  // Eager kernels keep the activated gate apart from its product with the other input.
  if (gated && made == Implementation::kEager) {
    save_result(TensorId::kMlpActivatedGate, kept_rows, width,
                of_experts ? context_.stream_element() : kSixteenBits);
  }
  if (software.keeps_activation_product && trains() && keeps_operand()) {
    const bool fp32 = of_experts && context_.in_autocast();
    save_result(TensorId::kMlpActivationOutput, kept_rows, width,
                fp32 ? context_.stream_element() : operand());
  }
}

void BlockBuilder::norm(OpId id, std::int64_t rows) {
  const MemoryBoundKind kind = context_.model.norm == NormKind::kLayerNorm
                                   ? MemoryBoundKind::kLayerNorm
                                   : MemoryBoundKind::kNorm;
  needs_gradient_ = needs_gradient_ || context_.training.weights.trains(ParameterRole::kNorm);
  const bool written = context_.in_autocast() && kind == MemoryBoundKind::kNorm &&
                       context_.software.norm == Implementation::kEager;
  memory_bound(id, written ? MemoryBoundKind::kWrittenNorm : kind, rows, context_.model.hidden,
               context_.software.norm, context_.stream_element());
}

void BlockBuilder::gradient_sum(OpId id, std::int64_t rows, std::int64_t terms,
                                Implementation implementation) {
  const MemoryBound sum{MemoryBoundKind::kResidual, rows,
                        context_.model.hidden,      context_.stream_element(),
                        Direction::kBackward,       implementation};
  for (std::int64_t i = 1; i < terms; ++i) {
    backward(id, sum);
  }
}

// Of the values of all tokens of the rank.
Collective BlockBuilder::over_tensor_ranks(CollectiveOp op) const {
  const Bytes bytes = static_cast<double>(context_.tokens() * context_.model.hidden) * Bytes(2);
  return {op, bytes, context_.plan.tp_group(), Axis::kTensor};
}

void BlockBuilder::enter_tensor_parallel(OpId id) {
  if (context_.plan.sequence_parallel) {
    forward_collective(id, over_tensor_ranks(CollectiveOp::kAllGather));
    relayout(Direction::kForward);
    // Backward is reversed when it is finished: the copy runs before the reduction.
    backward_collective(id, over_tensor_ranks(CollectiveOp::kReduceScatter));
    relayout(Direction::kBackward);
    if (!context_.software.keeps_gathered_norm_output && trains()) {
      backward_collective(id, over_tensor_ranks(CollectiveOp::kAllGather));
    }
  } else {
    backward_collective(id, over_tensor_ranks(CollectiveOp::kAllReduce));
  }
}

void BlockBuilder::leave_tensor_parallel(OpId id) {
  if (context_.plan.sequence_parallel) {
    relayout(Direction::kForward);
    forward_collective(id, over_tensor_ranks(CollectiveOp::kReduceScatter));
    relayout(Direction::kBackward);
    backward_collective(id, over_tensor_ranks(CollectiveOp::kAllGather));
  } else {
    forward_collective(id, over_tensor_ranks(CollectiveOp::kAllReduce));
  }
}

// Collectives gather and scatter the outermost dimension; where that is the batch, the sequence's
// parts of each of its entries are copied into place.
void BlockBuilder::relayout(Direction direction) {
  if (context_.software.tp_relayout && context_.plan.tp > 1 &&
      context_.training.micro_batch_size > 1) {
    add(direction, OpId::kTpRelayout,
        MemoryBound{MemoryBoundKind::kStridedCopy, context_.tokens(), context_.model.hidden,
                    Bytes(2), direction, Implementation::kCompiled});
  }
}

bool BlockBuilder::has_run(OpId id) const {
  return std::ranges::any_of(ops_.forward, [id](const Op& op) { return op.id == id; });
}

void BlockBuilder::save(TensorId id, OpId producer, std::int64_t rows, std::int64_t cols,
                        Bytes element) {
  if (!needs_gradient_) {
    return;
  }
  const Bytes bytes = static_cast<double>(rows) * static_cast<double>(cols) * element;
  ops_.saved.push_back({id, producer, bytes, modules_});
}

void BlockBuilder::save_made_of(TensorId id, OpId producer, Bytes produced, std::int64_t rows,
                                std::int64_t cols, Bytes element) {
  if (needs_gradient_) {
    save(id, producer, rows, cols, element);
    ops_.saved.back().as_produced = real(rows) * real(cols) * produced;
  }
}

void BlockBuilder::save_result(TensorId id, std::int64_t rows, std::int64_t cols, Bytes element) {
  STEPCAST_CHECK(!ops_.forward.empty(), "there is no operator whose result could be kept");
  save(id, ops_.forward.back().id, rows, cols, element);
}

void BlockBuilder::save_given(TensorId id, Bytes bytes) {
  if (needs_gradient_) {
    ops_.saved.push_back({id, std::nullopt, bytes, modules_});
  }
}

void BlockBuilder::save_unread(TensorId id, OpId producer, std::int64_t rows, std::int64_t cols,
                               Bytes element) {
  if (needs_gradient_) {
    save(id, producer, rows, cols, element);
    ops_.saved.back().read = false;
  }
}

BlockOps BlockBuilder::finish() {
  std::reverse(ops_.backward.begin(), ops_.backward.end());
  return std::move(ops_);
}

// Operands of products in 8 and 4 bits: what makes them, in which layouts, and what is kept of
// them.
//
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

// A frozen matrix of fewer than 16 bits is made 16 bits again before the product that reads it; of
// 8 bits forward quantises the rows in its place and converts the sums of the product, which is
// priced as one of 16 bits: that of bitsandbytes keeps columns with outliers apart in 16 bits.
void BlockBuilder::unpack(Direction direction, std::int64_t rows, std::int64_t outputs,
                          std::int64_t inputs) {
  const BaseWeights format =
      context_.training.weights.base_weights(role_of(block_, context_.model));
  const auto pass = [&](OpId id, MemoryBoundKind kind, std::int64_t r, std::int64_t c) {
    add(direction, id,
        MemoryBound{kind, r, c, kSixteenBits, Direction::kForward, Implementation::kFused});
  };
  switch (format) {
    case BaseWeights::kAsOthers:
      return;
    case BaseWeights::kInt8:
      if (direction == Direction::kForward) {
        pass(OpId::kQuantize, MemoryBoundKind::kQuantizeRow, rows, inputs);
        return pass(OpId::kBaseDequantize, MemoryBoundKind::kCast, rows, outputs);
      }
      return pass(OpId::kBaseDequantize, MemoryBoundKind::kDequantizeInt8, outputs, inputs);
    case BaseWeights::kNf4:
    case BaseWeights::kNf4Double:
      return pass(OpId::kBaseDequantize, MemoryBoundKind::kDequantizeNf4, outputs, inputs);
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
