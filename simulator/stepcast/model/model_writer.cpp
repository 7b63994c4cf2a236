// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/yaml.h>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/model/model_ranges.hpp"
#include "stepcast/model/model_spec.hpp"

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

// As text: the emitter groups the digits of numbers where a program sets a locale that does.
void write_count(YAML::Emitter& out, const char* key, std::int64_t count) {
  out << YAML::Key << key << YAML::Value << std::to_string(count);
}

void write_list(YAML::Emitter& out, const char* key, const std::vector<std::int64_t>& counts) {
  out << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginSeq;
  for (const std::int64_t count : counts) {
    out << std::to_string(count);
  }
  out << YAML::EndSeq;
}

void write_unless(std::int64_t usual, YAML::Emitter& out, const char* key, std::int64_t count) {
  if (count != usual) {
    write_count(out, key, count);
  }
}

void write_if(YAML::Emitter& out, const char* key, bool on) {
  if (on) {
    out << YAML::Key << key << YAML::Value << true;
  }
}

void write_counts(YAML::Emitter& out, const char* key, const LayerCounts& counts) {
  if (counts.uniform()) {
    write_count(out, key, counts.same());
  } else {
    write_list(out, key, counts.pattern());
  }
}

void write_shared_kv(YAML::Emitter& out, const AttentionSpec& attention) {
  write_count(out, "head_dim", attention.qk_head_dim.same());
  write_count(out, "q_lora_rank", attention.mla.q_lora_rank);
  write_count(out, "qk_rope_head_dim", attention.mla.qk_rope_head_dim);
  write_count(out, "output_groups", attention.output_groups);
  write_count(out, "output_lora_rank", attention.output_lora_rank);
}

void write_choice_of_keys(YAML::Emitter& out, const AttentionSpec& attention) {
  if (const auto& indexer = attention.indexer) {
    out << YAML::Key << "indexer" << YAML::Value << YAML::Flow << YAML::BeginMap;
    write_count(out, "heads", indexer->heads);
    write_count(out, "head_dim", indexer->head_dim);
    write_count(out, "chosen", indexer->chosen);
    out << YAML::Key << "trained" << YAML::Value << indexer->trained;
    out << YAML::EndMap;
  }
  if (const CompressionSpec& compression = attention.compression; !compression.ratios.empty()) {
    out << YAML::Key << "compression" << YAML::Value << YAML::Flow << YAML::BeginMap;
    write_list(out, "ratios", compression.ratios);
    write_count(out, "indexed_ratio", compression.indexed_ratio);
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
    write_unless(0, out, "q_lora_rank", attention.mla.q_lora_rank);
    write_count(out, "kv_lora_rank", attention.mla.kv_lora_rank);
    write_count(out, "qk_nope_head_dim", attention.mla.qk_nope_head_dim);
    write_count(out, "qk_rope_head_dim", attention.mla.qk_rope_head_dim);
    write_counts(out, "v_head_dim", attention.v_head_dim);
  } else {
    write_counts(out, "kv_heads", attention.kv_heads);
    write_counts(out, "head_dim", attention.qk_head_dim);
    if (attention.v_head_dim != attention.qk_head_dim) {
      write_counts(out, "v_head_dim", attention.v_head_dim);
    }
  }
  write_unless(0, out, "rope_head_dim", attention.rope_head_dim);
  if (attention.qk_norm != QkNorm::kNone) {
    out << YAML::Key << "qk_norm" << YAML::Value << text_of(attention.qk_norm, kQkNorms);
  }
  write_if(out, "qkv_bias", attention.qkv_bias);
  write_if(out, "output_bias", attention.output_bias);
  write_if(out, "output_gate", attention.output_gate);
  write_if(out, "sinks", attention.sinks);
  if (attention.sliding_window.most() > 0) {
    write_counts(out, "sliding_window", attention.sliding_window);
    write_count(out, "full_attention_every", attention.full_attention_every);
  }
  write_choice_of_keys(out, attention);
  out << YAML::EndMap;
}

void write_moe(YAML::Emitter& out, const MoeSpec& moe) {
  out << YAML::Key << "moe" << YAML::Value << YAML::BeginMap;
  write_count(out, "experts", moe.experts);
  write_count(out, "experts_per_token", moe.experts_per_token);
  write_count(out, "expert_ffn_hidden", moe.expert_ffn_hidden);
  write_unless(0, out, "shared_expert_ffn_hidden", moe.shared_expert_ffn_hidden);
  write_if(out, "shared_expert_gate", moe.shared_expert_gate);
  write_if(out, "expert_bias", moe.expert_bias);
  write_if(out, "clamped_activation", moe.clamped_activation);
  write_unless(0, out, "latent_hidden", moe.latent_hidden);
  write_unless(0, out, "first_dense_layers", moe.first_dense_layers);
  write_unless(1, out, "every", moe.every);
  const RouterSpec& router = moe.router;
  out << YAML::Key << "router" << YAML::Value << YAML::Flow << YAML::BeginMap;
  out << YAML::Key << "score" << YAML::Value << text_of(router.score, kScores);
  if (router.groups > 1) {
    write_count(out, "groups", router.groups);
    write_count(out, "topk_groups", router.topk_groups);
  }
  write_if(out, "expert_bias", router.expert_bias);
  write_if(out, "linear_bias", router.linear_bias);
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
  write_unless(0, out, "max_positions", model.max_positions);
  out << YAML::Key << "norm" << YAML::Value << text_of(model.norm, kNorms);
  if (!model.norm_weight) {
    out << YAML::Key << "norm_weight" << YAML::Value << false;
  }
  if (model.norm_bias != (model.norm == NormKind::kLayerNorm && model.norm_weight)) {
    out << YAML::Key << "norm_bias" << YAML::Value << model.norm_bias;
  }
  write_if(out, "embedding_norm", model.embedding_norm);
  write_unless(model.parallel_blocks ? 1 : 2, out, "norms_per_layer", model.norms_per_layer);
  write_unless(1, out, "residual_streams", model.residual_streams);
  write_unless(0, out, "residual_block", model.residual_block);
  write_if(out, "parallel_blocks", model.parallel_blocks);
  write_if(out, "tied_embeddings", model.tied_embeddings);
  write_if(out, "head_bias", model.head_bias);
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
  write_count(out, "hidden_size", model.hidden);
  write_count(out, "layers", model.layers);
  write_count(out, "vocabulary", model.vocabulary);
  write_blocks(out, model);
  write_attention(out, model.attention);
  out << YAML::Key << "mlp" << YAML::Value << YAML::BeginMap;
  write_counts(out, "ffn_hidden", model.mlp.ffn_hidden);
  out << YAML::Key << "gated" << YAML::Value << model.mlp.gated;
  write_if(out, "soft_clamped", model.mlp.soft_clamped);
  write_if(out, "bias", model.mlp.bias);
  out << YAML::EndMap;
  if (model.moe) {
    write_moe(out, *model.moe);
  }
  write_unless(0, out, "mtp_layers", model.mtp_layers);
  write_published(out, model.published);
  out << YAML::EndMap;
  ConfigWriter mixers;
  write_mixers(model.mixers, mixers);
  return std::string(out.c_str()) + "\n" + (mixers.empty() ? "" : to_yaml(mixers.take()));
}

}  // namespace stepcast
