// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/yaml.h>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/graph/model_names.hpp"
#include "stepcast/graph/model_spec.hpp"

namespace stepcast {
namespace {

template <typename E, std::size_t N>
std::string text_of(E value, const std::array<NamedValue<E>, N>& names) {
  for (const NamedValue<E>& entry : names) {
    if (entry.value == value) {
      return std::string(entry.name);
    }
  }
  return {};
}

void write_positive(YAML::Emitter& out, const char* key, std::int64_t count) {
  if (count > 0) {
    out << YAML::Key << key << YAML::Value << count;
  }
}

void write_counts(YAML::Emitter& out, const char* key, const LayerCounts& counts) {
  out << YAML::Key << key << YAML::Value;
  if (counts.uniform()) {
    out << counts.same();
  } else {
    out << YAML::Flow << counts.pattern();
  }
}

void write_shared_kv(YAML::Emitter& out, const AttentionSpec& attention) {
  for (const auto& [key, value] : {std::pair{"head_dim", attention.qk_head_dim.same()},
                                   {"q_lora_rank", attention.mla.q_lora_rank},
                                   {"qk_rope_head_dim", attention.mla.qk_rope_head_dim},
                                   {"output_groups", attention.output_groups},
                                   {"output_lora_rank", attention.output_lora_rank}}) {
    out << YAML::Key << key << YAML::Value << value;
  }
}

void write_choice_of_keys(YAML::Emitter& out, const AttentionSpec& attention) {
  if (const auto& indexer = attention.indexer) {
    out << YAML::Key << "indexer" << YAML::Value << YAML::Flow << YAML::BeginMap;
    out << YAML::Key << "heads" << YAML::Value << indexer->heads;
    out << YAML::Key << "head_dim" << YAML::Value << indexer->head_dim;
    out << YAML::Key << "chosen" << YAML::Value << indexer->chosen;
    out << YAML::Key << "trained" << YAML::Value << indexer->trained;
    out << YAML::EndMap;
  }
  if (const CompressionSpec& compression = attention.compression; !compression.ratios.empty()) {
    out << YAML::Key << "compression" << YAML::Value << YAML::Flow << YAML::BeginMap;
    out << YAML::Key << "ratios" << YAML::Value << compression.ratios;
    out << YAML::Key << "indexed_ratio" << YAML::Value << compression.indexed_ratio;
    out << YAML::EndMap;
  }
}

void write_attention(YAML::Emitter& out, const AttentionSpec& attention) {
  out << YAML::Key << "attention" << YAML::Value << YAML::BeginMap;
  const bool mla = attention.kind == AttentionKind::kMla;
  out << YAML::Key << "kind" << YAML::Value << text_of(attention.kind, kAttentionKinds);
  write_counts(out, "heads", attention.heads);
  if (attention.kind == AttentionKind::kSharedKv) {
    write_shared_kv(out, attention);
  } else if (mla) {
    write_positive(out, "q_lora_rank", attention.mla.q_lora_rank);
    out << YAML::Key << "kv_lora_rank" << YAML::Value << attention.mla.kv_lora_rank;
    out << YAML::Key << "qk_nope_head_dim" << YAML::Value << attention.mla.qk_nope_head_dim;
    out << YAML::Key << "qk_rope_head_dim" << YAML::Value << attention.mla.qk_rope_head_dim;
    write_counts(out, "v_head_dim", attention.v_head_dim);
  } else {
    write_counts(out, "kv_heads", attention.kv_heads);
    write_counts(out, "head_dim", attention.qk_head_dim);
    if (attention.v_head_dim != attention.qk_head_dim) {
      write_counts(out, "v_head_dim", attention.v_head_dim);
    }
  }
  write_positive(out, "rope_head_dim", attention.rope_head_dim);
  if (attention.qk_norm != QkNorm::kNone) {
    out << YAML::Key << "qk_norm" << YAML::Value << text_of(attention.qk_norm, kQkNorms);
  }
  for (const auto& [key, on] : {std::pair{"qkv_bias", attention.qkv_bias},
                                {"output_bias", attention.output_bias},
                                {"output_gate", attention.output_gate},
                                {"sinks", attention.sinks}}) {
    if (on) {
      out << YAML::Key << key << YAML::Value << true;
    }
  }
  if (attention.sliding_window.most() > 0) {
    write_counts(out, "sliding_window", attention.sliding_window);
    out << YAML::Key << "full_attention_every" << YAML::Value << attention.full_attention_every;
  }
  write_choice_of_keys(out, attention);
  out << YAML::EndMap;
}

void write_moe(YAML::Emitter& out, const MoeSpec& moe) {
  out << YAML::Key << "moe" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "experts" << YAML::Value << moe.experts;
  out << YAML::Key << "experts_per_token" << YAML::Value << moe.experts_per_token;
  out << YAML::Key << "expert_ffn_hidden" << YAML::Value << moe.expert_ffn_hidden;
  if (moe.shared_expert_ffn_hidden > 0) {
    out << YAML::Key << "shared_expert_ffn_hidden" << YAML::Value << moe.shared_expert_ffn_hidden;
  }
  if (moe.shared_expert_gate) {
    out << YAML::Key << "shared_expert_gate" << YAML::Value << true;
  }
  if (moe.expert_bias) {
    out << YAML::Key << "expert_bias" << YAML::Value << true;
  }
  if (moe.clamped_activation) {
    out << YAML::Key << "clamped_activation" << YAML::Value << true;
  }
  write_positive(out, "latent_hidden", moe.latent_hidden);
  if (moe.first_dense_layers > 0) {
    out << YAML::Key << "first_dense_layers" << YAML::Value << moe.first_dense_layers;
  }
  if (moe.every != 1) {
    out << YAML::Key << "every" << YAML::Value << moe.every;
  }
  const RouterSpec& router = moe.router;
  out << YAML::Key << "router" << YAML::Value << YAML::Flow << YAML::BeginMap;
  out << YAML::Key << "score" << YAML::Value << text_of(router.score, kScores);
  if (router.groups > 1) {
    out << YAML::Key << "groups" << YAML::Value << router.groups;
    out << YAML::Key << "topk_groups" << YAML::Value << router.topk_groups;
  }
  if (router.expert_bias) {
    out << YAML::Key << "expert_bias" << YAML::Value << true;
  }
  if (router.linear_bias) {
    out << YAML::Key << "linear_bias" << YAML::Value << true;
  }
  out << YAML::EndMap << YAML::EndMap;
}

void write_text(YAML::Emitter& out, const char* key, const std::string& text) {
  if (!text.empty()) {
    out << YAML::Key << key << YAML::Value << text;
  }
}

void write_published(YAML::Emitter& out, const PublishedCounts& published) {
  if (published.source.empty()) {
    return;
  }
  out << YAML::Key << "published" << YAML::Value << YAML::BeginMap;
  write_text(out, "total", published.total);
  write_text(out, "active", published.active);
  write_text(out, "source", published.source);
  out << YAML::EndMap;
}

void write_blocks(YAML::Emitter& out, const ModelSpec& model) {
  out << YAML::Key << "positions" << YAML::Value << text_of(model.positions, kPositions);
  if (model.max_positions > 0) {
    out << YAML::Key << "max_positions" << YAML::Value << model.max_positions;
  }
  out << YAML::Key << "norm" << YAML::Value << text_of(model.norm, kNorms);
  if (model.norm_bias != (model.norm == NormKind::kLayerNorm)) {
    out << YAML::Key << "norm_bias" << YAML::Value << model.norm_bias;
  }
  if (model.norms_per_layer != 2) {
    out << YAML::Key << "norms_per_layer" << YAML::Value << model.norms_per_layer;
  }
  if (model.residual_streams != 1) {
    out << YAML::Key << "residual_streams" << YAML::Value << model.residual_streams;
  }
  if (model.residual_block > 0) {
    out << YAML::Key << "residual_block" << YAML::Value << model.residual_block;
  }
  for (const auto& [key, on] : {std::pair{"parallel_blocks", model.parallel_blocks},
                                {"tied_embeddings", model.tied_embeddings},
                                {"head_bias", model.head_bias}}) {
    if (on) {
      out << YAML::Key << key << YAML::Value << true;
    }
  }
}

}  // namespace

std::string to_yaml(const ModelSpec& model) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  write_text(out, "name", model.name);
  write_text(out, "title", model.title);
  write_text(out, "family", model.family);
  write_text(out, "source", model.source);
  write_text(out, "note", model.note);
  out << YAML::Key << "hidden_size" << YAML::Value << model.hidden;
  out << YAML::Key << "layers" << YAML::Value << model.layers;
  out << YAML::Key << "vocabulary" << YAML::Value << model.vocabulary;
  write_blocks(out, model);
  write_attention(out, model.attention);
  out << YAML::Key << "mlp" << YAML::Value << YAML::BeginMap;
  write_counts(out, "ffn_hidden", model.mlp.ffn_hidden);
  out << YAML::Key << "gated" << YAML::Value << model.mlp.gated;
  if (model.mlp.soft_clamped) {
    out << YAML::Key << "soft_clamped" << YAML::Value << true;
  }
  if (model.mlp.bias) {
    out << YAML::Key << "bias" << YAML::Value << true;
  }
  out << YAML::EndMap;
  if (model.moe) {
    write_moe(out, *model.moe);
  }
  if (model.mtp_layers > 0) {
    out << YAML::Key << "mtp_layers" << YAML::Value << model.mtp_layers;
  }
  write_published(out, model.published);
  out << YAML::EndMap;
  ConfigWriter mixers;
  write_mixers(model.mixers, mixers);
  return std::string(out.c_str()) + "\n" + (mixers.empty() ? "" : to_yaml(mixers.take()));
}

}  // namespace stepcast
