// SPDX-License-Identifier: Apache-2.0
// A tensor that a layer's forward keeps for its backward.
//
// The expansion of a layer says what is kept where it adds the operator that makes it
// (block_builder.hpp); recomputation and memory are folds over that list.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/model/op_id.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

// Each tensor is one row here; the enumeration and the names are made of the rows.
// ROW(enumerator, name)
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage, bugprone-macro-parentheses)
#define STEPCAST_SAVED_TENSORS(ROW)                                                       \
  ROW(kLayerInput, "layer_input")                                                         \
  ROW(kNormCopies, "norm.copies")                                                         \
  ROW(kProductInputs, "products.input_casts")                                             \
  ROW(kWeightCasts, "weights.casts")                                                      \
  ROW(kAttentionNormOutput, "attention.norm_output")                                      \
  ROW(kAttentionLatents, "attention.latents")                                             \
  ROW(kAttentionQ, "attention.q")                                                         \
  ROW(kAttentionK, "attention.k")                                                         \
  ROW(kAttentionV, "attention.v")                                                         \
  ROW(kAttentionRepeatedKv, "attention.repeated_kv") /* what repeating heads adds */      \
  ROW(kAttentionMask, "attention.mask")              /* a tensor of pairs of positions */ \
  ROW(kAttentionProjectedQkv, "attention.projected_qkv")                                  \
  ROW(kAttentionQNormInput, "attention.q_norm_input")                                     \
  ROW(kAttentionKNormInput, "attention.k_norm_input")                                     \
  ROW(kAttentionLogSumExp, "attention.log_sum_exp")                                       \
  ROW(kAttentionProbabilities, "attention.probabilities")                                 \
  ROW(kAttentionScoreMask, "attention.score_mask")                                        \
  ROW(kAttentionDroppedProbabilities, "attention.dropped_probabilities")                  \
  ROW(kAttentionOutput, "attention.output")                                               \
  ROW(kAttentionGathered, "attention.gathered") /* of all context-parallel ranks */       \
  ROW(kAttentionMerged, "attention.merged")     /* transposed copy of their parts */      \
  ROW(kAttentionDropoutMask, "attention.dropout_mask")                                    \
  ROW(kAttentionGate, "attention.gate")                                                   \
  ROW(kAttentionGated, "attention.gated")                                                 \
  ROW(kConvolutionInput, "convolution.input")                                             \
  ROW(kConvolutionGated, "convolution.gated")                                             \
  ROW(kConvolutionFiltered, "convolution.filtered")                                       \
  ROW(kConvolutionOutput, "convolution.output")                                           \
  ROW(kLinearProjected, "linear_attention.projected")                                     \
  ROW(kLinearFiltered, "linear_attention.filtered")                                       \
  ROW(kLinearDecays, "linear_attention.decays")                                           \
  ROW(kLinearGate, "linear_attention.gate")                                               \
  ROW(kLinearDecayLogits, "linear_attention.decay_logits")                                \
  ROW(kLinearNormed, "linear_attention.normed")                                           \
  ROW(kLinearTriangles, "linear_attention.triangles")                                     \
  ROW(kLinearCore, "linear_attention.core")                                               \
  ROW(kLinearOutput, "linear_attention.output")                                           \
  ROW(kIndexInputs, "index.inputs")                                                       \
  ROW(kIndexChoice, "index.choice")                                                       \
  ROW(kCompressionInput, "compression.input")                                             \
  ROW(kCompressedKeys, "compression.keys")                                                \
  ROW(kAttentionLowRankOutput, "attention.low_rank_output")                               \
  ROW(kAttentionAbsorbed, "attention.absorbed")                                           \
  ROW(kStreamWeights, "streams.weights")                                                  \
  ROW(kStreamSum, "streams.sum")                                                          \
  ROW(kMoeLatent, "moe.latent")                                                           \
  ROW(kMlpInput, "mlp.input")                                                             \
  ROW(kMlpNormOutput, "mlp.norm_output")                                                  \
  ROW(kMlpActivationInput, "mlp.activation_input")                                        \
  ROW(kMlpGate, "mlp.gate")                                                               \
  ROW(kMlpUp, "mlp.up")                                                                   \
  ROW(kMlpActivatedGate, "mlp.activated_gate")                                            \
  ROW(kMlpActivationOutput, "mlp.activation_output")                                      \
  ROW(kMlpOutput, "mlp.output")                                                           \
  ROW(kMlpDropoutMask, "mlp.dropout_mask")                                                \
  ROW(kMoeRouterInput, "moe.router_input")                                                \
  ROW(kMoeRouterScores, "moe.router_scores")                                              \
  ROW(kMoeCombinedRows, "moe.combined_rows")                                              \
  ROW(kMoeRowIndices, "moe.row_indices")                                                  \
  ROW(kExpertsInput, "experts.input")                                                     \
  ROW(kExpertsWeightCasts, "experts.weight_casts")                                        \
  ROW(kAdapterInput, "adapter.input")                                                     \
  ROW(kAdapterDropoutMask, "adapter.dropout_mask")                                        \
  ROW(kAdapterHidden, "adapter.hidden")

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage, bugprone-macro-parentheses)
#define STEPCAST_ENUMERATOR(enumerator, name) enumerator,
enum class TensorId : std::uint8_t { STEPCAST_SAVED_TENSORS(STEPCAST_ENUMERATOR) };
#undef STEPCAST_ENUMERATOR

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_NAME(enumerator, name) std::string_view{name},
template <>
inline constexpr std::array kNamesOf<TensorId> = {STEPCAST_SAVED_TENSORS(STEPCAST_NAME)};
#undef STEPCAST_NAME

struct SavedTensor {
  TensorId id = TensorId::kLayerInput;
  // The operator whose result it is. Empty for what no operator of the layer's forward makes of
  // activations: the layer's input, and copies of weights.
  std::optional<OpId> producer;
  Bytes bytes;
  ModuleSet modules{};  // selective recomputation of one of them brings it back
  bool read = true;     // by a backward; else only torchtitan's policy may keep it
  // What of it a policy keeps that keeps the producer's own result, where what is read is made of
  // that by kernels which run again: rows that come back in 16 bits and are read in 32.
  std::optional<Bytes> as_produced = std::nullopt;
};

Bytes total(const std::vector<SavedTensor>& tensors);

}  // namespace stepcast
