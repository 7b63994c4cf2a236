// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/activation_inventory.hpp"

#include "stepcast/base/dtype.hpp"
#include "stepcast/layer/exchange_shape.hpp"

namespace stepcast {
namespace {}  // namespace

std::vector<SavedTensor> saved_tensors(const ExpansionContext& context, LayerKind kind) {
  return expand_layer(context, kind).kept;
}

Bytes saved_activations(const ExpansionContext& context, LayerKind kind) {
  return total(saved_tensors(context, kind));
}

Bytes rerun_activations(const BlockOps& layer) {
  Bytes read;
  for (const SavedTensor& tensor : layer.saved) {
    read += tensor.read ? tensor.bytes : Bytes{};
  }
  return max(read - total(layer.kept), Bytes{});
}

Bytes layer_input(const ExpansionContext& context) {
  return static_cast<double>(context.sequence_tokens() * context.model.hidden) * kSixteenBits;
}

Bytes backward_workspace(const ExpansionContext& context, LayerKind kind) {
  const ModelSpec& model = context.model;
  std::int64_t rows = context.tokens();
  std::int64_t width = model.mlp.ffn_hidden / context.plan.tp;
  if (kind.moe) {
    rows = buffer_rows(context);
    width = model.moe->expert_ffn_hidden / context.plan.etp;
  }
  const std::int64_t inner = (model.mlp.gated ? 3 : 2) * width;
  return static_cast<double>(rows * (inner + 2 * model.hidden)) * kSixteenBits;
}

}  // namespace stepcast
