// SPDX-License-Identifier: Apache-2.0
// What an operator is, and which part of the model it belongs to.
//
// Whatever depends on an operator compares these two. What an operator is called serves printing
// alone: two blocks may run operators of one name (a shared expert is a feed-forward block of its
// own), and no rule hangs on a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepcast {

enum class OpId : std::uint8_t {
  kStandalone,  // of no model: measured or asked for by itself
  kAttentionNorm,
  kAttentionTpIn,
  kAttentionGradientSum,
  kAttentionQkv,
  kAttentionQ,
  kAttentionK,
  kAttentionV,
  kAttentionGate,
  kAttentionQDown,
  kAttentionQLoraNorm,
  kAttentionQUp,
  kAttentionKvDown,
  kAttentionKRope,
  kAttentionKvLoraNorm,
  kAttentionKvUp,
  kAttentionRope,
  kAttentionKConcat,
  kAttentionQNorm,
  kAttentionKNorm,
  kAttentionCopy,
  kAttentionCp,
  kAttentionCore,
  kAttentionO,
  kAttentionTpOut,
  kAttentionResidual,
  kMlpNorm,
  kMlpTpIn,
  kMlpGradientSum,
  kMlpGateUp,
  kMlpGate,
  kMlpUp,
  kMlpActivation,
  kMlpDown,
  kMlpTpOut,
  kMlpResidual,
  kSharedExpertTpIn,
  kSharedExpertTpOut,
  kMoeGradientSum,
  kMoeRouter,
  kMoeTopk,
  kMoePermute,
  kMoeSymmetricCopy,
  kMoeGatherChoices,
  kMoeIndex,
  kMoeRedispatch,
  kMoeDispatchQuantize,
  kMoeDispatch,
  kMoeDispatchMap,
  kMoeSort,
  kMoeUnsort,
  kMoeLocalSum,
  kMoeGatherScores,
  kMoeScatterScores,
  kMoeCombine,
  kMoeUnpermute,
  kMoeWeightedSum,
  kExpertsCast,
  kExpertsGradientSum,
  kExpertsGateUp,
  kExpertsGate,
  kExpertsUp,
  kExpertsActivation,
  kExpertsDown,
  kQuantize,
  kQuantizeTranspose,
  kTpRelayout,
  kEmbedding,
  kEmbeddingTpOut,
  kEmbeddingDropout,
  kHeadNorm,
  kHeadTpIn,
  kHeadOutput,
  kHeadCrossEntropy,
  kHeadLossTp,
  kMtpEmbedding,
  kMtpHiddenNorm,
  kMtpEmbeddingNorm,
  kMtpProjection,
  kPipelineSend,
  kFsdpCopyIn,
  kFsdpGather,
  kFsdpCopyOut,
  kFsdpConcatenate,
  kFsdpReduce,
  kDpGather,
  kDpReduce,
  kDpReplicas,
  kDpMirror,
  kDpBroadcast,
  kGradientAccumulate,
  kGradientMean,
  kGradientCheck,
  kGradientNorm,
  kGradientClip,
  kGradientZero,
  kParameterCast,
  kOptimizer,
};
inline constexpr std::size_t kOpIds = static_cast<std::size_t>(OpId::kOptimizer) + 1;

std::string_view name(OpId id);

// The part of a model, or of a step, that an operator belongs to.
enum class Block : std::uint8_t {
  kNone,            // operators of no model
  kResidualStream,  // norms, dropout and sums between the blocks of a layer
  kAttention,
  kDense,  // the feed-forward of a layer without experts
  kRouter,
  kRoutedExperts,  // with all that moves tokens to them and back
  kSharedExpert,
  kEmbedding,
  kHead,          // final norm, output matrix and loss
  kMtp,           // what a multi-token prediction module runs beside its layer and its loss
  kPipeline,      // what stages send each other
  kDataParallel,  // parameters and gradients moved between replicas and shards
  kOptimizer,
};

}  // namespace stepcast
