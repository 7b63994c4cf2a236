// SPDX-License-Identifier: Apache-2.0
// What each layer of a model is (model_spec.hpp).
#include <algorithm>
#include <set>

#include "stepcast/model/model_spec.hpp"

namespace stepcast {
namespace {

AttentionHeads heads_of_layer(const AttentionSpec& attention, std::int64_t index) {
  return {attention.heads.of_layer(index), attention.kv_heads.of_layer(index),
          attention.qk_head_dim.of_layer(index), attention.v_head_dim.of_layer(index)};
}

bool heads_differ(const AttentionSpec& attention) {
  return !attention.heads.uniform() || !attention.kv_heads.uniform() ||
         !attention.qk_head_dim.uniform() || !attention.v_head_dim.uniform();
}

std::int64_t first_of_same_widths(const ModelSpec& model, std::int64_t index) {
  if (!heads_differ(model.attention) && model.mlp.ffn_hidden.uniform()) {
    return 0;
  }
  const AttentionHeads heads = heads_of_layer(model.attention, index);
  const std::int64_t width = model.mlp.ffn_hidden.of_layer(index);
  std::int64_t first = 0;
  while (heads_of_layer(model.attention, first) != heads ||
         model.mlp.ffn_hidden.of_layer(first) != width) {
    ++first;
  }
  return first;
}

}  // namespace

AttentionHeads heads_of(const ModelSpec& model, LayerKind kind) {
  return kind.mixer == Mixer::kAttention ? heads_of_layer(model.attention, kind.widths_of)
                                         : AttentionHeads{};
}

std::int64_t ffn_hidden_of(const ModelSpec& model, LayerKind kind) {
  return kind.moe ? 0 : model.mlp.ffn_hidden.of_layer(kind.widths_of);
}

bool shares_norm(const ModelSpec& model) {
  return model.parallel_blocks && model.norms_per_layer == 1;
}

bool feeds_forward(const ModelSpec& model, LayerKind kind) {
  return kind.moe || ffn_hidden_of(model, kind) > 0;
}

std::vector<AttentionHeads> attention_heads(const ModelSpec& model) {
  if (!heads_differ(model.attention)) {
    return {heads_of_layer(model.attention, 0)};
  }
  std::vector<AttentionHeads> all;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const AttentionHeads heads = heads_of_layer(model.attention, layer);
    if (model.mixers.of_layer(layer) == Mixer::kAttention &&
        std::find(all.begin(), all.end(), heads) == all.end()) {
      all.push_back(heads);
    }
  }
  return all;
}

bool layers_differ(const ModelSpec& model) {
  return heads_differ(model.attention) || !model.attention.sliding_window.uniform() ||
         !model.mlp.ffn_hidden.uniform() || model.mixers.has(Mixer::kNone);
}

LayerKind layer_kind(const ModelSpec& model, std::int64_t index) {
  LayerKind kind;
  if (model.moe && index >= model.moe->first_dense_layers) {
    kind.moe = (index - model.moe->first_dense_layers + 1) % model.moe->every == 0;
  }
  if (model.residual_block > 0) {
    kind.kept_residuals = (index + model.residual_block - 1) / model.residual_block;
    kind.opens_residual_block = index % model.residual_block == 0;
  }
  kind.widths_of = first_of_same_widths(model, index);
  kind.mixer = model.mixers.of_layer(index);
  if (kind.mixer != Mixer::kAttention) {
    return kind;
  }
  const AttentionSpec& attention = model.attention;
  const bool full =
      attention.full_attention_every > 0 && (index + 1) % attention.full_attention_every == 0;
  kind.window = full ? 0 : attention.sliding_window.of_layer(index);
  const std::vector<std::int64_t>& ratios = attention.compression.ratios;
  if (index < std::ssize(ratios)) {
    kind.compression = ratios[static_cast<std::size_t>(index)];
  }
  return kind;
}

std::size_t layer_kinds(const ModelSpec& model, std::size_t most) {
  std::set<LayerKind> kinds;
  for (std::int64_t layer = 0; layer < model.layers && kinds.size() <= most; ++layer) {
    kinds.insert(layer_kind(model, layer));
  }
  return kinds.size();
}

LayerKind mtp_layer_kind(const ModelSpec& model) {
  LayerKind kind = layer_kind(model, model.layers - 1);
  const std::vector<std::int64_t>& ratios = model.attention.compression.ratios;
  if (std::ssize(ratios) > model.layers) {
    kind.compression = ratios[static_cast<std::size_t>(model.layers)];
  }
  kind.kept_residuals = 0;
  kind.opens_residual_block = false;
  return kind;
}

std::int64_t routed_width(const ModelSpec& model) {
  const std::int64_t latent = model.moe ? model.moe->latent_hidden : 0;
  return latent > 0 ? latent : model.hidden;
}

std::int64_t residual_width(const ModelSpec& model) {
  const std::int64_t kept = model.residual_block > 0
                                ? (model.layers + model.residual_block - 1) / model.residual_block
                                : 0;
  return (model.residual_streams + kept) * model.hidden;
}

bool chooses_keys(const ModelSpec& model, LayerKind kind) {
  const AttentionSpec& attention = model.attention;
  return kind.mixer == Mixer::kAttention && attention.indexer &&
         (attention.compression.ratios.empty() ||
          (kind.compression > 0 && kind.compression == attention.compression.indexed_ratio));
}

}  // namespace stepcast
