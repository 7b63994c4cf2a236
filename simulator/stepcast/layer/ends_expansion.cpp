// SPDX-License-Identifier: Apache-2.0
// What stands before the first layer of a model and after its last one: embedding, loss, and what a
// multi-token prediction module runs besides its layer.
#include "stepcast/layer/block_builder.hpp"
#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/sharding.hpp"

namespace stepcast {
namespace {

// Several residual streams, or the inputs that layers have kept, become one before the last norm.
void gather_residuals(const ExpansionContext& context, BlockBuilder& build) {
  const ModelSpec& model = context.model;
  const std::int64_t rows = context.sequence_tokens();
  const std::int64_t n = model.residual_streams;
  if (n > 1) {
    build.projection_16bit(OpId::kStreamWeights, rows, n, n * model.hidden);
    build.memory_bound(OpId::kStreamSum, MemoryBoundKind::kStreamSum, rows, n * model.hidden,
                       context.software.mixer());
  } else if (model.residual_block > 0) {
    build.memory_bound(OpId::kResidualSum, MemoryBoundKind::kResidualSum, rows,
                       residual_width(model), context.software.mixer());
  }
}

}  // namespace

BlockOps expand_embedding(const ExpansionContext& context) {
  BlockBuilder build(context);
  build.begin(Block::kEmbedding);
  if (!context.training.weights.trains(ParameterRole::kEmbedding)) {
    build.input_needs_no_gradient();
  }
  build.memory_bound(OpId::kEmbedding, MemoryBoundKind::kEmbedding, context.tokens(),
                     context.model.hidden, Implementation::kFused);
  build.leave_tensor_parallel(OpId::kEmbeddingTpOut);
  if (context.training.dropout) {
    build.memory_bound(OpId::kEmbeddingDropout, MemoryBoundKind::kDropout,
                       context.sequence_tokens(), context.model.hidden, context.software.norm);
  }
  return build.finish();
}

BlockOps expand_loss(const ExpansionContext& context) {
  BlockBuilder build(context);
  const std::int64_t vocabulary = local_vocabulary(context.model, context.plan, context.software);
  build.begin(Block::kHead);
  if (!trains_before_head(context.model, context.training.weights)) {
    build.input_needs_no_gradient();
  }
  gather_residuals(context, build);
  build.norm(OpId::kHeadNorm, context.sequence_tokens());
  build.enter_tensor_parallel(OpId::kHeadTpIn);
  build.projection_16bit(OpId::kHeadOutput, context.tokens(), vocabulary, context.model.hidden);
  const MemoryBoundKind loss =
      context.plan.tp > 1 ? MemoryBoundKind::kParallelCrossEntropy : MemoryBoundKind::kCrossEntropy;
  build.memory_bound(OpId::kHeadCrossEntropy, loss, context.tokens(), vocabulary,
                     context.software.cross_entropy);
  // The maximum, the sum and the target's logit of each token are reduced over the vocabulary
  // shards.
  const Bytes statistics = 3.0 * static_cast<double>(context.tokens()) * Bytes(4);
  build.forward_collective(OpId::kHeadLossTp, {CollectiveOp::kAllReduce, statistics,
                                               context.plan.tp_group(), Axis::kTensor});
  return build.finish();
}

BlockOps expand_mtp_projection(const ExpansionContext& context) {
  BlockBuilder build(context);
  const std::int64_t rows = context.tokens();
  const std::int64_t hidden = context.model.hidden;
  build.begin(Block::kMtp);
  if (context.training.weights.trains(ParameterRole::kEmbedding)) {
    build.memory_bound(OpId::kMtpEmbedding, MemoryBoundKind::kEmbedding, rows, hidden,
                       Implementation::kFused);
  } else {
    build.forward_memory_bound(OpId::kMtpEmbedding, MemoryBoundKind::kEmbedding, rows, hidden,
                               Implementation::kFused, kSixteenBits);
  }
  build.memory_bound(OpId::kMtpHiddenNorm, MemoryBoundKind::kNorm, rows, hidden,
                     context.software.norm);
  build.memory_bound(OpId::kMtpEmbeddingNorm, MemoryBoundKind::kNorm, rows, hidden,
                     context.software.norm);
  if (const std::int64_t n = context.model.residual_streams; n > 1) {
    // One product of the embedding and one of each stream, summed.
    build.projection(OpId::kMtpProjection, (1 + n) * rows, hidden / context.plan.tp, hidden);
  } else {
    build.projection(OpId::kMtpProjection, rows, hidden / context.plan.tp, 2 * hidden);
  }
  return build.finish();
}

}  // namespace stepcast
