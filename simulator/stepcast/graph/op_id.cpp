// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/op_id.hpp"

#include <array>

namespace stepcast {
namespace {

struct NamedOp {
  OpId id;
  std::string_view name;
};

constexpr std::array<NamedOp, kOpIds> kOps = {{
    {OpId::kStandalone, "operator"},
    {OpId::kAttentionNorm, "attention.norm"},
    {OpId::kAttentionTpIn, "attention.tp_in"},
    {OpId::kAttentionGradientSum, "attention.gradient_sum"},
    {OpId::kAttentionQkv, "attention.qkv"},
    {OpId::kAttentionQ, "attention.q"},
    {OpId::kAttentionK, "attention.k"},
    {OpId::kAttentionV, "attention.v"},
    {OpId::kAttentionGate, "attention.gate"},
    {OpId::kAttentionQDown, "attention.q_down"},
    {OpId::kAttentionQLoraNorm, "attention.q_lora_norm"},
    {OpId::kAttentionQUp, "attention.q_up"},
    {OpId::kAttentionKvDown, "attention.kv_down"},
    {OpId::kAttentionKRope, "attention.k_rope"},
    {OpId::kAttentionKvLoraNorm, "attention.kv_lora_norm"},
    {OpId::kAttentionKvUp, "attention.kv_up"},
    {OpId::kAttentionRope, "attention.rope"},
    {OpId::kAttentionKConcat, "attention.k_concat"},
    {OpId::kAttentionQNorm, "attention.q_norm"},
    {OpId::kAttentionKNorm, "attention.k_norm"},
    {OpId::kAttentionCopy, "attention.copy"},
    {OpId::kAttentionCp, "attention.cp"},
    {OpId::kAttentionCore, "attention.core"},
    {OpId::kAttentionO, "attention.o"},
    {OpId::kAttentionTpOut, "attention.tp_out"},
    {OpId::kAttentionResidual, "attention.residual"},
    {OpId::kMlpNorm, "mlp.norm"},
    {OpId::kMlpTpIn, "mlp.tp_in"},
    {OpId::kMlpGradientSum, "mlp.gradient_sum"},
    {OpId::kMlpGateUp, "mlp.gate_up"},
    {OpId::kMlpGate, "mlp.gate"},
    {OpId::kMlpUp, "mlp.up"},
    {OpId::kMlpActivation, "mlp.activation"},
    {OpId::kMlpDown, "mlp.down"},
    {OpId::kMlpTpOut, "mlp.tp_out"},
    {OpId::kMlpResidual, "mlp.residual"},
    {OpId::kSharedExpertTpIn, "shared_expert.tp_in"},
    {OpId::kSharedExpertTpOut, "shared_expert.tp_out"},
    {OpId::kMoeGradientSum, "moe.gradient_sum"},
    {OpId::kMoeRouter, "moe.router"},
    {OpId::kMoeTopk, "moe.topk"},
    {OpId::kMoePermute, "moe.permute"},
    {OpId::kMoeSymmetricCopy, "moe.symmetric_copy"},
    {OpId::kMoeGatherChoices, "moe.gather_choices"},
    {OpId::kMoeIndex, "moe.index"},
    {OpId::kMoeRedispatch, "moe.redispatch"},
    {OpId::kMoeDispatchQuantize, "moe.dispatch_quantize"},
    {OpId::kMoeDispatch, "moe.dispatch"},
    {OpId::kMoeDispatchMap, "moe.dispatch_map"},
    {OpId::kMoeSort, "moe.sort"},
    {OpId::kMoeUnsort, "moe.unsort"},
    {OpId::kMoeLocalSum, "moe.local_sum"},
    {OpId::kMoeGatherScores, "moe.gather_scores"},
    {OpId::kMoeScatterScores, "moe.scatter_scores"},
    {OpId::kMoeCombine, "moe.combine"},
    {OpId::kMoeUnpermute, "moe.unpermute"},
    {OpId::kMoeWeightedSum, "moe.weighted_sum"},
    {OpId::kExpertsCast, "experts.cast"},
    {OpId::kExpertsGradientSum, "experts.gradient_sum"},
    {OpId::kExpertsGateUp, "experts.gate_up"},
    {OpId::kExpertsGate, "experts.gate"},
    {OpId::kExpertsUp, "experts.up"},
    {OpId::kExpertsActivation, "experts.activation"},
    {OpId::kExpertsDown, "experts.down"},
    {OpId::kQuantize, "quantize"},
    {OpId::kQuantizeTranspose, "quantize.transpose"},
    {OpId::kTpRelayout, "tp.relayout"},
    {OpId::kEmbedding, "embedding"},
    {OpId::kEmbeddingTpOut, "embedding.tp_out"},
    {OpId::kEmbeddingDropout, "embedding.dropout"},
    {OpId::kHeadNorm, "head.norm"},
    {OpId::kHeadTpIn, "head.tp_in"},
    {OpId::kHeadOutput, "head.output"},
    {OpId::kHeadCrossEntropy, "head.cross_entropy"},
    {OpId::kHeadLossTp, "head.loss_tp"},
    {OpId::kMtpEmbedding, "mtp.embedding"},
    {OpId::kMtpHiddenNorm, "mtp.hidden_norm"},
    {OpId::kMtpEmbeddingNorm, "mtp.embedding_norm"},
    {OpId::kMtpProjection, "mtp.projection"},
    {OpId::kPipelineSend, "pipeline.send"},
    {OpId::kFsdpCopyIn, "fsdp.copy_in"},
    {OpId::kFsdpGather, "fsdp.gather"},
    {OpId::kFsdpCopyOut, "fsdp.copy_out"},
    {OpId::kFsdpConcatenate, "fsdp.concatenate"},
    {OpId::kFsdpReduce, "fsdp.reduce"},
    {OpId::kDpGather, "dp.gather"},
    {OpId::kDpReduce, "dp.reduce"},
    {OpId::kDpReplicas, "dp.replicas"},
    {OpId::kDpMirror, "dp.mirror"},
    {OpId::kDpBroadcast, "dp.broadcast"},
    {OpId::kGradientAccumulate, "gradient.accumulate"},
    {OpId::kGradientMean, "gradient.mean"},
    {OpId::kGradientCheck, "gradient.check"},
    {OpId::kGradientNorm, "gradient.norm"},
    {OpId::kGradientClip, "gradient.clip"},
    {OpId::kGradientZero, "gradient.zero"},
    {OpId::kParameterCast, "parameter.cast"},
    {OpId::kOptimizer, "optimizer"},
}};

constexpr bool ops_in_order() {
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    if (static_cast<std::size_t>(kOps.at(i).id) != i || kOps.at(i).name.empty()) {
      return false;
    }
  }
  return true;
}
static_assert(ops_in_order());

}  // namespace

std::string_view name(OpId id) { return kOps[static_cast<std::size_t>(id)].name; }

}  // namespace stepcast
