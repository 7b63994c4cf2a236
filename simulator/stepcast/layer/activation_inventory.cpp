// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/activation_inventory.hpp"

#include <algorithm>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/layer/context_parallel.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/layer/exchange_shape.hpp"
#include "stepcast/layer/expert_expansion.hpp"
#include "stepcast/layer/mixer_expansion.hpp"

namespace stepcast {
namespace {

// A feed-forward as its backward sees it, in 16-bit values.
struct FeedForward {
  double rows = 0.0;  // that it computes
  double width = 0.0;
  double hidden = 0.0;
  double inputs = 1.0;    // of its activation: 2 if it is gated
  double products = 1.0;  // that make them
  double given = 1.0;  // of what arrives, in tensors of its own: 0 in buffers, and where it is the
                       // gradient of the residual stream itself
  double kept_output = 0.0;  // of its activation, 1 if the second product has kept what it reads
  double late =
      0.0;  // 1 if the second product's weight gradient runs after the activation's backward
};

// What its backward holds beyond what was saved: a saved tensor goes once its last reader ran.
double most_gradients(const FeedForward& f) {
  const double output = f.given * f.hidden + f.width;
  const double activation = f.width + f.inputs * f.width -
                            (1.0 - f.late) * f.kept_output * f.width + f.late * f.given * f.hidden;
  // The gradients of the activation's inputs and of what the products read, one after the other.
  const double freed = (f.inputs + f.kept_output) * f.width;
  const double first = f.inputs * f.width + f.hidden - freed;
  const double last = f.inputs / f.products * f.width + f.products * f.hidden - freed;
  return f.rows * std::max({output, activation, first, last});
}

bool keeps_product(const ExpansionContext& context, LayerKind kind) {
  const bool gathers = kind.moe && model_of(dispatcher_in_use(context.plan)).gathers_in_product;
  const bool read =
      context.training.weights.trains(kind.moe ? ParameterRole::kExpert : ParameterRole::kMlp);
  return context.software.keeps_activation_product && !gathers && read;
}

FeedForward dense_feed_forward(const ExpansionContext& context, LayerKind kind) {
  const ModelSpec& model = context.model;
  FeedForward dense;
  dense.rows = real(context.tokens());
  dense.width = real(ffn_hidden_of(model, kind) / context.plan.tp);
  dense.hidden = real(model.hidden);
  dense.inputs = model.mlp.gated ? 2.0 : 1.0;
  dense.products = model.mlp.gated && !context.software.fused_gate_up ? 2.0 : 1.0;
  dense.given = context.plan.tp > 1 && context.plan.sequence_parallel ? 1.0 : 0.0;
  return dense;
}

// What the rows of a MoE layer take in its backward beyond what was saved, before, beside and after
// the experts' own. Rows that came back one by one are weighted first and gone afterwards.
struct RowMoments {
  Bytes weighted;  // gradients of the rows that came back; eager, their product with them as well
  Bytes arriving;  // gradients that are sent and those that arrive
  Bytes outputs;   // when the forward, or what reruns it, ends: what the experts made, sorted back
  Bytes freed;     // of what was saved, before the experts' backward
};
RowMoments row_moments(const ExpansionContext& context, const FeedForward& work) {
  const DispatcherModel& model = model_of(dispatcher_in_use(context.plan));
  const LayerExchange exchange = layer_exchange(context);
  const std::int64_t kept = kept_results(context, exchange);
  const Bytes rows = work.rows * work.hidden * kSixteenBits;
  RowMoments moments;
  moments.freed = real(kept * routed_width(context.model)) * weighted_row_element(context);
  const bool product = context.software.permute == Implementation::kEager;
  moments.weighted = model.software_sums_rows ? (product ? 2.0 : 1.0) * moments.freed : Bytes{};
  const Bytes sent = model.buffers_last ? Bytes{} : 0.5 * total(exchange_buffers(context));
  moments.arriving = sent + work.given * rows;
  if (kept > 0 || !context.software.memory.recompute_stops_early) {
    const bool sorted =
        model.software_sums_rows && context.plan.ep > 1 && exchange.shape.local_experts() > 1;
    moments.outputs = (sorted ? 2.0 : 1.0) * rows;
  }
  return moments;
}

// The softmax of scores that are written out holds two tensors of them in fp32 in backward beside
// what is kept: the gradient of the probabilities, and its product with them.
Bytes score_gradients(const ExpansionContext& context, const AttentionHeads& heads) {
  const SoftwareSpec& software = context.software;
  if (software.attention_kernel() != AttentionKernel::kUnfused ||
      software.scores_over(context.training.sequence_length) != Implementation::kEager) {
    return {};
  }
  constexpr Bytes kTwoInFp32{8};
  const double rows = real(context.tokens() * local_heads(heads.query, context.plan.tp));
  return rows * real(context.training.sequence_length) * kTwoInFp32;
}

}  // namespace

std::vector<SavedTensor> saved_tensors(const ExpansionContext& context, LayerKind kind) {
  return expand_layer(context, kind).kept;
}

Bytes rerun_activations(const BlockOps& layer) {
  const Bytes read = sum_over(
      layer.saved, [](const SavedTensor& tensor) { return tensor.read ? tensor.bytes : Bytes{}; });
  return max(read - total(layer.kept), Bytes{});
}

Bytes layer_input(const ExpansionContext& context) {
  const ModelSpec& model = context.model;
  return static_cast<double>(context.sequence_tokens() * model.residual_streams * model.hidden) *
         context.stream_element();
}

Bytes backward_workspace(const ExpansionContext& context, LayerKind kind) {
  FeedForward work = dense_feed_forward(context, kind);
  work.kept_output = keeps_product(context, kind) ? 1.0 : 0.0;
  const Bytes stream = layer_input(context);
  if (!feeds_forward(context.model, kind)) {
    return stream;
  }
  if (!kind.moe) {
    // The backward of a compiled block is one function, which runs weight gradients last.
    work.late = context.software.activation == Implementation::kCompiled ? 1.0 : 0.0;
    return stream + max(most_gradients(work) * kSixteenBits, Bytes{});
  }
  const DispatcherModel& dispatcher = model_of(dispatcher_in_use(context.plan));
  work.rows = real(buffer_rows(context));
  work.width = real(context.model.moe->expert_ffn_hidden / context.plan.etp);
  work.hidden = real(routed_width(context.model));
  work.given = dispatcher.kept_inputs(layer_exchange(context)) > 0 ? 1.0 : 0.0;
  // The gradient of a product's weights in 16 bits, before it is one in fp32.
  const double weights =
      real(context.model.moe->experts / context.plan.ep) * work.width * work.hidden;
  const Bytes cast = context.software.casts_expert_weights ? weights * kSixteenBits : Bytes{};
  const RowMoments rows = row_moments(context, work);
  const Bytes experts = most_gradients(work) * kSixteenBits;
  const Bytes later = max(max(rows.arriving, experts), rows.outputs) - rows.freed;
  return stream + cast + max(max(rows.weighted, later), Bytes{});
}

Bytes attention_workspace(const ExpansionContext& context, LayerKind kind, const BlockOps& layer) {
  const bool attends = std::ranges::any_of(
      layer.forward, [](const Op& op) { return std::holds_alternative<Attention>(op.work); });
  if (!attends) {
    return {};
  }
  const Bytes rest = sum_over(layer.kept, [](const SavedTensor& tensor) {
    return tensor.id >= TensorId::kMlpInput ? tensor.bytes : Bytes{};
  });
  const auto heads = heads_of(context.model, kind);
  return max(context_parallel_buffers(context, heads) + score_gradients(context, heads) - rest,
             Bytes{});
}

}  // namespace stepcast
