// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/model_spec.hpp"

#include <yaml-cpp/yaml.h>

#include <array>

#include "stepcast/graph/model_ranges.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedValue<AttentionKind>, 4> kAttentionKinds = {
    {{"gqa", AttentionKind::kGqa},
     {"mla", AttentionKind::kMla},
     {"mha", AttentionKind::kGqa},
     {"mqa", AttentionKind::kGqa}}};
constexpr std::array<NamedValue<QkNorm>, 3> kQkNorms = {
    {{"none", QkNorm::kNone}, {"head", QkNorm::kHead}, {"full", QkNorm::kFull}}};
constexpr std::array<NamedValue<NormKind>, 2> kNorms = {
    {{"rmsnorm", NormKind::kRmsNorm}, {"layernorm", NormKind::kLayerNorm}}};
constexpr std::array<NamedValue<Positions>, 4> kPositions = {{{"rope", Positions::kRope},
                                                              {"learned", Positions::kLearned},
                                                              {"alibi", Positions::kAlibi},
                                                              {"none", Positions::kNone}}};
constexpr std::array<NamedValue<RouterScore>, 2> kScores = {
    {{"softmax", RouterScore::kSoftmax}, {"sigmoid", RouterScore::kSigmoid}}};

template <typename E, std::size_t N>
std::string text_of(E value, const std::array<NamedValue<E>, N>& names) {
  for (const NamedValue<E>& entry : names) {
    if (entry.value == value) {
      return std::string(entry.name);
    }
  }
  return {};
}

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

void read_gqa(MappingReader& reader, std::int64_t hidden, AttentionSpec& attention) {
  attention.kv_heads = reader.optional_count("kv_heads", attention.heads, kWidth);
  if (!reader.has("head_dim") && attention.heads > 0 && hidden % attention.heads != 0) {
    reader.error("heads", "does not divide hidden_size; give 'head_dim' as well");
  }
  const std::int64_t usual = hidden / std::max<std::int64_t>(attention.heads, 1);
  attention.qk_head_dim = reader.optional_count("head_dim", usual, kWidth);
  attention.v_head_dim = reader.optional_count("v_head_dim", attention.qk_head_dim, kWidth);
  attention.output_gate = reader.optional_flag("output_gate").value_or(false);
  if (attention.kv_heads > 0 && attention.heads % attention.kv_heads != 0) {
    reader.error("kv_heads", "must divide 'heads' (" + std::to_string(attention.heads) + ")");
  }
}

AttentionSpec read_attention(MappingReader reader, std::int64_t hidden) {
  AttentionSpec attention;
  attention.kind =
      reader.optional_choice<AttentionKind>("kind", kAttentionKinds, AttentionKind::kGqa);
  attention.heads = reader.required_count("heads", kWidth);
  if (attention.kind == AttentionKind::kMla) {
    read_mla(reader, attention);
  } else {
    read_gqa(reader, hidden, attention);
  }
  attention.qk_norm = reader.optional_choice<QkNorm>("qk_norm", kQkNorms, QkNorm::kNone);
  attention.qkv_bias = reader.optional_flag("qkv_bias").value_or(false);
  attention.output_bias = reader.optional_flag("output_bias").value_or(false);
  attention.sinks = reader.optional_flag("sinks").value_or(false);
  attention.sliding_window = reader.optional_count("sliding_window", 0, kWidthOrNone);
  attention.full_attention_every = reader.optional_count("full_attention_every", 0, kWidthOrNone);
  if (attention.sliding_window == 0) {
    attention.full_attention_every = 0;  // every layer is full anyway
  }
  reader.finish();
  return attention;
}

MlpSpec read_mlp(MappingReader reader) {
  MlpSpec mlp;
  mlp.ffn_hidden = reader.required_count("ffn_hidden", kWidth);
  mlp.gated = reader.optional_flag("gated").value_or(true);
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
  model.norm_bias = reader.optional_flag("norm_bias").value_or(model.norm == NormKind::kLayerNorm);
  model.norms_per_layer = reader.optional_count("norms_per_layer", 2, {1, 4});
  model.parallel_blocks = reader.optional_flag("parallel_blocks").value_or(false);
  model.tied_embeddings = reader.optional_flag("tied_embeddings").value_or(false);
  model.head_bias = reader.optional_flag("head_bias").value_or(false);
}

// Counts are 64-bit integers, far beyond any model, and must not overflow on the way.
void refuse_uncountable(const MappingReader& reader, const ModelSpec& model) {
  constexpr double kMost = 1e17;
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  const AttentionSpec& a = model.attention;
  const MoeSpec moe = model.moe.value_or(MoeSpec{});
  const double head = number(a.qk_head_dim) + number(a.v_head_dim);
  const double attention =
      (number(model.hidden) + number(a.mla.q_lora_rank) + number(a.mla.kv_lora_rank)) * 2.0 *
      number(a.heads) * head;
  const double widths = number(model.mlp.ffn_hidden) + number(moe.shared_expert_ffn_hidden) +
                        number(moe.experts) * (number(moe.expert_ffn_hidden) + 1.0);
  const double layer = attention + 4.0 * number(model.hidden) * widths;
  const double ends = 2.0 * number(model.hidden) * number(model.vocabulary + model.max_positions);
  if (number(model.layers + model.mtp_layers) * layer + ends > kMost) {
    reader.error("hidden_size", "and the other widths make more than 10^17 parameters; check them");
  }
}

void write_attention(YAML::Emitter& out, const AttentionSpec& attention) {
  out << YAML::Key << "attention" << YAML::Value << YAML::BeginMap;
  const bool mla = attention.kind == AttentionKind::kMla;
  out << YAML::Key << "kind" << YAML::Value << (mla ? "mla" : "gqa");
  out << YAML::Key << "heads" << YAML::Value << attention.heads;
  if (mla) {
    if (attention.mla.q_lora_rank > 0) {
      out << YAML::Key << "q_lora_rank" << YAML::Value << attention.mla.q_lora_rank;
    }
    out << YAML::Key << "kv_lora_rank" << YAML::Value << attention.mla.kv_lora_rank;
    out << YAML::Key << "qk_nope_head_dim" << YAML::Value << attention.mla.qk_nope_head_dim;
    out << YAML::Key << "qk_rope_head_dim" << YAML::Value << attention.mla.qk_rope_head_dim;
    out << YAML::Key << "v_head_dim" << YAML::Value << attention.v_head_dim;
  } else {
    out << YAML::Key << "kv_heads" << YAML::Value << attention.kv_heads;
    out << YAML::Key << "head_dim" << YAML::Value << attention.qk_head_dim;
    if (attention.v_head_dim != attention.qk_head_dim) {
      out << YAML::Key << "v_head_dim" << YAML::Value << attention.v_head_dim;
    }
  }
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
  if (attention.sliding_window > 0) {
    out << YAML::Key << "sliding_window" << YAML::Value << attention.sliding_window;
    out << YAML::Key << "full_attention_every" << YAML::Value << attention.full_attention_every;
  }
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
  for (const auto& [key, on] : {std::pair{"parallel_blocks", model.parallel_blocks},
                                {"tied_embeddings", model.tied_embeddings},
                                {"head_bias", model.head_bias}}) {
    if (on) {
      out << YAML::Key << key << YAML::Value << true;
    }
  }
}

}  // namespace

LayerKind layer_kind(const ModelSpec& model, std::int64_t index) {
  LayerKind kind;
  if (model.moe && index >= model.moe->first_dense_layers) {
    kind.moe = (index - model.moe->first_dense_layers + 1) % model.moe->every == 0;
  }
  const AttentionSpec& attention = model.attention;
  const bool full =
      attention.full_attention_every > 0 && (index + 1) % attention.full_attention_every == 0;
  kind.window = full ? 0 : attention.sliding_window;
  return kind;
}

LayerKind mtp_layer_kind(const ModelSpec& model) { return layer_kind(model, model.layers - 1); }

ModelSpec read_model(MappingReader& reader) {
  ModelSpec model;
  model.name = reader.required_text("name");
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
  model.attention = read_attention(reader.required_mapping("attention"), model.hidden);
  model.mlp = read_mlp(reader.required_mapping("mlp"));
  if (std::optional<MappingReader> moe = reader.optional_mapping("moe")) {
    model.moe = read_moe(std::move(*moe));
    if (model.layers > 0 && model.moe->first_dense_layers >= model.layers) {
      reader.error("moe", "has no layer: first_dense_layers must be less than 'layers' (" +
                              std::to_string(model.layers) + ")");
    }
  }
  model.mtp_layers = reader.optional_count("mtp_layers", 0, {0, 64});
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
  out << YAML::Key << "ffn_hidden" << YAML::Value << model.mlp.ffn_hidden;
  out << YAML::Key << "gated" << YAML::Value << model.mlp.gated;
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
  return std::string(out.c_str()) + "\n";
}

}  // namespace stepcast
