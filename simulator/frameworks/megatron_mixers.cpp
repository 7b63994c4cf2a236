// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_mixers.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "frameworks/megatron_writer.hpp"
#include "frameworks/moe_layer_pattern.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/scalar.hpp"
#include "stepcast/config/value_message.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kOurMixers = "model.mixers";
constexpr std::string_view kLinearLayers = "linear_attention_freq";
constexpr std::string_view kLfmTypes = "lfm_layer_types";
constexpr std::string_view kConvolutionLayer = "conv";
constexpr std::string_view kAttentionLayer = "full_attention";

// Every n-th layer has attention; a list names those that do not.
std::optional<std::vector<Mixer>> linear_pattern(std::string_view text, std::int64_t layers) {
  std::vector<Mixer> pattern;
  if (const std::optional<std::int64_t> every = whole_number_in(text)) {
    if (*every < 1 || *every > layers) {
      return std::nullopt;
    }
    pattern.assign(static_cast<std::size_t>(*every), Mixer::kLinearAttention);
    pattern.back() = Mixer::kAttention;
    return pattern;
  }
  const auto listed = moe_layer_pattern(text, layers);
  if (!listed || std::ssize(*listed) != layers) {
    return std::nullopt;
  }
  for (const bool linear : *listed) {
    pattern.push_back(linear ? Mixer::kLinearAttention : Mixer::kAttention);
  }
  return pattern;
}

// The widths of linear attention and of the indexer by our keys.
struct LinearWidth {
  std::string_view ours;
  std::int64_t LinearAttentionSpec::*width;
};
constexpr auto kLinearWidths = std::to_array<LinearWidth>({
    {"model.linear_attention.heads", &LinearAttentionSpec::heads},
    {"model.linear_attention.qk_heads", &LinearAttentionSpec::qk_heads},
    {"model.linear_attention.qk_head_dim", &LinearAttentionSpec::qk_head_dim},
    {"model.linear_attention.v_head_dim", &LinearAttentionSpec::v_head_dim},
    {"model.linear_attention.convolution_width", &LinearAttentionSpec::convolution_width},
});
struct IndexerWidth {
  std::string_view ours;
  std::string_view of_deepseek;  // the field of Primus' deepseek_v4
  std::int64_t IndexerSpec::*width;
};
constexpr std::array kIndexerWidths = {
    IndexerWidth{"model.attention.indexer.heads", "index_n_heads", &IndexerSpec::heads},
    IndexerWidth{"model.attention.indexer.head_dim", "index_head_dim", &IndexerSpec::head_dim},
    IndexerWidth{"model.attention.indexer.chosen", "index_topk", &IndexerSpec::chosen},
};

void read_linear(const MegatronFields& fields, DeltaRule rule, ModelSpec& model) {
  FrameworkReader& settings = fields.settings();
  const std::string text = settings.as_written(kLinearLayers, kOurMixers).value_or("4");
  const auto pattern = linear_pattern(text, model.layers);
  if (!pattern) {
    settings.error(kLinearLayers,
                   "must be a number of layers of which the last has attention, or a "
                   "text such as ([1]*3+[0])*12 with as many layers as the model has (" +
                       std::to_string(model.layers) + ")");
    return;
  }
  LinearAttentionSpec linear = model.mixers.linear_attention.value_or(LinearAttentionSpec{
      .heads = 32, .qk_heads = 16, .qk_head_dim = 128, .v_head_dim = 128, .convolution_width = 4});
  linear.rule = rule;
  for (const LinearWidth& row : kLinearWidths) {
    linear.*row.width =
        std::max<std::int64_t>(1, fields.count(row.ours).value_or(linear.*row.width));
  }
  const double turned =
      settings.number("rotary_percent", "model.attention.rope_head_dim").value_or(1.0);
  if (model.attention.kind == AttentionKind::kGqa && turned > 0.0 && turned < 1.0) {
    model.attention.rope_head_dim =
        static_cast<std::int64_t>(turned * static_cast<double>(model.attention.qk_head_dim));
  }
  if (linear.heads % linear.qk_heads != 0) {
    settings.error("linear_num_key_heads",
                   "must divide linear_num_value_heads (" + std::to_string(linear.heads) + ")");
  }
  model.mixers = {shortest_pattern(*pattern, model.layers), std::nullopt, linear};
}

void read_convolutions(const MegatronFields& fields, ModelSpec& model) {
  FrameworkReader& settings = fields.settings();
  const std::vector<std::string> types =
      settings.texts(kLfmTypes, kOurMixers).value_or(std::vector<std::string>{});
  std::vector<Mixer> pattern;
  for (const std::string& type : types) {
    if (type != kConvolutionLayer && type != kAttentionLayer) {
      settings.error(kLfmTypes, "has '" + shown(type) + "'; layers are conv or full_attention");
      return;
    }
    pattern.push_back(type == kConvolutionLayer ? Mixer::kConvolution : Mixer::kAttention);
  }
  if (std::ssize(pattern) != model.layers) {
    settings.error(kLfmTypes, "has " + std::to_string(pattern.size()) + " items for " +
                                  std::to_string(model.layers) + " layers; give one of each");
    return;
  }
  ConvolutionSpec convolution = model.mixers.convolution.value_or(ConvolutionSpec{3, false});
  convolution.width = std::max<std::int64_t>(
      1, fields.count("model.convolution.width").value_or(convolution.width));
  convolution.bias =
      settings.flag("conv_bias", "model.convolution.bias").value_or(convolution.bias);
  model.mixers = {shortest_pattern(pattern, model.layers), convolution, std::nullopt};
  if (!model.mixers.has(Mixer::kConvolution)) {
    model.mixers = {};
  }
}

std::vector<std::int64_t> ratios_of(std::string_view text) {
  std::vector<std::int64_t> ratios;
  std::int64_t value = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const auto read = std::from_chars(at, end, value);
    if (read.ec == std::errc{}) {
      ratios.push_back(value);
    }
    at = read.ec == std::errc{} ? read.ptr : at + 1;
  }
  return ratios;
}

// Kimi Delta Attention beside latent attention, residuals of blocks and experts in a latent space.
void read_kimi(const MegatronFields& fields, ModelSpec& model) {
  FrameworkReader& settings = fields.settings();
  read_linear(fields, DeltaRule::kKimiDelta, model);
  if (settings.flag("mla_use_nope", "model.positions").value_or(true)) {
    model.positions = Positions::kNone;
  }
  model.attention.output_gate =
      settings.flag("mla_use_output_gate", "model.attention.output_gate").value_or(true);
  model.residual_block = fields.count("model.residual_block").value_or(model.residual_block);
  model.mlp.soft_clamped = true;  // activation_situ_beta of the type's base file
}

void read_dsa(const MegatronFields& fields, ModelSpec& model) {
  FrameworkReader& settings = fields.settings();
  IndexerSpec indexer = model.attention.indexer.value_or(IndexerSpec{64, 128, 2048, true});
  for (const IndexerWidth& row : kIndexerWidths) {
    indexer.*row.width =
        std::max<std::int64_t>(1, fields.count(row.ours).value_or(indexer.*row.width));
  }
  indexer.trained =
      settings.number("dsa_indexer_loss_coeff", "model.attention.indexer.trained").value_or(0.0) >
      0.0;
  model.attention.indexer = indexer;
  if (model.attention.kind != AttentionKind::kMla) {
    settings.error("experimental_attention_variant", "dsa needs multi_latent_attention");
  }
}

IndexerSpec indexer_of_deepseek(FrameworkReader& settings, const IndexerSpec& usual) {
  IndexerSpec indexer = usual;
  for (const IndexerWidth& row : kIndexerWidths) {
    indexer.*row.width = std::max<std::int64_t>(
        1, settings.count(row.of_deepseek, row.ours).value_or(usual.*row.width));
  }
  const auto loss =
      settings.number("v4_indexer_distill_loss_coeff", "model.attention.indexer.trained");
  indexer.trained = loss ? *loss > 0.0 : usual.trained;
  return indexer;
}

// What Primus' deepseek_v4_base.yaml says where a model's own file does not.
AttentionSpec usual_shared_kv() {
  AttentionSpec usual;
  usual.kind = AttentionKind::kSharedKv;
  usual.qk_head_dim = 512;
  usual.mla = {1024, 0, 0, 64};
  usual.output_groups = 8;
  usual.output_lora_rank = 1024;
  usual.sliding_window = 128;
  usual.sinks = true;
  usual.indexer = IndexerSpec{64, 128, 512, false};
  usual.compression = {{}, 4};
  return usual;
}

std::string frequency_text(const MixerSpec& mixers, std::int64_t layers) {
  std::string text = "[";
  for (std::int64_t i = 0; i < layers; ++i) {
    text += i > 0 ? "," : "";
    text += mixers.of_layer(i) == Mixer::kLinearAttention ? "1" : "0";
  }
  return text + "]";
}

std::string type_text(const MixerSpec& mixers, std::int64_t layers) {
  std::string text = "[";
  for (std::int64_t i = 0; i < layers; ++i) {
    text += i > 0 ? ", " : "";
    text += mixers.of_layer(i) == Mixer::kConvolution ? kConvolutionLayer : kAttentionLayer;
  }
  return text + "]";
}

void write_linear(const ModelSpec& model, MegatronFieldWriter& out) {
  const LinearAttentionSpec& linear = *model.mixers.linear_attention;
  if (linear.rule == DeltaRule::kGatedDelta) {
    out.text("experimental_attention_variant", "gated_delta_net");
  } else {
    out.text("model_type", "kimi_k3");
    model.positions == Positions::kNone ? out.on("mla_use_nope") : out.off("mla_use_nope");
    model.attention.output_gate ? out.on("mla_use_output_gate") : out.off("mla_use_output_gate");
  }
  if (const std::int64_t turned = model.attention.rope_head_dim; turned > 0) {
    out.text("rotary_percent", shortest_text(static_cast<double>(turned) /
                                             static_cast<double>(model.attention.qk_head_dim)));
  }
  out.text(kLinearLayers, frequency_text(model.mixers, model.layers));
  for (const LinearWidth& row : kLinearWidths) {
    out.ours(row.ours, linear.*row.width);
  }
}

void write_shared_kv(const ModelSpec& model, MegatronFieldWriter& out) {
  const AttentionSpec& attention = model.attention;
  out.text("model_type", "deepseek_v4");
  out.on("hybrid_attention_enabled");
  std::string ratios;
  for (const std::int64_t ratio : attention.compression.ratios) {
    ratios += (ratios.empty() ? "[" : ", ") + std::to_string(ratio);
  }
  out.text("compress_ratios", ratios.empty() ? "[]" : ratios + "]");
  out.count("kv_channels", attention.qk_head_dim);
  out.count("q_lora_rank", attention.mla.q_lora_rank);
  out.count("qk_pos_emb_head_dim", attention.mla.qk_rope_head_dim);
  out.ours("model.attention.output_groups", attention.output_groups);
  out.ours("model.attention.output_lora_rank", attention.output_lora_rank);
  out.count("attn_sliding_window", attention.sliding_window);
  attention.sinks ? out.on("attn_sink") : out.off("attn_sink");
  out.ours("model.residual_streams", model.residual_streams);
  if (const auto& indexer = attention.indexer) {
    for (const IndexerWidth& row : kIndexerWidths) {
      out.count(row.of_deepseek, *indexer.*row.width);
    }
    out.text("v4_indexer_distill_loss_coeff", indexer->trained ? "0.01" : "0.0");
  }
}

void read_ratios(FrameworkReader& settings, const CompressionSpec& usual, ModelSpec& model) {
  const auto given = settings.as_written("compress_ratios", "model.attention.compression.ratios");
  CompressionSpec& compression = model.attention.compression;
  compression = usual;
  if (given) {
    compression.ratios = ratios_of(*given);
  }
  if (std::ssize(compression.ratios) < model.layers) {
    settings.error("compress_ratios", "must give one ratio for each of the " +
                                          std::to_string(model.layers) + " layers, 0 for none");
  }
  compression.ratios.resize(std::min(compression.ratios.size(),
                                     static_cast<std::size_t>(model.layers + model.mtp_layers)));
}

}  // namespace

MegatronLayers megatron_layers(FrameworkReader& settings) {
  const std::string type = settings.text("model_type", "model").value_or("");
  return type == "deepseek_v4" ? MegatronLayers::kDeepseekV4
         : type == "kimi_k3"   ? MegatronLayers::kKimiK3
                               : MegatronLayers::kUsual;
}

void read_megatron_shared_kv(const MegatronFields& fields, ModelSpec& model) {
  FrameworkReader& settings = fields.settings();
  const bool named = model.attention.kind == AttentionKind::kSharedKv;
  const AttentionSpec usual = named ? model.attention : usual_shared_kv();
  AttentionSpec& attention = model.attention;
  const auto count = [&](std::string_view name, std::string_view ours, std::int64_t otherwise) {
    return std::max<std::int64_t>(0, settings.count(name, ours).value_or(otherwise));
  };
  attention.kind = AttentionKind::kSharedKv;
  attention.kv_heads = 1;
  attention.qk_norm = QkNorm::kNone;
  attention.qk_head_dim = count("kv_channels", "model.attention.head_dim", usual.qk_head_dim);
  attention.v_head_dim = attention.qk_head_dim;
  attention.mla = {
      count("q_lora_rank", "model.attention.q_lora_rank", usual.mla.q_lora_rank), 0, 0,
      count("qk_pos_emb_head_dim", "model.attention.qk_rope_head_dim", usual.mla.qk_rope_head_dim)};
  attention.output_groups = std::max<std::int64_t>(
      1, count("o_groups", "model.attention.output_groups", usual.output_groups));
  attention.output_lora_rank =
      count("o_lora_rank", "model.attention.output_lora_rank", usual.output_lora_rank);
  attention.sliding_window =
      count("attn_sliding_window", "model.attention.sliding_window", usual.sliding_window);
  attention.full_attention_every = 0;
  attention.sinks = settings.flag("attn_sink", "model.attention.sinks").value_or(usual.sinks);
  attention.indexer = indexer_of_deepseek(settings, usual.indexer.value_or(IndexerSpec{}));
  read_ratios(settings, usual.compression, model);
  model.residual_streams = std::max<std::int64_t>(
      1, count("hc_mult", "model.residual_streams", named ? model.residual_streams : 4));
  constexpr std::string_view kOfOthers =
      "hybrid_attention_enabled multi_latent_attention group_query_attention num_query_groups";
  settings.without_effect(kOfOthers);
}

void read_megatron_mixers(const MegatronFields& fields, ModelSpec& model) {
  FrameworkReader& settings = fields.settings();
  if (megatron_layers(settings) == MegatronLayers::kKimiK3) {
    return read_kimi(fields, model);
  }
  const std::string variant =
      settings.text("experimental_attention_variant", kOurMixers).value_or("");
  if (variant == "dsa") {
    return read_dsa(fields, model);
  }
  if (fields.source().primus && model.attention.kind == AttentionKind::kMla &&
      model.attention.indexer) {
    model.attention.indexer.reset();
    settings.assume("model.attention.indexer", "none",
                    "latent attention over all keys, as it runs without the variant dsa");
  }
  if (variant == "gated_delta_net") {
    return read_linear(fields, DeltaRule::kGatedDelta, model);
  }
  if (!variant.empty() && variant != "None") {
    settings.error("experimental_attention_variant",
                   "is '" + shown(variant) + "'; layers here have gated_delta_net or dsa");
  }
  if (settings.has(kLfmTypes)) {
    return read_convolutions(fields, model);
  }
  if (settings.as_written(kLinearLayers, kOurMixers)) {
    settings.error(kLinearLayers, "needs experimental_attention_variant gated_delta_net");
  }
}

RouterScore megatron_score(std::string_view name) {
  return name == "sigmoid"        ? RouterScore::kSigmoid
         : name == "sqrtsoftplus" ? RouterScore::kSqrtSoftplus
                                  : RouterScore::kSoftmax;
}

std::int64_t megatron_latent_width(FrameworkReader& settings, std::int64_t named) {
  const auto width = settings.count("moe_latent_size", "model.moe.latent_hidden");
  const auto of_kimi = settings.count("routed_expert_hidden_size", "model.moe.latent_hidden");
  return of_kimi.value_or(width.value_or(named));
}

void write_megatron_mixers(const ModelSpec& model, MegatronFieldWriter& out) {
  const MixerSpec& mixers = model.mixers;
  if (mixers.convolution) {
    out.text(kLfmTypes, type_text(mixers, model.layers));
    out.ours("model.convolution.width", mixers.convolution->width);
    mixers.convolution->bias ? out.on("conv_bias") : out.off("conv_bias");
  }
  if (mixers.linear_attention) {
    write_linear(model, out);
  }
  if (model.residual_block > 0) {
    out.ours("model.residual_block", model.residual_block);
  }
  if (model.attention.kind == AttentionKind::kSharedKv) {
    write_shared_kv(model, out);
  } else if (const auto& indexer = model.attention.indexer) {
    out.text("experimental_attention_variant", "dsa");
    for (const IndexerWidth& row : kIndexerWidths) {
      out.ours(row.ours, *indexer.*row.width);
    }
    out.text("dsa_indexer_loss_coeff", indexer->trained ? "0.01" : "0.0");
  }
}

}  // namespace stepcast
