// SPDX-License-Identifier: Apache-2.0
// A gated short convolution (mixer_spec.hpp): two products and, between them, three kernels that
// memory bounds, as transformers runs LFM2 (modeling_lfm2.py, cuda_kernels_forward). Tensor
// parallelism divides the channels, which do not meet between the products.
#include "stepcast/base/dtype.hpp"
#include "stepcast/layer/mixer_expansion.hpp"

namespace stepcast {
namespace {

using Kind = MemoryBoundKind;

}  // namespace

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
  build.memory_bound(OpId::kConvolutionGate, Kind::kGate, rows, channels, elementwise);
  build.save_result(TensorId::kConvolutionGated, rows, channels, kSixteenBits);
  pass_halo(context, OpId::kConvolutionHalo, convolution.width - 1, channels, build);
  build.filter(OpId::kConvolutionFilter, Kind::kShortConvolution, rows, channels,
               convolution.width);
  build.save_result(TensorId::kConvolutionFiltered, rows, channels, kSixteenBits);
  build.memory_bound(OpId::kConvolutionGateOut, Kind::kGate, rows, channels, elementwise);
  if (build.trains() && build.keeps_operand()) {
    build.save_result(TensorId::kConvolutionOutput, rows, channels, build.operand());
  }
  build.projection(OpId::kConvolutionOut, rows, hidden, channels);
  build.leave_tensor_parallel(OpId::kAttentionTpOut);
}

}  // namespace stepcast
