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
#include "stepcast/graph/op_id.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

enum class TensorId : std::uint8_t {
  kLayerInput,
  kAttentionNormOutput,
  kAttentionLatents,
  kAttentionQ,
  kAttentionK,
  kAttentionV,
  kAttentionRepeatedKv,  // what repeated heads of keys and values have beyond those
  kAttentionProjectedQkv,
  kAttentionQkNormInput,
  kAttentionLogSumExp,
  kAttentionProbabilities,
  kAttentionScoreMask,
  kAttentionDroppedProbabilities,
  kAttentionOutput,
  kAttentionGathered,  // keys and values of all context-parallel ranks
  kAttentionMerged,    // the transposed copy of what their parts make
  kAttentionDropoutMask,
  kAttentionGate,
  kAttentionGated,
  kConvolutionInput,
  kConvolutionGated,
  kConvolutionFiltered,
  kConvolutionOutput,
  kLinearProjected,
  kLinearFiltered,
  kLinearDecays,
  kLinearGate,
  kLinearDecayLogits,
  kLinearNormed,
  kLinearTriangles,
  kLinearCore,
  kLinearOutput,
  kIndexInputs,
  kIndexChoice,
  kCompressionInput,
  kCompressedKeys,
  kAttentionLowRankOutput,
  kAttentionAbsorbed,
  kStreamWeights,
  kStreamSum,
  kMlpStreams,
  kMoeLatent,
  kMlpInput,
  kMlpNormOutput,
  kMlpActivationInput,
  kMlpGate,
  kMlpUp,
  kMlpActivatedGate,
  kMlpActivationOutput,
  kMlpOutput,
  kMlpDropoutMask,
  kMoeRouterScores,
  kMoeCombinedRows,
  kMoeRowIndices,
  kExpertsInput,
  kExpertsWeightCasts,
  kAdapterInput,
  kAdapterDropoutMask,
  kAdapterHidden,
};
inline constexpr std::size_t kTensorIds = static_cast<std::size_t>(TensorId::kAdapterHidden) + 1;

std::string_view name(TensorId id);

struct SavedTensor {
  TensorId id = TensorId::kLayerInput;
  // The operator whose result it is. Empty for what no operator of the layer's forward makes of
  // activations: the layer's input, and copies of weights.
  std::optional<OpId> producer;
  Bytes bytes;
  ModuleSet modules{};  // selective recomputation of one of them brings it back
  bool read = true;     // by a backward; else only torchtitan's policy may keep it
};

Bytes total(const std::vector<SavedTensor>& tensors);

}  // namespace stepcast
