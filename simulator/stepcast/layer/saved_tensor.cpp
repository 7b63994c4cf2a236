// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/saved_tensor.hpp"

#include <array>

namespace stepcast {
namespace {

struct NamedTensor {
  TensorId id;
  std::string_view name;
};

constexpr std::array<NamedTensor, kTensorIds> kTensors = {{
    {TensorId::kLayerInput, "layer_input"},
    {TensorId::kAttentionNormOutput, "attention.norm_output"},
    {TensorId::kAttentionLatents, "attention.latents"},
    {TensorId::kAttentionQ, "attention.q"},
    {TensorId::kAttentionK, "attention.k"},
    {TensorId::kAttentionV, "attention.v"},
    {TensorId::kAttentionRepeatedKv, "attention.repeated_kv"},
    {TensorId::kAttentionProjectedQkv, "attention.projected_qkv"},
    {TensorId::kAttentionQkNormInput, "attention.qk_norm_input"},
    {TensorId::kAttentionLogSumExp, "attention.log_sum_exp"},
    {TensorId::kAttentionProbabilities, "attention.probabilities"},
    {TensorId::kAttentionScoreMask, "attention.score_mask"},
    {TensorId::kAttentionDroppedProbabilities, "attention.dropped_probabilities"},
    {TensorId::kAttentionOutput, "attention.output"},
    {TensorId::kAttentionGathered, "attention.gathered"},
    {TensorId::kAttentionMerged, "attention.merged"},
    {TensorId::kAttentionDropoutMask, "attention.dropout_mask"},
    {TensorId::kAttentionGate, "attention.gate"},
    {TensorId::kAttentionGated, "attention.gated"},
    {TensorId::kConvolutionInput, "convolution.input"},
    {TensorId::kConvolutionGated, "convolution.gated"},
    {TensorId::kConvolutionFiltered, "convolution.filtered"},
    {TensorId::kConvolutionOutput, "convolution.output"},
    {TensorId::kLinearProjected, "linear_attention.projected"},
    {TensorId::kLinearFiltered, "linear_attention.filtered"},
    {TensorId::kLinearDecays, "linear_attention.decays"},
    {TensorId::kLinearGate, "linear_attention.gate"},
    {TensorId::kLinearDecayLogits, "linear_attention.decay_logits"},
    {TensorId::kLinearNormed, "linear_attention.normed"},
    {TensorId::kLinearTriangles, "linear_attention.triangles"},
    {TensorId::kLinearCore, "linear_attention.core"},
    {TensorId::kLinearOutput, "linear_attention.output"},
    {TensorId::kIndexInputs, "index.inputs"},
    {TensorId::kIndexChoice, "index.choice"},
    {TensorId::kCompressionInput, "compression.input"},
    {TensorId::kCompressedKeys, "compression.keys"},
    {TensorId::kAttentionLowRankOutput, "attention.low_rank_output"},
    {TensorId::kAttentionAbsorbed, "attention.absorbed"},
    {TensorId::kStreamWeights, "streams.weights"},
    {TensorId::kStreamSum, "streams.sum"},
    {TensorId::kMlpStreams, "mlp.streams"},
    {TensorId::kMoeLatent, "moe.latent"},
    {TensorId::kMlpInput, "mlp.input"},
    {TensorId::kMlpNormOutput, "mlp.norm_output"},
    {TensorId::kMlpActivationInput, "mlp.activation_input"},
    {TensorId::kMlpGate, "mlp.gate"},
    {TensorId::kMlpUp, "mlp.up"},
    {TensorId::kMlpActivatedGate, "mlp.activated_gate"},
    {TensorId::kMlpActivationOutput, "mlp.activation_output"},
    {TensorId::kMlpOutput, "mlp.output"},
    {TensorId::kMlpDropoutMask, "mlp.dropout_mask"},
    {TensorId::kMoeRouterScores, "moe.router_scores"},
    {TensorId::kMoeCombinedRows, "moe.combined_rows"},
    {TensorId::kMoeRowIndices, "moe.row_indices"},
    {TensorId::kExpertsInput, "experts.input"},
    {TensorId::kExpertsWeightCasts, "experts.weight_casts"},
    {TensorId::kAdapterInput, "adapter.input"},
    {TensorId::kAdapterDropoutMask, "adapter.dropout_mask"},
    {TensorId::kAdapterHidden, "adapter.hidden"},
}};

constexpr bool tensors_in_order() {
  for (std::size_t i = 0; i < kTensors.size(); ++i) {
    if (static_cast<std::size_t>(kTensors.at(i).id) != i || kTensors.at(i).name.empty()) {
      return false;
    }
  }
  return true;
}
static_assert(tensors_in_order());

}  // namespace

std::string_view name(TensorId id) { return kTensors[static_cast<std::size_t>(id)].name; }

Bytes total(const std::vector<SavedTensor>& tensors) {
  Bytes sum;
  for (const SavedTensor& tensor : tensors) {
    sum += tensor.bytes;
  }
  return sum;
}

}  // namespace stepcast
