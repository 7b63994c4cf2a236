// SPDX-License-Identifier: Apache-2.0
// A layer, and what stands before the first one of a model and after its last one: embedding, loss,
// and what a multi-token prediction module runs besides its layer.
#include "stepcast/layer/layer_expansion.hpp"

#include <algorithm>

#include "stepcast/base/dtype.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/layer/block_builder.hpp"
#include "stepcast/layer/expert_expansion.hpp"
#include "stepcast/layer/mixer_expansion.hpp"
#include "stepcast/layer/recompute_choice.hpp"
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

using Kind = MemoryBoundKind;

constexpr Bytes kFloat{4};
constexpr Bytes kMask{1};

class LayerExpander {
 public:
  LayerExpander(const ExpansionContext& context, LayerKind kind)
      : context_(context), kind_(kind), build_(context) {
    if (!kind.input_gradient) {
      build_.input_needs_no_gradient();
    }
  }

  BlockOps expand() {
    build_.save_given(TensorId::kLayerInput, layer_input(context_));
    if (kind_.mixer != Mixer::kNone) {
      mix();
    }
    if (feeds_forward(model(), kind_)) {
      feed();
    }
    BlockOps layer = build_.finish();
    choose_recompute(context_, kind_, layer);
    return layer;
  }

 private:
  using ModuleScope = BlockBuilder::ModuleScope;

  void mix() {
    read_residuals(kind_.kept_residuals);
    norm(OpId::kAttentionNorm, TensorId::kAttentionNormOutput, {ParameterRole::kAttention});
    expand_mixer(context_, kind_, build_);
    residual(OpId::kAttentionResidual, TensorId::kAttentionDropoutMask);
  }

  // Without a mixer before it the layer's own input is what it reads.
  void feed() {
    if (kind_.mixer != Mixer::kNone) {
      build_.save(TensorId::kMlpInput, mixer_output(kind_.mixer), context_.sequence_tokens(),
                  model().residual_streams * hidden(), context_.stream_element());
    }
    read_residuals(kind_.kept_residuals + (kind_.opens_residual_block ? 1 : 0));
    if (!shares_norm(model())) {
      using enum ParameterRole;
      norm(OpId::kMlpNorm, TensorId::kMlpNormOutput,
           kind_.moe ? std::vector{kRouter, kExpert, kMlp} : std::vector{kMlp});
    }
    if (kind_.moe) {
      moe_block();
    } else {
      dense_block();
    }
    residual(OpId::kMlpResidual, TensorId::kMlpDropoutMask);
    if (!kind_.moe || model().moe->shared_expert_ffn_hidden > 0) {
      build_.save_unread(TensorId::kMlpOutput, OpId::kMlpDown, context_.sequence_tokens(), hidden(),
                         kSixteenBits);
    }
  }

  [[nodiscard]] const ModelSpec& model() const { return context_.model; }
  [[nodiscard]] const ParallelPlan& plan() const { return context_.plan; }
  [[nodiscard]] const SoftwareSpec& software() const { return context_.software; }
  [[nodiscard]] std::int64_t hidden() const { return context_.model.hidden; }

  [[nodiscard]] const TrainedWeights& weights() const { return context_.training.weights; }

  // Weight gradients of `readers` read what it makes; its own backward reads its input.
  void norm(OpId id, TensorId output, const std::vector<ParameterRole>& readers) {
    const ModuleScope scope(build_, {RecomputeModule::kLayerNorm});
    build_.begin(Block::kResidualStream);
    build_.norm(id, context_.sequence_tokens());
    if (software().memory.keeps_norm_copies && software().norm == Implementation::kEager) {
      // In fp32 its input, which is the stream itself where that is in fp32, and what the gain
      // multiplies: in the format of the stream, whose own copy goes.
      build_.save_result(TensorId::kNormCopies, context_.sequence_tokens(), hidden(), kFloat);
    }
    const bool read =
        std::ranges::any_of(readers, [&](ParameterRole role) { return weights().trains(role); });
    // Under autocast products keep casts of it, each its own.
    const bool cast = context_.in_autocast();
    if (software().keeps_norm_output && read && build_.keeps_operand() && !cast) {
      const bool gathered = software().keeps_gathered_norm_output;
      build_.save_result(output, gathered ? context_.tokens() : context_.sequence_tokens(),
                         hidden(), build_.operand());
    }
  }

  // What a block reads of several residual streams: weights of each token from all of them, which
  // stay for its backward and for what the block adds to each, and their sum by these weights. Of
  // inputs kept from earlier layers, and the stream beside them, the weights come of one product a
  // value in the same kernel.
  void read_residuals(std::int64_t kept) {
    build_.begin(Block::kResidualStream);
    const std::int64_t rows = context_.sequence_tokens();
    if (const std::int64_t n = model().residual_streams; n > 1) {
      const std::int64_t weights = (2 + n) * n;
      build_.projection_16bit(OpId::kStreamWeights, rows, weights, n * hidden());
      build_.memory_bound(OpId::kStreamWeights, Kind::kLogitWeights, rows, weights,
                          software().mixer(), kFloat);
      build_.save_result(TensorId::kStreamWeights, rows, weights, kFloat);
      build_.memory_bound(OpId::kStreamSum, Kind::kStreamSum, rows, n * hidden(),
                          software().mixer());
      build_.save_result(TensorId::kStreamSum, rows, hidden(), kSixteenBits);
    }
    if (kept > 0) {
      build_.memory_bound(OpId::kResidualSum, Kind::kResidualSum, rows, (1 + kept) * hidden(),
                          software().mixer());
      build_.save_result(TensorId::kStreamSum, rows, hidden(), kSixteenBits);
    }
  }

  void residual(OpId id, TensorId dropout_mask) {
    build_.begin(Block::kResidualStream);
    const std::int64_t rows = context_.sequence_tokens();
    if (model().norms_per_layer > 2) {
      build_.norm(id, rows);
    }
    if (context_.training.dropout) {
      build_.memory_bound(id, Kind::kDropout, rows, hidden(), software().norm);
      build_.save_result(dropout_mask, rows, hidden(), kMask);
    }
    if (const std::int64_t n = model().residual_streams; n > 1) {
      build_.memory_bound(OpId::kStreamMix, Kind::kStreamMix, rows, n * hidden(),
                          software().mixer());
    } else if (!software().residual_in_norm) {
      if (context_.in_autocast()) {
        build_.backward_memory_bound(OpId::kAutocastGradient, Kind::kCast, rows, hidden(),
                                     Implementation::kEager, kSixteenBits);
      }
      build_.memory_bound(id, Kind::kResidual, rows, hidden(), software().norm,
                          context_.stream_element());
    }
  }

  void dense_block() {
    const ModuleScope scope(build_, {RecomputeModule::kMlp});
    build_.begin(Block::kDense);
    build_.enter_tensor_parallel(OpId::kMlpTpIn);
    const std::int64_t width = ffn_hidden_of(model(), kind_) / plan().tp;
    feed_forward(width);
    build_.leave_tensor_parallel(OpId::kMlpTpOut);
    build_.adapt_row(LoraTarget::kDown, width, OpId::kMlpActivation);
  }

  void feed_forward(std::int64_t width) {
    const std::int64_t rows = context_.tokens();
    const bool apart = model().mlp.gated && !software().fused_gate_up;
    using enum LoraTarget;
    build_.gradient_sum(OpId::kMlpGradientSum, rows,
                        (apart ? 2 : 1) + build_.adapters({kGateUp, kGate, kUp}), software().norm);
    const OpId reads = shares_norm(model()) ? OpId::kAttentionNorm : OpId::kMlpNorm;
    {
      const BlockBuilder::SharedInput beside(build_);
      first_products(rows, width, apart);
      build_.adapt_column(kGateUp, (model().mlp.gated ? 2 : 1) * width, reads);
      build_.adapt_column(kGate, width, reads);
      build_.adapt_column(kUp, width, reads);
    }
    build_.activation(OpId::kMlpActivation, rows, width, rows, software().activation);
    build_.projection(OpId::kMlpDown, rows, hidden(), width);
  }

  // Gate and up, with what the activation's backward reads of them.
  void first_products(std::int64_t rows, std::int64_t width, bool apart) {
    const Bytes stored = software().memory.activation_input;
    if (!model().mlp.gated) {
      build_.projection(OpId::kMlpUp, rows, width, hidden());
      build_.save_result(TensorId::kMlpActivationInput, rows, width, stored);
    } else if (!apart) {
      build_.projection(OpId::kMlpGateUp, rows, 2 * width, hidden());
      build_.save_result(TensorId::kMlpActivationInput, rows, 2 * width, stored);
    } else {
      build_.projection(OpId::kMlpGate, rows, width, hidden());
      build_.save_result(TensorId::kMlpGate, rows, width, stored);
      build_.projection(OpId::kMlpUp, rows, width, hidden());
      build_.save_result(TensorId::kMlpUp, rows, width, stored);
    }
  }

  void moe_block() {
    const MoeSpec& moe = *model().moe;
    const ModuleScope scope(build_, {RecomputeModule::kMoe});
    build_.begin(Block::kRouter);
    // The router, the routed experts and the shared expert read the same tensor.
    build_.gradient_sum(OpId::kMoeGradientSum, context_.sequence_tokens(),
                        moe.shared_expert_ffn_hidden > 0 ? 3 : 2, software().permute);
    router(moe);
    enter_latent(moe);
    expand_routed_experts(context_, build_);
    leave_latent(moe);
    if (software().memory.keeps_expert_casts) {
      const LocalParameters layer = local_parameters(layer_parameters(model(), kind_), plan());
      build_.save_given(TensorId::kExpertsWeightCasts, layer.expert * kSixteenBits);
    }
    if (moe.shared_expert_ffn_hidden > 0) {
      shared_expert(moe.shared_expert_ffn_hidden / plan().tp);
    }
  }

  // Around routed experts that read a narrower tensor; every rank holds both matrices and runs them
  // over its tokens.
  void enter_latent(const MoeSpec& moe) {
    if (moe.latent_hidden > 0) {
      build_.begin(Block::kSharedExpert);
      build_.projection(OpId::kMoeLatentDown, context_.sequence_tokens(), moe.latent_hidden,
                        hidden());
    }
  }
  void leave_latent(const MoeSpec& moe) {
    if (moe.latent_hidden == 0) {
      return;
    }
    const std::int64_t rows = context_.sequence_tokens();
    build_.begin(Block::kSharedExpert);
    build_.memory_bound(OpId::kMoeLatentNorm, Kind::kNorm, rows, moe.latent_hidden,
                        software().norm);
    build_.save_result(TensorId::kMoeLatent, rows, 2 * moe.latent_hidden, kSixteenBits);
    build_.projection(OpId::kMoeLatentUp, rows, hidden(), moe.latent_hidden);
  }

  void shared_expert(std::int64_t width) {
    const ModuleScope scope(build_, {RecomputeModule::kSharedExperts});
    build_.begin(Block::kSharedExpert);
    build_.enter_tensor_parallel(OpId::kSharedExpertTpIn);
    feed_forward(width);
    build_.leave_tensor_parallel(OpId::kSharedExpertTpOut);
    build_.adapt_row(LoraTarget::kDown, width, OpId::kMlpActivation);
  }

  void router(const MoeSpec& moe) {
    const std::int64_t rows = context_.sequence_tokens();
    if (software().router_fp32) {
      build_.cast_up(OpId::kMoeRouterCast, rows, hidden(), software().activation);
      build_.save_result(TensorId::kMoeRouterInput, rows, hidden(), kFloat);
      build_.projection_in(OpId::kMoeRouter, rows, moe.experts, hidden(), Dtype::kFp32);
    } else {
      build_.projection_16bit(OpId::kMoeRouter, rows, moe.experts, hidden());
    }
    build_.save_result(TensorId::kMoeRouterScores, rows, moe.experts, kFloat);
    build_.memory_bound(OpId::kMoeTopk, Kind::kRouter, rows, moe.experts, software().permute,
                        Bytes(4));
  }

  const ExpansionContext& context_;
  LayerKind kind_;
  BlockBuilder build_;
};

}  // namespace

BlockOps expand_layer(const ExpansionContext& context, LayerKind kind) {
  return LayerExpander(context, kind).expand();
}

BlockOps expand_embedding(const ExpansionContext& context) {
  BlockBuilder build(context);
  build.begin(Block::kEmbedding);
  if (!context.training.weights.trains(ParameterRole::kEmbedding)) {
    build.input_needs_no_gradient();
  }
  build.memory_bound(OpId::kEmbedding, MemoryBoundKind::kEmbedding, context.tokens(),
                     context.model.hidden, Implementation::kFused, context.stream_element());
  build.leave_tensor_parallel(OpId::kEmbeddingTpOut);
  if (context.model.embedding_norm) {
    build.norm(OpId::kEmbeddingNorm, context.sequence_tokens());
  }
  if (context.training.dropout) {
    build.memory_bound(OpId::kEmbeddingDropout, MemoryBoundKind::kDropout,
                       context.sequence_tokens(), context.model.hidden, context.software.norm);
  }
  return build.finish();
}

namespace {

void add_loss_chunk(const ExpansionContext& context, std::int64_t rows, bool first,
                    BlockBuilder& build) {
  const std::int64_t vocabulary = local_vocabulary(context.model, context.plan, context.software);
  if (context.software.ends_in_8_bits(context.training.dtype)) {
    build.projection(OpId::kHeadOutput, rows, vocabulary, context.model.hidden);
  } else {
    build.projection_16bit(OpId::kHeadOutput, rows, vocabulary, context.model.hidden);
  }
  if (!first) {
    build.add_to_gradient(vocabulary, context.model.hidden);
  }
  const MemoryBoundKind loss =
      context.plan.tp > 1 ? MemoryBoundKind::kParallelCrossEntropy : MemoryBoundKind::kCrossEntropy;
  build.memory_bound(OpId::kHeadCrossEntropy, loss, rows, vocabulary,
                     context.software.cross_entropy);
  if (context.software.returns_fp32_logits) {
    build.forward_memory_bound(OpId::kHeadResult, MemoryBoundKind::kCastUp, rows, vocabulary,
                               Implementation::kEager, kSixteenBits);
  }
  // The maximum, the sum and the target's logit of each token are reduced over the vocabulary
  // shards.
  const Bytes statistics = 3.0 * static_cast<double>(rows) * Bytes(4);
  build.forward_collective(OpId::kHeadLossTp, {CollectiveOp::kAllReduce, statistics,
                                               context.plan.tp_group(), Axis::kTensor});
}

}  // namespace

BlockOps expand_loss(const ExpansionContext& context) {
  BlockBuilder build(context);
  build.begin(Block::kHead);
  if (!trains_before_head(context.model, context.training.weights)) {
    build.input_needs_no_gradient();
  }
  gather_residuals(context, build);
  build.norm(OpId::kHeadNorm, context.sequence_tokens());
  build.enter_tensor_parallel(OpId::kHeadTpIn);
  // A loss in chunks (Liger's fused_linear_cross_entropy.py, ead96b61; torchtune's and torchtitan's
  // chunked losses) runs each chunk's product, loss and both gradients before the next: as many
  // FLOPs in products of fewer rows, and the gradients of the matrix added up chunk by chunk.
  const std::int64_t chunks = context.software.memory.loss_chunks;
  const std::int64_t rows = (context.tokens() + chunks - 1) / chunks;
  for (std::int64_t done = 0; done < context.tokens(); done += rows) {
    add_loss_chunk(context, std::min(rows, context.tokens() - done), done == 0, build);
  }
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
