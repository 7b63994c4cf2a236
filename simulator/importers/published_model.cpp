// SPDX-License-Identifier: Apache-2.0
#include "importers/published_model.hpp"

#include <algorithm>

#include "importers/loose_fields.hpp"
#include "importers/published_names.hpp"

namespace stepcast {
namespace {

using nlohmann::json;

AttentionSpec attention_from(const json& model, std::int64_t hidden) {
  AttentionSpec attention;
  attention.heads = required_count(json_count(model, "heads"), "model.heads");
  attention.kv_heads = json_count(model, "kv_heads").value_or(attention.heads);
  attention.qk_head_dim = json_count(model, "head_dim").value_or(hidden / attention.heads);
  attention.v_head_dim = attention.qk_head_dim;
  const json& mla = json_object(model, "mla");
  if (mla.empty()) {
    return attention;
  }
  attention.kind = AttentionKind::kMla;
  attention.kv_heads = attention.heads;
  attention.mla.q_lora_rank = json_count(mla, "q_lora_rank").value_or(0);
  attention.mla.kv_lora_rank =
      required_count(json_count(mla, "kv_lora_rank"), "model.mla.kv_lora_rank");
  attention.mla.qk_nope_head_dim = json_count(mla, "qk_nope_head_dim").value_or(128);
  attention.mla.qk_rope_head_dim = json_count(mla, "qk_rope_head_dim").value_or(64);
  attention.qk_head_dim = attention.mla.qk_nope_head_dim + attention.mla.qk_rope_head_dim;
  attention.v_head_dim = json_count(mla, "v_head_dim").value_or(128);
  return attention;
}

// A model that we do not ship, from the row's own figures.
ModelSpec model_from_figures(const json& row) {
  ModelSpec model;
  model.name = json_text(row, "name");
  model.hidden = required_count(json_count(row, "hidden"), "model.hidden");
  model.layers = required_count(json_count(row, "num_layers"), "model.num_layers");
  model.vocabulary = required_count(json_count(row, "vocab"), "model.vocab");
  model.attention = attention_from(row, model.hidden);
  model.mlp.gated = json_flag(row, "gated_mlp").value_or(true);
  model.tied_embeddings = json_flag(row, "tied_embeddings").value_or(false);
  const std::optional<std::int64_t> experts = json_count(row, "experts");
  const std::optional<std::int64_t> expert_ffn = json_count(row, "moe_ffn");
  const std::optional<std::int64_t> ffn = json_count(row, "ffn");
  model.mlp.ffn_hidden = required_count(ffn ? ffn : expert_ffn, "model.ffn");
  if (experts && *experts > 1) {
    MoeSpec moe;
    moe.experts = *experts;
    moe.experts_per_token = required_count(json_count(row, "topk"), "model.topk");
    moe.expert_ffn_hidden = required_count(expert_ffn ? expert_ffn : ffn, "model.moe_ffn");
    moe.shared_expert_ffn_hidden =
        json_count(row, "shared_experts").value_or(0) * moe.expert_ffn_hidden;
    moe.first_dense_layers = json_count(row, "dense_layers").value_or(0);
    model.moe = moe;
  }
  return model;
}

}  // namespace

std::int64_t required_count(std::optional<std::int64_t> value, const char* what) {
  if (!value || *value <= 0) {
    throw SkippedRow{std::string("input missing: ") + what};
  }
  return *value;
}

ModelSpec published_model(const json& row, const json& train, ProfileCache& profiles) {
  const json& figures = json_object(row, "model");
  const std::string name = model_for(json_text(figures, "name"));
  if (name.empty()) {
    return model_from_figures(figures);
  }
  ModelSpec model = profiles.model(name);
  model.layers = json_count(figures, "num_layers").value_or(model.layers);
  model.vocabulary = json_count(figures, "vocab").value_or(model.vocabulary);
  model.mtp_layers = json_count(figures, "mtp_layers").value_or(0);
  if (model.moe) {
    model.moe->first_dense_layers =
        json_count(figures, "dense_layers").value_or(model.moe->first_dense_layers);
  }
  if (model.max_positions > 0) {
    model.max_positions = std::max(model.max_positions, json_count(train, "seq_len").value_or(0));
  }
  return model;
}

}  // namespace stepcast
