// SPDX-License-Identifier: Apache-2.0
// Sources: Megatron-LM, megatron/training/arguments.py (validate_args: the width of SwiGLU, the
// switch of grouped queries, latent widths) and core/transformer/transformer_config.py.
#include <algorithm>
#include <array>

#include "frameworks/job_size.hpp"
#include "frameworks/known_model.hpp"
#include "frameworks/megatron_core.hpp"
#include "frameworks/megatron_mixers.hpp"
#include "frameworks/megatron_vocabulary.hpp"
#include "frameworks/moe_layer_pattern.hpp"
#include "frameworks/words.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kFrequency = "moe_layer_freq";

// Refuses a named model whose layers differ, and leaves one whose layers do not.
void refuse_uneven_layers(const FrameworkReader& settings, const MegatronSource& source,
                          ModelSpec& model) {
  if (!layers_differ(model)) {
    return;
  }
  settings.diagnostics().error(
      source.whole_file,
      "names " + model.name + ", whose layers differ, which no field of the framework says");
  model.attention = {};
  model.mlp = {};
  model.mixers = {};
}

class ModelFields {
 public:
  explicit ModelFields(const MegatronFields& fields)
      : fields_(fields),
        settings_(fields.settings()),
        source_(fields.source()),
        model_(fields.source().model) {}

  MegatronModel model() {
    refuse_other_layers();
    refuse_uneven_layers(settings_, source_, model_);
    read_sizes();
    model_.mtp_layers = count("model.mtp_layers", model_.mtp_layers);
    const bool shared_kv = megatron_layers(settings_) == MegatronLayers::kDeepseekV4 ||
                           model_.attention.kind == AttentionKind::kSharedKv;
    shared_kv ? read_megatron_shared_kv(fields_, model_) : read_attention();
    read_blocks();
    read_megatron_mixers(fields_, model_);
    read_mlp();
    read_experts();
    const std::optional<VocabularyRange> vocabulary = read_megatron_vocabulary(fields_, model_);
    if (source_.model_is_named && !same_shape(model_, source_.model)) {
      model_.title = {};
      model_.note = {};
      model_.published = {};
    }
    return {std::move(model_), vocabulary};
  }

 private:
  [[nodiscard]] std::int64_t count(std::string_view ours, std::int64_t fallback) const {
    return fields_.count(ours).value_or(fallback);
  }

  [[nodiscard]] std::int64_t needed(std::string_view ours, std::int64_t named) const {
    const std::optional<std::int64_t> given = fields_.degree(ours);
    if (!given && named == 0 && !fields_.has(ours)) {
      const std::string message = "the model needs '" + std::string(MegatronFields::word(ours)) +
                                  "'; give it, or a file that has it";
      fields_.error(message);
    }
    return std::max<std::int64_t>(given.value_or(named), 1);
  }

  // Mamba and other state space models: no layer of a model here is one.
  void refuse_other_layers() {
    const std::string type = settings_.text("model_type", "model").value_or("gpt");
    bool others = type == "mamba" || type == "hybrid";
    for (const std::string_view name :
         {"hybrid_override_pattern", "hybrid_layer_pattern", "hybrid_attention_ratio"}) {
      const std::string value = settings_.as_written(name, "model").value_or("false");
      others = others || (value != "false" && value != "0.0" && value != "False");
    }
    if (others) {
      fields_.error(
          "has layers of state spaces, which no "
          "model here has");
    }
  }

  void read_sizes() {
    model_.layers = needed("model.layers", model_.layers);
    model_.hidden = needed("model.hidden_size", model_.hidden);
    model_.attention.heads = needed("model.attention.heads", model_.attention.heads);
    const bool untied =
        settings_.flag("untie_embeddings_and_output_weights", "model.tied_embeddings")
            .value_or(!model_.tied_embeddings);
    model_.tied_embeddings =
        settings_.flag("share_embeddings_and_output_weights", "model.tied_embeddings")
            .value_or(!untied);
  }

  void read_attention() {
    const bool was_latent = model_.attention.kind == AttentionKind::kMla;
    const bool latent =
        settings_.flag("multi_latent_attention", "model.attention.kind").value_or(was_latent) ||
        megatron_layers(settings_) == MegatronLayers::kKimiK3;
    latent ? read_latent(was_latent) : read_grouped(was_latent);
    QkNorm& norm = model_.attention.qk_norm;
    const auto normed = settings_.flag("qk_layernorm", "model.attention.qk_norm");
    if (latent) {
      norm = QkNorm::kNone;  // the latents' norms are part of the block
    } else if (normed && *normed != (norm != QkNorm::kNone)) {
      norm = *normed ? QkNorm::kHead : QkNorm::kNone;
    }
    read_window();
    settings_.take_over("attention_output_gate", "model.attention.output_gate",
                        model_.attention.output_gate);
    if (const auto softmax = settings_.text("softmax_type", "model.attention.sinks")) {
      model_.attention.sinks = *softmax == "learnable";
    }
    settings_.take_over("use_sink_attention", "model.attention.sinks", model_.attention.sinks);
  }

  void read_latent(bool was_latent) {
    AttentionSpec& attention = model_.attention;
    MlaSpec& mla = attention.mla;
    attention.kind = AttentionKind::kMla;
    if (!was_latent) {
      mla = {0, 32, 128, 64};  // arguments.py: --kv-lora-rank 32, where the dataclass has 512
      attention.v_head_dim = 128;
    }
    const std::int64_t q_rank = count("model.attention.q_lora_rank", mla.q_lora_rank);
    mla.q_lora_rank = q_rank;
    mla.kv_lora_rank = source_.model_is_named
                           ? count("model.attention.kv_lora_rank", mla.kv_lora_rank)
                           : fields_.count_or("model.attention.kv_lora_rank", mla.kv_lora_rank);
    mla.qk_nope_head_dim = count("model.attention.qk_nope_head_dim", mla.qk_nope_head_dim);
    mla.qk_rope_head_dim = count("model.attention.qk_rope_head_dim", mla.qk_rope_head_dim);
    attention.v_head_dim = count("model.attention.v_head_dim", attention.v_head_dim);
    attention.qk_head_dim = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
    attention.kv_heads = attention.heads;
    settings_.without_effect("kv_channels group_query_attention num_query_groups");
  }

  void read_grouped(bool was_latent) {
    AttentionSpec& attention = model_.attention;
    const bool named = source_.model_is_named && !was_latent;
    const std::int64_t usual = was_latent ? attention.mla.qk_nope_head_dim
                               : named && attention.heads == source_.model.attention.heads
                                   ? attention.qk_head_dim
                                   : model_.hidden / attention.heads;
    attention.kind = AttentionKind::kGqa;
    attention.mla = {};
    attention.qk_head_dim = count("model.attention.head_dim", usual);
    attention.v_head_dim = attention.qk_head_dim;
    const bool were_grouped = named && attention.kv_heads < source_.model.attention.heads;
    const auto given = settings_.flag("group_query_attention", "model.attention.kv_heads");
    const std::optional<std::int64_t> groups = fields_.count("model.attention.kv_heads");
    const bool grouped = given.value_or(
        source_.grouped_by_switch ? were_grouped : groups.has_value() || were_grouped);
    if (groups && !grouped && *groups != attention.heads) {
      settings_.assume("model.attention.kv_heads", std::to_string(attention.heads),
                       "num_query_groups has no effect without group_query_attention");
    }
    attention.kv_heads = grouped ? groups.value_or(were_grouped ? attention.kv_heads.same() : 1)
                                 : attention.heads.same();
    settings_.without_effect("q_lora_rank kv_lora_rank qk_head_dim qk_pos_emb_head_dim v_head_dim");
  }

  // The window of Transformer Engine counts the tokens before one; ours counts it as well.
  void read_window() {
    AttentionSpec& attention = model_.attention;
    if (const auto window = settings_.texts("window_size", "model.attention.sliding_window");
        window && !window->empty()) {
      std::string first = window->front();
      std::erase_if(first, [](char c) { return c == '(' || c == ')'; });
      const bool whole = !first.empty() && first.size() < 10 &&
                         std::all_of(first.begin(), first.end(), ascii::is_digit);
      if (!whole && first != "-1") {
        settings_.error("window_size", "must be two counts, as in 127,0");
      }
      attention.sliding_window = whole ? std::stoll(first) + 1 : 0;
    }
    if (const auto sink =
            settings_.count("sink_sliding_window", "model.attention.sliding_window")) {
      attention.sliding_window = *sink;
      attention.full_attention_every =
          settings_.flag("sink_window_even_layers_only", "model.attention.full_attention_every")
                  .value_or(true)
              ? 2
              : 0;
    } else {
      settings_.take_over("window_attn_skip_freq", "model.attention.full_attention_every",
                          attention.full_attention_every);
    }
    attention.full_attention_every =
        attention.sliding_window > 0 ? attention.full_attention_every : 0;
  }

  void read_blocks() {
    if (const auto norm = settings_.text("normalization", "model.norm")) {
      const std::optional<std::string> ours = fields_.words().ours_of("normalization", *norm);
      if (!ours) {
        settings_.error("normalization", "must be LayerNorm or RMSNorm, not '" + *norm + "'");
      }
      model_.norm = ours == "rmsnorm" ? NormKind::kRmsNorm : NormKind::kLayerNorm;
      model_.norm_bias = model_.norm == NormKind::kLayerNorm;
    }
    read_positions();
  }

  void read_positions() {
    constexpr std::string_view kKey = "position_embedding_type";
    if (const auto positions = settings_.text(kKey, "model.positions")) {
      const std::optional<std::string> ours = fields_.words().ours_of(kKey, *positions);
      if (!ours) {
        settings_.error(kKey, "must be learned_absolute, rope, mrope, yarn, alibi or none, not '" +
                                  *positions + "'");
      }
      model_.positions = ours == "rope"    ? Positions::kRope
                         : ours == "none"  ? Positions::kNone
                         : ours == "alibi" ? Positions::kAlibi
                                           : Positions::kLearned;
    }
    const std::optional<std::int64_t> rows =
        settings_.count("max_position_embeddings", "model.max_positions");
    const bool learned = model_.positions == Positions::kLearned;
    if (learned && !rows && model_.max_positions == 0) {
      fields_.error("the model needs 'max_position_embeddings': its positions are learned");
    }
    model_.max_positions = learned ? rows.value_or(model_.max_positions) : 0;
  }

  void read_mlp() {
    const auto swiglu = settings_.flag("swiglu", "model.mlp.gated");
    const auto gated = settings_.flag("gated_linear_unit", "model.mlp.gated");
    const bool geglu = settings_.is_on("quick_geglu", "model.mlp.gated");
    const bool plain = settings_.is_on("squared_relu", "model.mlp.gated") ||
                       settings_.is_on("openai_gelu", "model.mlp.gated");
    model_.mlp.gated = gated.value_or(swiglu.value_or(model_.mlp.gated && !plain)) || geglu;
    const bool of_function = read_activation_function();
    // 4 h, or of three matrices 2/3 of it in blocks of 64.
    const std::int64_t usual =
        swiglu.value_or(false) || of_function ? 8 * model_.hidden / 3 / 64 * 64 : 4 * model_.hidden;
    if (model_.mlp.ffn_hidden > 0 || fields_.has("model.mlp.ffn_hidden")) {
      model_.mlp.ffn_hidden = count("model.mlp.ffn_hidden", model_.mlp.ffn_hidden);
    } else {
      model_.mlp.ffn_hidden = fields_.count_or("model.mlp.ffn_hidden", usual);
    }
    const auto bias = settings_.flag("add_bias_linear", "model.mlp.bias");
    if (bias) {
      model_.mlp.bias = *bias;
      model_.attention.qkv_bias = *bias;
      model_.attention.output_bias = *bias;
    }
    if (const auto qkv = settings_.flag("add_qkv_bias", "model.attention.qkv_bias")) {
      model_.attention.qkv_bias = *qkv || bias.value_or(false);
    }
    linear_bias_ = bias;
  }

  // The function of the core's YAML, which decides beside any gated_linear_unit; whether it has a
  // gate.
  bool read_activation_function() {
    constexpr std::string_view kKey = "activation_func";
    const auto function = settings_.text(kKey, "model.mlp.gated");
    if (!function) {
      return false;
    }
    const std::optional<std::string> gated = fields_.words().ours_of(kKey, *function);
    if (!gated) {
      settings_.error(kKey, "must be swiglu, gelu or squaredrelu, not '" + *function + "'");
    }
    model_.mlp.gated = gated == "true";
    return model_.mlp.gated;
  }

  void read_experts() {
    const std::int64_t experts = count("model.moe.experts", model_.moe ? model_.moe->experts : 0);
    // Megatron-DeepSpeed calls a dense layer one of one expert.
    if (experts < (source_.deepspeed ? 2 : 1)) {
      model_.moe.reset();
      settings_.without_effect(
          "moe_router_topk moe_ffn_hidden_size moe_shared_expert_intermediate_size "
          "moe_layer_freq moe_router_score_function moe_router_num_groups "
          "moe_router_group_topk moe_router_enable_expert_bias moe_shared_expert_gate "
          "activation_func_clamp_value");
      return;
    }
    const bool had = model_.moe.has_value();
    MoeSpec moe = model_.moe.value_or(MoeSpec{});
    moe.experts = experts;
    moe.experts_per_token =
        had ? count("model.moe.experts_per_token", moe.experts_per_token)
            : fields_.count_or("model.moe.experts_per_token", source_.deepspeed ? 1 : 2);
    moe.expert_ffn_hidden =
        count("model.moe.expert_ffn_hidden", had ? moe.expert_ffn_hidden : model_.mlp.ffn_hidden);
    settings_.take_over("moe_shared_expert_intermediate_size", "model.moe.shared_expert_ffn_hidden",
                        moe.shared_expert_ffn_hidden);
    settings_.take_over("moe_shared_expert_gate", "model.moe.shared_expert_gate",
                        moe.shared_expert_gate);
    moe.expert_bias = linear_bias_.value_or(had ? moe.expert_bias : model_.mlp.bias);
    moe.clamped_activation = settings_.has("activation_func_clamp_value") || moe.clamped_activation;
    (void)settings_.number("activation_func_clamp_value", "model.moe.clamped_activation");
    moe.latent_hidden = megatron_latent_width(settings_, moe.latent_hidden);
    read_router(moe.router);
    model_.moe = moe;
    place_experts();
    read_counted_experts();
  }

  void read_router(RouterSpec& router) {
    if (const auto score = settings_.text("moe_router_score_function", "model.moe.router.score")) {
      router.score = megatron_score(*score);
    }
    settings_.take_over("moe_router_num_groups", "model.moe.router.groups", router.groups);
    settings_.take_over("moe_router_group_topk", "model.moe.router.topk_groups",
                        router.topk_groups);
    settings_.take_over("moe_router_enable_expert_bias", "model.moe.router.expert_bias",
                        router.expert_bias);
  }

  // MindSpeed counts the first layers without experts, and shared experts as wide as the others.
  void read_counted_experts() {
    MoeSpec& moe = *model_.moe;
    const auto dense = settings_.count("first_k_dense_replace", "model.moe.first_dense_layers");
    moe.first_dense_layers = std::max<std::int64_t>(0, dense.value_or(moe.first_dense_layers));
    const auto shared = settings_.count("n_shared_experts", "model.moe.shared_expert_ffn_hidden");
    if (shared) {
      moe.shared_expert_ffn_hidden = bounded_product(*shared, moe.expert_ffn_hidden);
    }
  }

  void place_experts() {
    const auto written = settings_.as_written(kFrequency, "model.moe.first_dense_layers");
    if (!written && source_.deepspeed) {
      model_.moe->every = 2;
      settings_.assume("model.moe.every", "2", "expert_interval is 2 unless it is given");
    }
    if (!written) {
      return;
    }
    const auto pattern = moe_layer_pattern(*written, model_.layers);
    if (!pattern || static_cast<std::int64_t>(pattern->size()) != model_.layers) {
      settings_.error(kFrequency,
                      "must be a number, or a text such as ([0]*3+[1]*58) with as many "
                      "layers as the model has (" +
                          std::to_string(model_.layers) + ")");
      return;
    }
    const std::optional<MoePlaces> places = moe_places(*pattern);
    if (!places) {
      settings_.error(kFrequency,
                      "leaves experts in layers other than every n-th after a first few, and a "
                      "model file has no other pattern; give the nearest such one");
      return;
    }
    model_.moe->first_dense_layers = places->first_dense_layers;
    model_.moe->every = places->every;
    if (!places->exact) {
      settings_.assume("model.moe.every", std::to_string(places->every),
                       "experts in as many layers, the last of every few; the file has the first");
    }
  }

  const MegatronFields& fields_;
  FrameworkReader& settings_;
  const MegatronSource& source_;
  ModelSpec model_;
  std::optional<bool> linear_bias_;
};

}  // namespace

ModelSpec megatron_default_model() {
  ModelSpec model;
  model.name = "imported";
  model.positions = Positions::kLearned;
  model.norm = NormKind::kLayerNorm;
  model.norm_bias = true;
  model.tied_embeddings = true;
  model.mlp.gated = false;
  model.mlp.bias = true;
  model.attention.qkv_bias = true;
  model.attention.output_bias = true;
  return model;
}

MegatronModel read_megatron_model(const MegatronFields& fields) {
  return ModelFields(fields).model();
}

}  // namespace stepcast
