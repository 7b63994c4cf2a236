// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/mixer_expansion.hpp"

#include <algorithm>

#include "stepcast/base/dtype.hpp"

namespace stepcast {

void expand_mixer(const ExpansionContext& context, LayerKind kind, BlockBuilder& build) {
  switch (kind.mixer) {
    case Mixer::kAttention:
      if (context.model.attention.kind == AttentionKind::kSharedKv) {
        return expand_shared_kv(context, kind, build);
      }
      return chooses_keys(context.model, kind) ? expand_chosen_latents(context, kind, build)
                                               : expand_attention(context, kind, build);
    case Mixer::kConvolution:
      return expand_convolution(context, build);
    case Mixer::kLinearAttention:
      return expand_linear_attention(context, build);
    case Mixer::kNone:
      return;
  }
}

OpId mixer_output(Mixer mixer) {
  switch (mixer) {
    case Mixer::kAttention:
    case Mixer::kNone:
      return OpId::kAttentionO;
    case Mixer::kConvolution:
      return OpId::kConvolutionOut;
    case Mixer::kLinearAttention:
      return OpId::kLinearOut;
  }
  return OpId::kAttentionO;
}

std::int64_t local_heads(std::int64_t total, std::int64_t tp) {
  return std::max<std::int64_t>(1, total / tp);
}

void gather_rows(const ExpansionContext& context, OpId id, std::int64_t cols, BlockBuilder& build) {
  const auto values = static_cast<double>(context.plan.cp * context.tokens() * cols);
  const auto collective = [&](CollectiveOp op) {
    return Collective{op, values * kSixteenBits, context.plan.cp_group(), Axis::kContext};
  };
  build.forward_collective(id, collective(CollectiveOp::kAllGather));
  build.backward_collective(id, collective(CollectiveOp::kReduceScatter));
}

void pass_halo(const ExpansionContext& context, OpId id, std::int64_t rows, std::int64_t cols,
               BlockBuilder& build) {
  constexpr std::int64_t kParts = 2;
  const std::int64_t values = kParts * context.training.micro_batch_size * rows * cols;
  const Collective halo{CollectiveOp::kSendRecv, static_cast<double>(values) * kSixteenBits,
                        context.plan.cp_group(), Axis::kContext};
  build.forward_collective(id, halo);
  build.backward_collective(id, halo);
}

// A gated short convolution (mixer_spec.hpp): two products and, between them, three kernels that
// memory bounds, as transformers runs LFM2 (modeling_lfm2.py, cuda_kernels_forward). Tensor
// parallelism divides the channels, which do not meet between the products.
void expand_convolution(const ExpansionContext& context, BlockBuilder& build) {
  const ConvolutionSpec& convolution = *context.model.mixers.convolution;
  const std::int64_t rows = context.tokens();
  const std::int64_t hidden = context.model.hidden;
  const std::int64_t channels = hidden / context.plan.tp;
  const Implementation elementwise = context.software.norm;
  build.begin(Block::kAttention);
  build.enter_tensor_parallel(OpId::kAttentionTpIn);
  build.projection(OpId::kConvolutionIn, rows, 3 * channels, hidden);
  build.save_result(TensorId::kConvolutionInput, rows, 3 * channels, kSixteenBits);
  build.memory_bound(OpId::kConvolutionGate, MemoryBoundKind::kGate, rows, channels, elementwise);
  build.save_result(TensorId::kConvolutionGated, rows, channels, kSixteenBits);
  pass_halo(context, OpId::kConvolutionHalo, convolution.width - 1, channels, build);
  build.filter(OpId::kConvolutionFilter, MemoryBoundKind::kShortConvolution, rows, channels,
               convolution.width);
  build.save_result(TensorId::kConvolutionFiltered, rows, channels, kSixteenBits);
  build.memory_bound(OpId::kConvolutionGateOut, MemoryBoundKind::kGate, rows, channels,
                     elementwise);
  if (build.trains() && build.keeps_operand()) {
    build.save_result(TensorId::kConvolutionOutput, rows, channels, build.operand());
  }
  build.projection(OpId::kConvolutionOut, rows, hidden, channels);
  build.leave_tensor_parallel(OpId::kAttentionTpOut);
}

}  // namespace stepcast
