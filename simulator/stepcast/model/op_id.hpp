// SPDX-License-Identifier: Apache-2.0
// What an operator is, and which part of the model it belongs to.
//
// Whatever depends on an operator compares these two. What an operator is called serves printing
// alone: two blocks may run operators of one name (a shared expert is a feed-forward block of its
// own), and no rule hangs on a text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

// Each operator is one row here; the enumeration and the names are made of the rows.
// ROW(enumerator, name)
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage, bugprone-macro-parentheses)
#define STEPCAST_OPERATORS(ROW)                                                   \
  ROW(kStandalone, "operator") /* of no model: measured or asked for by itself */ \
  ROW(kAttentionNorm, "attention.norm")                                           \
  ROW(kBaseDequantize, "base.dequantize")                                         \
  ROW(kAutocastInput, "autocast.input")                                           \
  ROW(kAutocastWeight, "autocast.weight")                                         \
  ROW(kAutocastGradient, "autocast.gradient")                                     \
  ROW(kAttentionTpIn, "attention.tp_in")                                          \
  ROW(kAttentionGradientSum, "attention.gradient_sum")                            \
  ROW(kAttentionQkv, "attention.qkv")                                             \
  ROW(kAttentionQ, "attention.q")                                                 \
  ROW(kAttentionK, "attention.k")                                                 \
  ROW(kAttentionV, "attention.v")                                                 \
  ROW(kAttentionGate, "attention.gate")                                           \
  ROW(kAttentionQDown, "attention.q_down")                                        \
  ROW(kAttentionQLoraNorm, "attention.q_lora_norm")                               \
  ROW(kAttentionQUp, "attention.q_up")                                            \
  ROW(kAttentionKvDown, "attention.kv_down")                                      \
  ROW(kAttentionKRope, "attention.k_rope")                                        \
  ROW(kAttentionKvLoraNorm, "attention.kv_lora_norm")                             \
  ROW(kAttentionKvUp, "attention.kv_up")                                          \
  ROW(kAttentionKv, "attention.kv")                                               \
  ROW(kAttentionKvNorm, "attention.kv_norm")                                      \
  ROW(kAttentionQAbsorb, "attention.q_absorb")                                    \
  ROW(kAttentionRope, "attention.rope")                                           \
  ROW(kAttentionQConcat, "attention.q_concat")                                    \
  ROW(kAttentionKConcat, "attention.k_concat")                                    \
  ROW(kAttentionQNorm, "attention.q_norm")                                        \
  ROW(kAttentionKNorm, "attention.k_norm")                                        \
  ROW(kAttentionCopy, "attention.copy")                                           \
  ROW(kAttentionRepeat, "attention.repeat_kv")                                    \
  ROW(kAttentionMask, "attention.mask")                                           \
  ROW(kAttentionCp, "attention.cp")                                               \
  ROW(kAttentionCpCopy, "attention.cp_copy")                                      \
  ROW(kAttentionKvJoin, "attention.kv_join")                                      \
  ROW(kAttentionMerge, "attention.merge")                                         \
  ROW(kAttentionKvSum, "attention.kv_sum")                                        \
  ROW(kAttentionCore, "attention.core")                                           \
  ROW(kAttentionOAbsorb, "attention.o_absorb")                                    \
  ROW(kAttentionGating, "attention.gating")                                       \
  ROW(kAttentionODown, "attention.o_down")                                        \
  ROW(kAttentionO, "attention.o")                                                 \
  ROW(kIndexQ, "index.q")                                                         \
  ROW(kIndexK, "index.k")                                                         \
  ROW(kIndexWeights, "index.weights")                                             \
  ROW(kIndexNorm, "index.norm")                                                   \
  ROW(kIndexRope, "index.rope")                                                   \
  ROW(kIndexScores, "index.scores")                                               \
  ROW(kCompressionIn, "compression.in")                                           \
  ROW(kCompressionPool, "compression.pool")                                       \
  ROW(kCompressionNorm, "compression.norm")                                       \
  ROW(kCompressionRope, "compression.rope")                                       \
  ROW(kConvolutionIn, "convolution.in")                                           \
  ROW(kConvolutionGate, "convolution.gate")                                       \
  ROW(kConvolutionHalo, "convolution.halo")                                       \
  ROW(kConvolutionFilter, "convolution.filter")                                   \
  ROW(kConvolutionGateOut, "convolution.gate_out")                                \
  ROW(kConvolutionOut, "convolution.out")                                         \
  ROW(kLinearIn, "linear_attention.in")                                           \
  ROW(kLinearQ, "linear_attention.q")                                             \
  ROW(kLinearK, "linear_attention.k")                                             \
  ROW(kLinearV, "linear_attention.v")                                             \
  ROW(kLinearGateDown, "linear_attention.gate_down")                              \
  ROW(kLinearGate, "linear_attention.gate")                                       \
  ROW(kLinearStep, "linear_attention.step")                                       \
  ROW(kLinearDecayDown, "linear_attention.decay_down")                            \
  ROW(kLinearDecayUp, "linear_attention.decay_up")                                \
  ROW(kLinearHalo, "linear_attention.halo")                                       \
  ROW(kLinearFilter, "linear_attention.filter")                                   \
  ROW(kLinearDecay, "linear_attention.decay")                                     \
  ROW(kLinearState, "linear_attention.state")                                     \
  ROW(kLinearCore, "linear_attention.core")                                       \
  ROW(kLinearNorm, "linear_attention.norm")                                       \
  ROW(kLinearOut, "linear_attention.out")                                         \
  ROW(kStreamWeights, "streams.weights")                                          \
  ROW(kStreamSum, "streams.sum")                                                  \
  ROW(kStreamMix, "streams.mix")                                                  \
  ROW(kResidualSum, "residual.sum")                                               \
  ROW(kAttentionTpOut, "attention.tp_out")                                        \
  ROW(kAttentionResidual, "attention.residual")                                   \
  ROW(kMlpNorm, "mlp.norm")                                                       \
  ROW(kMlpTpIn, "mlp.tp_in")                                                      \
  ROW(kMlpGradientSum, "mlp.gradient_sum")                                        \
  ROW(kMlpGateUp, "mlp.gate_up")                                                  \
  ROW(kMlpGate, "mlp.gate")                                                       \
  ROW(kMlpUp, "mlp.up")                                                           \
  ROW(kMlpActivation, "mlp.activation")                                           \
  ROW(kMlpDown, "mlp.down")                                                       \
  ROW(kMlpTpOut, "mlp.tp_out")                                                    \
  ROW(kMlpResidual, "mlp.residual")                                               \
  ROW(kSharedExpertTpIn, "shared_expert.tp_in")                                   \
  ROW(kSharedExpertTpOut, "shared_expert.tp_out")                                 \
  ROW(kMoeGradientSum, "moe.gradient_sum")                                        \
  ROW(kMoeRouterCast, "moe.router_cast")                                          \
  ROW(kMoeRouter, "moe.router")                                                   \
  ROW(kMoeTopk, "moe.topk")                                                       \
  ROW(kMoeLatentDown, "moe.latent_down")                                          \
  ROW(kMoeLatentNorm, "moe.latent_norm")                                          \
  ROW(kMoeLatentUp, "moe.latent_up")                                              \
  ROW(kMoePermute, "moe.permute")                                                 \
  ROW(kMoeMasks, "moe.masks")                                                     \
  ROW(kMoeDispatchProduct, "moe.dispatch_product")                                \
  ROW(kMoeSymmetricCopy, "moe.symmetric_copy")                                    \
  ROW(kMoeGatherChoices, "moe.gather_choices")                                    \
  ROW(kMoeIndex, "moe.index")                                                     \
  ROW(kMoeRedispatch, "moe.redispatch")                                           \
  ROW(kMoeDispatchQuantize, "moe.dispatch_quantize")                              \
  ROW(kMoeDispatch, "moe.dispatch")                                               \
  ROW(kMoeDispatchMap, "moe.dispatch_map")                                        \
  ROW(kMoeSort, "moe.sort")                                                       \
  ROW(kMoeUnsort, "moe.unsort")                                                   \
  ROW(kMoeLocalSum, "moe.local_sum")                                              \
  ROW(kMoeGatherScores, "moe.gather_scores")                                      \
  ROW(kMoeScatterScores, "moe.scatter_scores")                                    \
  ROW(kMoeCombine, "moe.combine")                                                 \
  ROW(kMoeUnpermute, "moe.unpermute")                                             \
  ROW(kMoeRowGradient, "moe.row_gradient")                                        \
  ROW(kMoeCombineProduct, "moe.combine_product")                                  \
  ROW(kMoeWeightedSum, "moe.weighted_sum")                                        \
  ROW(kExpertsFetchCopies, "experts.fetch_copies")                                \
  ROW(kExpertsReturnGradients, "experts.return_gradients")                        \
  ROW(kExpertsMask, "experts.mask")                                               \
  ROW(kExpertsCast, "experts.cast")                                               \
  ROW(kExpertsGradientSum, "experts.gradient_sum")                                \
  ROW(kExpertsGateUp, "experts.gate_up")                                          \
  ROW(kExpertsGate, "experts.gate")                                               \
  ROW(kExpertsUp, "experts.up")                                                   \
  ROW(kExpertsClamp, "experts.clamp")                                             \
  ROW(kExpertsActivation, "experts.activation")                                   \
  ROW(kExpertsDown, "experts.down")                                               \
  ROW(kExpertsBias, "experts.bias")                                               \
  ROW(kAdapterDropout, "adapter.dropout")                                         \
  ROW(kAdapterA, "adapter.a")                                                     \
  ROW(kAdapterB, "adapter.b")                                                     \
  ROW(kAdapterScale, "adapter.scale")                                             \
  ROW(kAdapterSum, "adapter.sum")                                                 \
  ROW(kAdapterTp, "adapter.tp")                                                   \
  ROW(kQuantize, "quantize")                                                      \
  ROW(kQuantizeTranspose, "quantize.transpose")                                   \
  ROW(kTpRelayout, "tp.relayout")                                                 \
  ROW(kEmbedding, "embedding")                                                    \
  ROW(kEmbeddingTpOut, "embedding.tp_out")                                        \
  ROW(kEmbeddingNorm, "embedding.norm")                                           \
  ROW(kEmbeddingDropout, "embedding.dropout")                                     \
  ROW(kHeadNorm, "head.norm")                                                     \
  ROW(kHeadTpIn, "head.tp_in")                                                    \
  ROW(kHeadOutput, "head.output")                                                 \
  ROW(kHeadResult, "head.result")                                                 \
  ROW(kHeadCrossEntropy, "head.cross_entropy")                                    \
  ROW(kHeadLossTp, "head.loss_tp")                                                \
  ROW(kMtpEmbedding, "mtp.embedding")                                             \
  ROW(kMtpHiddenNorm, "mtp.hidden_norm")                                          \
  ROW(kMtpEmbeddingNorm, "mtp.embedding_norm")                                    \
  ROW(kMtpProjection, "mtp.projection")                                           \
  ROW(kPipelineSend, "pipeline.send")                                             \
  ROW(kPipelineGather, "pipeline.gather")                                         \
  ROW(kFsdpCast, "fsdp.cast")                                                     \
  ROW(kFsdpCopyIn, "fsdp.copy_in")                                                \
  ROW(kFsdpGather, "fsdp.gather")                                                 \
  ROW(kFsdpCopyOut, "fsdp.copy_out")                                              \
  ROW(kFsdpConcatenate, "fsdp.concatenate")                                       \
  ROW(kFsdpReduce, "fsdp.reduce")                                                 \
  ROW(kFsdpQuotient, "fsdp.quotient")                                             \
  ROW(kFsdpStore, "fsdp.store")                                                   \
  ROW(kDpGather, "dp.gather")                                                     \
  ROW(kDpReduce, "dp.reduce")                                                     \
  ROW(kDpReplicas, "dp.replicas")                                                 \
  ROW(kDpMirror, "dp.mirror")                                                     \
  ROW(kDpBroadcast, "dp.broadcast")                                               \
  ROW(kBucketCopyIn, "bucket.copy_in")                                            \
  ROW(kBucketCopyOut, "bucket.copy_out")                                          \
  ROW(kGradientAccumulate, "gradient.accumulate")                                 \
  ROW(kGradientMean, "gradient.mean")                                             \
  ROW(kGradientCheck, "gradient.check")                                           \
  ROW(kGradientNorm, "gradient.norm")                                             \
  ROW(kGradientClip, "gradient.clip")                                             \
  ROW(kGradientZero, "gradient.zero")                                             \
  ROW(kParameterCast, "parameter.cast")                                           \
  ROW(kOptimizer, "optimizer")                                                    \
  ROW(kMuonMomentum, "muon.momentum")                                             \
  ROW(kMuonNesterov, "muon.nesterov")                                             \
  ROW(kMuonGather, "muon.gather")                                                 \
  ROW(kMuonToOwner, "muon.to_owner")                                              \
  ROW(kMuonTpGather, "muon.tp_gather")                                            \
  ROW(kMuonNormalize, "muon.normalize")                                           \
  ROW(kMuonNormSum, "muon.norm_sum")                                              \
  ROW(kMuonGram, "muon.gram")                                                     \
  ROW(kMuonGramSum, "muon.gram_sum")                                              \
  ROW(kMuonPolynomial, "muon.polynomial")                                         \
  ROW(kMuonProduct, "muon.product")                                               \
  ROW(kMuonFromOwner, "muon.from_owner")                                          \
  ROW(kMuonUpdate, "muon.update")

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage, bugprone-macro-parentheses)
#define STEPCAST_ENUMERATOR(enumerator, name) enumerator,
enum class OpId : std::uint8_t { STEPCAST_OPERATORS(STEPCAST_ENUMERATOR) };
#undef STEPCAST_ENUMERATOR

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_NAME(enumerator, name) std::string_view{name},
template <>
inline constexpr std::array kNamesOf<OpId> = {STEPCAST_OPERATORS(STEPCAST_NAME)};
#undef STEPCAST_NAME

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
