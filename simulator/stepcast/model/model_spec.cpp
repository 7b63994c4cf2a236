// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/model_spec.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/model/model_ranges.hpp"
#include "stepcast/model/model_remarks.hpp"

namespace stepcast {
namespace {

void read_mla(MappingReader& reader, AttentionSpec& attention) {
  MlaSpec& mla = attention.mla;
  mla.q_lora_rank = reader.optional_count("q_lora_rank", 0, kWidthOrNone);
  mla.kv_lora_rank = reader.required_count("kv_lora_rank", kWidth);
  mla.qk_nope_head_dim = reader.required_count("qk_nope_head_dim", kWidth);
  mla.qk_rope_head_dim = reader.required_count("qk_rope_head_dim", kWidth);
  attention.qk_head_dim = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
  attention.v_head_dim = reader.required_count("v_head_dim", kWidth);
  attention.kv_heads = attention.heads;
}

// What a head is wide unless it is said: what all heads of a layer share of the hidden state.
LayerCounts usual_head_dim(const MappingReader& reader, const ModelSpec& model,
                           const LayerCounts& heads) {
  if (!heads.uniform()) {
    if (!reader.has("head_dim")) {
      reader.error("heads", "differ by layer; give 'head_dim' as well");
    }
    return LayerCounts{};
  }
  if (!reader.has("head_dim") && heads > 0 && model.hidden % heads != 0) {
    reader.error("heads", "does not divide hidden_size; give 'head_dim' as well");
  }
  return LayerCounts(model.hidden / std::max<std::int64_t>(heads, 1));
}

// "6", or "6 in layer 1" where layers differ.
std::string told(const LayerCounts& counts, std::int64_t layer) {
  return std::to_string(counts.of_layer(layer)) +
         (counts.uniform() ? "" : " in layer " + std::to_string(layer));
}

// Both tell the first layer that breaks the rule.
void check_kv_heads(const MappingReader& reader, const AttentionSpec& attention,
                    std::int64_t layers) {
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::int64_t kv_heads = attention.kv_heads.of_layer(layer);
    if (kv_heads > 0 && attention.heads.of_layer(layer) % kv_heads != 0) {
      return reader.error("kv_heads", "must divide 'heads' (" + told(attention.heads, layer) + ")");
    }
  }
}
void check_rope(const MappingReader& reader, const AttentionSpec& attention, std::int64_t layers) {
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (attention.rope_head_dim > attention.qk_head_dim.of_layer(layer)) {
      return reader.error("rope_head_dim", "must not exceed 'head_dim' (" +
                                               told(attention.qk_head_dim, layer) + ")");
    }
  }
}

void read_gqa(MappingReader& reader, const ModelSpec& model, AttentionSpec& attention) {
  const auto counts = [&](std::string_view key, const LayerCounts& usual) {
    return optional_layer_counts(reader, key, usual, kWidth, model.layers);
  };
  attention.kv_heads = counts("kv_heads", attention.heads);
  const bool counted = reader.good({"heads", "kv_heads"});
  attention.qk_head_dim = counts("head_dim", usual_head_dim(reader, model, attention.heads));
  attention.v_head_dim = counts("v_head_dim", attention.qk_head_dim);
  attention.rope_head_dim = reader.optional_count("rope_head_dim", 0, kWidthOrNone);
  check_rope(reader, attention, model.layers);
  if (counted) {
    check_kv_heads(reader, attention, model.layers);
  }
}

void read_shared_kv(MappingReader& reader, AttentionSpec& attention) {
  attention.kv_heads = 1;
  attention.qk_head_dim = reader.required_count("head_dim", kWidth);
  attention.v_head_dim = attention.qk_head_dim;
  attention.mla.q_lora_rank = reader.required_count("q_lora_rank", kWidth);
  attention.mla.qk_rope_head_dim = reader.required_count("qk_rope_head_dim", kWidth);
  attention.output_groups = reader.required_count("output_groups", kWidth);
  attention.output_lora_rank = reader.required_count("output_lora_rank", kWidth);
  if (attention.output_groups > 0 && reader.good({"heads", "output_groups"}) &&
      attention.heads % attention.output_groups != 0) {
    reader.error("output_groups", "must divide 'heads' (" + std::to_string(attention.heads) + ")");
  }
}

IndexerSpec read_indexer(MappingReader reader) {
  IndexerSpec indexer;
  indexer.heads = reader.required_count("heads", kWidth);
  indexer.head_dim = reader.required_count("head_dim", kWidth);
  indexer.chosen = reader.required_count("chosen", kWidth);
  indexer.trained = reader.optional_flag("trained").value_or(true);
  reader.finish();
  return indexer;
}

CompressionSpec read_compression(MappingReader reader) {
  CompressionSpec compression;
  compression.ratios = reader.optional_counts("ratios", kWidthOrNone);
  compression.indexed_ratio = reader.optional_count("indexed_ratio", 0, kWidthOrNone);
  if (compression.ratios.empty()) {
    reader.error("ratios", "must give one ratio a layer, 0 for none");
  }
  reader.finish();
  return compression;
}

// What a layer attends to besides all keys or a window of them.
void read_choice_of_keys(MappingReader& reader, AttentionSpec& attention) {
  if (std::optional<MappingReader> indexer = reader.optional_mapping("indexer")) {
    attention.indexer = read_indexer(std::move(*indexer));
    if (attention.kind == AttentionKind::kGqa) {
      reader.error("indexer", "chooses among latent keys; 'kind' must be mla or shared_kv");
    } else if (attention.kind == AttentionKind::kSharedKv && !reader.has("compression")) {
      reader.error("indexer",
                   "of kind shared_kv chooses among compressed keys; give 'compression'");
    }
  }
  if (std::optional<MappingReader> compression = reader.optional_mapping("compression")) {
    attention.compression = read_compression(std::move(*compression));
    if (attention.kind != AttentionKind::kSharedKv) {
      reader.error("compression", "is of keys that are values as well; 'kind' must be shared_kv");
    }
    if (attention.compression.indexed_ratio > 0 && !attention.indexer) {
      reader.error("compression", "has 'indexed_ratio', so 'indexer' must be given");
    }
  }
}

void read_windows(MappingReader& reader, const ModelSpec& model, AttentionSpec& attention) {
  attention.sliding_window =
      optional_layer_counts(reader, "sliding_window", LayerCounts{}, kWidthOrNone, model.layers);
  attention.full_attention_every = reader.optional_count("full_attention_every", 0, kWidthOrNone);
  if (!attention.sliding_window.uniform() && attention.full_attention_every > 0) {
    reader.error("full_attention_every",
                 "must be left out: 'sliding_window' says it of each layer, 0 for full attention");
  }
  if (attention.sliding_window.most() == 0) {
    attention.full_attention_every = 0;  // every layer is full anyway
  }
}

AttentionSpec read_attention(MappingReader reader, const ModelSpec& model) {
  AttentionSpec attention;
  attention.kind =
      reader.optional_choice<AttentionKind>("kind", kAttentionKinds, AttentionKind::kGqa);
  attention.heads = required_layer_counts(reader, "heads", {kWidth, kWidth}, model.layers);
  if (attention.kind != AttentionKind::kGqa && !attention.heads.uniform()) {
    reader.error("heads", "must be one number for all layers, unless 'kind' is gqa");
    attention.heads = attention.heads.most();
  }
  if (attention.kind == AttentionKind::kMla) {
    read_mla(reader, attention);
  } else if (attention.kind == AttentionKind::kSharedKv) {
    read_shared_kv(reader, attention);
  } else {
    read_gqa(reader, model, attention);
  }
  attention.output_gate = reader.optional_flag("output_gate").value_or(false);
  attention.qk_norm = reader.optional_choice<QkNorm>("qk_norm", kQkNorms, QkNorm::kNone);
  attention.qkv_bias = reader.optional_flag("qkv_bias").value_or(false);
  attention.output_bias = reader.optional_flag("output_bias").value_or(false);
  attention.sinks = reader.optional_flag("sinks").value_or(false);
  read_windows(reader, model, attention);
  read_choice_of_keys(reader, attention);
  reader.finish();
  return attention;
}

MlpSpec read_mlp(MappingReader reader, std::int64_t layers) {
  MlpSpec mlp;
  mlp.ffn_hidden = required_layer_counts(reader, "ffn_hidden", {kWidth, kWidthOrNone}, layers);
  mlp.gated = reader.optional_flag("gated").value_or(true);
  mlp.soft_clamped = reader.optional_flag("soft_clamped").value_or(false);
  if (mlp.soft_clamped && !mlp.gated) {
    reader.error("soft_clamped", "is of a gated activation; leave it out, or set 'gated: true'");
  }
  mlp.bias = reader.optional_flag("bias").value_or(false);
  reader.finish();
  return mlp;
}

RouterSpec read_router(MappingReader& reader, const MoeSpec& moe) {
  RouterSpec router;
  std::optional<MappingReader> mapping = reader.optional_mapping("router");
  if (!mapping) {
    return router;
  }
  router.score = mapping->optional_choice<RouterScore>("score", kScores, RouterScore::kSoftmax);
  router.groups = mapping->optional_count("groups", 1, kWidth);
  router.topk_groups = mapping->optional_count("topk_groups", 1, kWidth);
  router.expert_bias = mapping->optional_flag("expert_bias").value_or(false);
  router.linear_bias = mapping->optional_flag("linear_bias").value_or(false);
  if (router.groups > 0 && moe.experts % router.groups != 0) {
    mapping->error("groups",
                   "must divide the number of experts (" + std::to_string(moe.experts) + ")");
  }
  if (router.topk_groups > router.groups) {
    mapping->error("topk_groups", "must not exceed 'groups'");
  }
  mapping->finish();
  return router;
}

MoeSpec read_moe(MappingReader reader) {
  MoeSpec moe;
  moe.experts = reader.required_count("experts", kWidth);
  moe.experts_per_token = reader.required_count("experts_per_token", kWidth);
  moe.expert_ffn_hidden = reader.required_count("expert_ffn_hidden", kWidth);
  moe.shared_expert_ffn_hidden = reader.optional_count("shared_expert_ffn_hidden", 0, kWidthOrNone);
  moe.shared_expert_gate = reader.optional_flag("shared_expert_gate").value_or(false);
  moe.expert_bias = reader.optional_flag("expert_bias").value_or(false);
  moe.clamped_activation = reader.optional_flag("clamped_activation").value_or(false);
  moe.latent_hidden = reader.optional_count("latent_hidden", 0, kWidthOrNone);
  moe.first_dense_layers = reader.optional_count("first_dense_layers", 0, kWidthOrNone);
  moe.every = reader.optional_count("every", 1, kLayers);
  moe.router = read_router(reader, moe);
  if (moe.experts_per_token > moe.experts) {
    reader.error("experts_per_token", "must not exceed 'experts'");
  }
  reader.finish();
  return moe;
}

PublishedCounts read_published(MappingReader reader) {
  PublishedCounts published;
  published.total = reader.optional_text("total");
  published.active = reader.optional_text("active");
  for (const auto& [key, text] :
       {std::pair{"total", published.total}, {"active", published.active}}) {
    if (!text.empty() && !parse_published_count(text)) {
      reader.error(key, "must be a whole number of parameters, or one with a unit: 671 B, 1.5 T");
    }
  }
  published.source = reader.required_text("source");
  if (reader.has("source") && published.source.empty()) {
    reader.error("source", "is empty; say where the counts are published");
  }
  reader.finish();
  return published;
}

void read_blocks(MappingReader& reader, ModelSpec& model) {
  model.positions = reader.optional_choice<Positions>("positions", kPositions, Positions::kRope);
  model.max_positions = reader.optional_count("max_positions", 0, kVocabularySize);
  if (model.positions == Positions::kLearned && model.max_positions == 0) {
    reader.error("positions", "is learned, so 'max_positions' must be given");
  }
  model.norm = reader.optional_choice<NormKind>("norm", kNorms, NormKind::kRmsNorm);
  model.norm_weight = reader.optional_flag("norm_weight").value_or(true);
  model.norm_bias = reader.optional_flag("norm_bias")
                        .value_or(model.norm == NormKind::kLayerNorm && model.norm_weight);
  model.embedding_norm = reader.optional_flag("embedding_norm").value_or(false);
  model.parallel_blocks = reader.optional_flag("parallel_blocks").value_or(false);
  model.norms_per_layer =
      reader.optional_count("norms_per_layer", model.parallel_blocks ? 1 : 2, {1, 4});
  if (model.norms_per_layer == 1 && !model.parallel_blocks) {
    reader.error("norms_per_layer", "is 1, which needs 'parallel_blocks: true'; give 2 or 4");
  }
  model.tied_embeddings = reader.optional_flag("tied_embeddings").value_or(false);
  model.head_bias = reader.optional_flag("head_bias").value_or(false);
  model.residual_streams = reader.optional_count("residual_streams", 1, {1, 64});
  model.residual_block = reader.optional_count("residual_block", 0, kLayerOrNone);
  const bool several = model.residual_streams > 1 || model.residual_block > 0;
  if (several && (model.parallel_blocks || model.norms_per_layer > 2)) {
    reader.error(model.residual_block > 0 ? "residual_block" : "residual_streams",
                 "needs blocks one after the other with a norm each before them");
  }
}

void check_ratios(const MappingReader& reader, const ModelSpec& model) {
  const std::int64_t given = std::ssize(model.attention.compression.ratios);
  if (given > 0 && (given < model.layers || given > model.layers + model.mtp_layers)) {
    reader.error("attention", "has " + std::to_string(given) + " ratios of compression for " +
                                  std::to_string(model.layers) +
                                  " layers; give one of each, and of prediction modules if any");
  }
}

void check_kinds(const MappingReader& reader, const ModelSpec& model) {
  if (layer_kinds(model, kMostLayerKinds) > kMostLayerKinds) {
    reader.error("layers", "are of more than " + std::to_string(kMostLayerKinds) +
                               " kinds; give lists that begin again together, or a larger "
                               "'residual_block'");
  }
}

// A head that is key and value is read through a window, compressed, or both, never as a whole.
void check_shared_keys(const MappingReader& reader, const ModelSpec& model) {
  const auto sees_none = [](LayerKind kind) {
    return kind.mixer == Mixer::kAttention && kind.window == 0 && kind.compression == 0;
  };
  bool blind = model.layers > 0 && sees_none(mtp_layer_kind(model));
  for (std::int64_t layer = 0; layer < model.layers && !blind; ++layer) {
    blind = sees_none(layer_kind(model, layer));
  }
  if (model.attention.kind == AttentionKind::kSharedKv && blind) {
    reader.error("attention",
                 "of kind shared_kv has layers without keys: give 'sliding_window', without "
                 "'full_attention_every', or a ratio of 'compression' for every layer");
  }
}

// A layer that lacks its mixer or its feed-forward is known as one block behind its norm.
void check_missing_blocks(const MappingReader& reader, const ModelSpec& model) {
  const bool several =
      model.parallel_blocks || model.residual_streams > 1 || model.residual_block > 0;
  for (std::int64_t layer = 0; several && layer < model.layers; ++layer) {
    const LayerKind kind = layer_kind(model, layer);
    const bool mixes = kind.mixer != Mixer::kNone;
    if (!mixes || !feeds_forward(model, kind)) {
      return reader.error(mixes ? "mlp" : "mixers",
                          "leaves layer " + std::to_string(layer) +
                              " without a block, which parallel blocks and several residual "
                              "streams need both of");
    }
  }
}

// Counts are 64-bit integers, far beyond any model, and must not overflow on the way.
void refuse_uncountable(const MappingReader& reader, const ModelSpec& model) {
  constexpr double kMost = 1e17;
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  const AttentionSpec& a = model.attention;
  const MoeSpec moe = model.moe.value_or(MoeSpec{});
  const double head = number(a.qk_head_dim.most()) + number(a.v_head_dim.most());
  const double heads = number(a.heads.most());
  const double attention =
      (number(model.hidden) + number(a.mla.q_lora_rank) + number(a.mla.kv_lora_rank)) * 2.0 *
      heads * head;
  const double widths = number(model.mlp.ffn_hidden.most()) + number(moe.shared_expert_ffn_hidden) +
                        number(moe.experts) * (number(moe.expert_ffn_hidden) + 1.0);
  const LinearAttentionSpec linear = model.mixers.linear_attention.value_or(LinearAttentionSpec{});
  const double mixers =
      number(model.hidden) * (3.0 * (number(linear.qk_heads) * number(linear.qk_head_dim) +
                                     number(linear.heads) * number(linear.v_head_dim)) +
                              4.0 * number(model.hidden)) +
      number(a.output_lora_rank) * (heads * head + number(model.hidden) * number(a.output_groups));
  const double layer = attention + mixers + 4.0 * number(model.hidden) * widths;
  const double ends = 2.0 * number(model.hidden) * number(model.vocabulary + model.max_positions);
  if (number(model.layers + model.mtp_layers) * layer + ends > kMost) {
    reader.error("hidden_size", "and the other widths make more than 10^17 parameters; check them");
  }
}

}  // namespace

ModelSpec read_model(MappingReader& reader) {
  ModelSpec model;
  model.name = required_name(reader);
  if (reader.has("name") && model.name.empty()) {
    reader.error("name", "is empty; give the model a name");
  }
  model.title = reader.optional_text("title");
  model.title = model.title.empty() ? model.name : model.title;
  model.family = reader.optional_text("family");
  model.source = reader.optional_text("source");
  model.note = reader.optional_text("note");
  model.hidden = reader.required_count("hidden_size", kWidth);
  model.layers = reader.required_count("layers", kLayers);
  model.vocabulary = reader.required_count("vocabulary", kVocabularySize);
  read_blocks(reader, model);
  model.attention = read_attention(reader.required_mapping("attention"), model);
  model.mixers = read_mixers(reader, model.layers);
  model.mlp = read_mlp(reader.required_mapping("mlp"), model.layers);
  if (std::optional<MappingReader> moe = reader.optional_mapping("moe")) {
    model.moe = read_moe(std::move(*moe));
    if (model.layers > 0 && model.moe->first_dense_layers >= model.layers) {
      reader.error("moe", "has no layer: first_dense_layers must be less than 'layers' (" +
                              std::to_string(model.layers) + ")");
    }
  }
  model.mtp_layers = reader.optional_count("mtp_layers", 0, {0, 64});
  check_ratios(reader, model);
  check_kinds(reader, model);
  check_shared_keys(reader, model);
  check_missing_blocks(reader, model);
  if (std::optional<MappingReader> published = reader.optional_mapping("published")) {
    model.published = read_published(std::move(*published));
  }
  reader.finish();
  refuse_uncountable(reader, model);
  return model;
}

ModelSpec load_model(const std::filesystem::path& file) {
  const ConfigNode root = load_config(file);
  Diagnostics diagnostics;
  MappingReader reader(root, "", diagnostics);
  ModelSpec model = read_model(reader);
  diagnostics.throw_if_any();
  return model;
}

}  // namespace stepcast
