// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_mixers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "stepcast/config/value_message.hpp"
#include "stepcast/graph/model_ranges.hpp"

namespace stepcast {
namespace {

struct LayerType {
  std::string_view name;
  Mixer mixer;
};

// What 'layer_types' says of each layer, by the names of the type.
std::vector<Mixer> listed_mixers(MappingReader& fields, std::int64_t layers,
                                 const std::array<LayerType, 2>& known) {
  std::vector<Mixer> mixers;
  for (const std::string& type : fields.optional_texts("layer_types")) {
    const auto* const at = std::find_if(known.begin(), known.end(),
                                        [&](const LayerType& entry) { return entry.name == type; });
    if (at == known.end()) {
      fields.error("layer_types",
                   "has '" + shown(type) + "', which is not supported; supported are " +
                       std::string(known[0].name) + " and " + std::string(known[1].name));
      return {};
    }
    mixers.push_back(at->mixer);
  }
  if (std::ssize(mixers) != layers && fields.good({"layer_types", "num_hidden_layers"})) {
    fields.error("layer_types", "has " + std::to_string(mixers.size()) +
                                    " items, but 'num_hidden_layers' is " + std::to_string(layers) +
                                    "; give one for each layer");
  }
  return shortest_pattern(mixers, layers);
}

// Attention in the layers that a key lists by their numbers, `first` of which is the first layer's.
std::vector<Mixer> attention_at(MappingReader& fields, std::string_view key, std::int64_t layers,
                                std::int64_t first, Mixer other) {
  std::vector<Mixer> mixers(static_cast<std::size_t>(layers), other);
  for (const std::int64_t number : fields.optional_counts(key, kLayerOrNone)) {
    const std::int64_t at = number - first;
    if (at >= 0 && at < layers) {
      mixers[static_cast<std::size_t>(at)] = Mixer::kAttention;
    } else if (fields.good({"num_hidden_layers"})) {
      fields.error(key, "names layer " + std::to_string(number) + " of " + std::to_string(layers));
    }
  }
  return shortest_pattern(mixers, layers);
}

void read_convolutions(MappingReader& fields, ModelSpec& model) {
  MixerSpec& mixers = model.mixers;
  mixers.pattern =
      fields.has("layer_types")
          ? listed_mixers(fields, model.layers,
                          {{{"conv", Mixer::kConvolution}, {"full_attention", Mixer::kAttention}}})
          : attention_at(fields, "full_attn_idxs", model.layers, 0, Mixer::kConvolution);
  if (!mixers.has(Mixer::kConvolution)) {
    mixers.pattern.clear();
    return;
  }
  mixers.convolution.emplace();
  mixers.convolution->width = count_of(fields, "conv_L_cache", {3, 3}, kWidth);
  mixers.convolution->bias = fields.optional_flag("conv_bias").value_or(false);
}

void read_lfm2(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_gqa(fields, defaults.attention, model);
  model.attention.qk_norm = QkNorm::kHead;
  model.tied_embeddings = fields.optional_flag("tie_embedding").value_or(model.tied_embeddings);
  read_convolutions(fields, model);
}

// 2/3 of the width that the file gives, rounded up to a multiple (Lfm2MLP of modeling_lfm2.py).
std::int64_t adjusted_width(MappingReader& fields, std::int64_t width) {
  width = count_of(fields, "block_ff_dim", {width, width}, kWidth);
  if (!fields.optional_flag("block_auto_adjust_ff_dim").value_or(true)) {
    return width;
  }
  const double multiplier = fields.has("block_ffn_dim_multiplier")
                                ? fields.required_number("block_ffn_dim_multiplier", {1e-3, 1e3})
                                : 1.0;
  const std::int64_t multiple = count_of(fields, "block_multiple_of", {256, 256}, kWidth);
  const std::int64_t two_thirds = 2 * width / 3;
  const auto scaled = static_cast<std::int64_t>(multiplier * static_cast<double>(two_thirds));
  return (scaled + multiple - 1) / multiple * multiple;
}

// Every n-th layer has attention, unless each layer is listed.
void read_linear_layers(MappingReader& fields, ModelSpec& model) {
  if (fields.has("layer_types")) {
    model.mixers.pattern = listed_mixers(
        fields, model.layers,
        {{{"linear_attention", Mixer::kLinearAttention}, {"full_attention", Mixer::kAttention}}});
    return;
  }
  const std::int64_t every = count_of(fields, "full_attention_interval", {4, 4}, kLayers);
  if (every <= model.layers) {
    model.mixers.pattern.assign(static_cast<std::size_t>(every), Mixer::kLinearAttention);
    model.mixers.pattern.back() = Mixer::kAttention;
  }
}

LinearAttentionSpec linear_of_qwen(MappingReader& fields) {
  LinearAttentionSpec linear;
  linear.heads = fields.required_count("linear_num_value_heads", kWidth);
  linear.qk_heads = fields.required_count("linear_num_key_heads", kWidth);
  linear.qk_head_dim = fields.required_count("linear_key_head_dim", kWidth);
  linear.v_head_dim = fields.required_count("linear_value_head_dim", kWidth);
  linear.convolution_width = fields.required_count("linear_conv_kernel_dim", kWidth);
  if (fields.good({"linear_num_value_heads", "linear_num_key_heads"}) && linear.qk_heads > 0 &&
      linear.heads % linear.qk_heads != 0) {
    fields.error("linear_num_key_heads", "(" + std::to_string(linear.qk_heads) +
                                             ") must divide 'linear_num_value_heads' (" +
                                             std::to_string(linear.heads) + ")");
  }
  return linear;
}

// The share of a head that positions turn, here or in the mapping of later versions.
double rotary_share(MappingReader& fields) {
  constexpr Range<double> kShare{1e-3, 1.0};
  const double share = fields.optional_number("partial_rotary_factor", 0.25, kShare);
  if (auto parameters = fields.optional_mapping("rope_parameters")) {
    return parameters->optional_number("partial_rotary_factor", share, kShare);
  }
  return share;
}

// Kimi's own names; layers are counted from 1.
void read_kimi_layers(MappingReader fields, ModelSpec& model) {
  LinearAttentionSpec linear;
  linear.rule = DeltaRule::kKimiDelta;
  linear.heads = fields.required_count("num_heads", kWidth);
  linear.qk_heads = linear.heads;
  linear.qk_head_dim = fields.required_count("head_dim", kWidth);
  linear.v_head_dim = linear.qk_head_dim;
  linear.convolution_width = count_of(fields, "short_conv_kernel_size", {4, 4}, kWidth);
  const bool full_rank = fields.optional_flag("use_full_rank_gate").value_or(false);
  linear.gate_rank = full_rank ? 0 : linear.v_head_dim;
  model.mixers.pattern =
      attention_at(fields, "full_attn_layers", model.layers, 1, Mixer::kLinearAttention);
  if (model.mixers.has(Mixer::kLinearAttention)) {
    model.mixers.linear_attention = linear;
  } else {
    model.mixers.pattern.clear();
  }
}

MoeSpec experts_of_kimi(MappingReader& fields) {
  MoeSpec moe;
  moe.experts = fields.required_count("num_experts", kWidth);
  moe.experts_per_token = fields.required_count("num_experts_per_token", kWidth);
  moe.expert_ffn_hidden = fields.required_count("moe_intermediate_size", kWidth);
  moe.shared_expert_ffn_hidden =
      count_of(fields, "num_shared_experts", {}, {0, 1024}) * moe.expert_ffn_hidden;
  moe.latent_hidden = count_of(fields, "routed_expert_hidden_size", {}, kWidthOrNone);
  moe.router.score = fields.optional_text("moe_router_activation_func", "sigmoid") == "softmax"
                         ? RouterScore::kSoftmax
                         : RouterScore::kSigmoid;
  moe.router.expert_bias = true;
  if (moe.experts_per_token > moe.experts &&
      fields.good({"num_experts", "num_experts_per_token"})) {
    fields.error("num_experts_per_token",
                 "must not exceed 'num_experts' (" + std::to_string(moe.experts) + ")");
  }
  return moe;
}

void read_compression(MappingReader& fields, ModelSpec& model) {
  constexpr std::int64_t kIndexed = 4;  // the ratio whose keys the indexer chooses among
  CompressionSpec& compression = model.attention.compression;
  compression.ratios = fields.optional_counts("compress_ratios", kWidthOrNone);
  compression.indexed_ratio = kIndexed;
  const std::int64_t given = std::ssize(compression.ratios);
  if ((given < model.layers || given > model.layers + model.mtp_layers) &&
      fields.good({"compress_ratios", "num_hidden_layers"})) {
    fields.error("compress_ratios", "has " + std::to_string(given) + " items for " +
                                        std::to_string(model.layers) +
                                        " layers; give one of each, and of prediction modules");
  }
}

}  // namespace

void import_qwen3_next(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_gqa(fields, defaults.attention, model);
  read_attention_bias(fields, model);
  AttentionSpec& attention = model.attention;
  attention.qk_norm = QkNorm::kHead;
  attention.output_gate = fields.optional_flag("attn_output_gate").value_or(true);
  attention.rope_head_dim = std::max<std::int64_t>(
      1,
      static_cast<std::int64_t>(rotary_share(fields) * static_cast<double>(attention.qk_head_dim)));
  read_linear_layers(fields, model);
  if (model.mixers.has(Mixer::kLinearAttention)) {
    model.mixers.linear_attention = linear_of_qwen(fields);
  } else {
    model.mixers.pattern.clear();
  }
  if (fields.has("num_experts")) {
    MoeSpec moe = read_experts(fields, "num_experts", "moe_intermediate_size");
    moe.shared_expert_ffn_hidden =
        fields.required_count("shared_expert_intermediate_size", kWidthOrNone);
    moe.shared_expert_gate = moe.shared_expert_ffn_hidden > 0;
    place_qwen_experts(fields, moe, model);
  }
  model.mtp_layers = count_of(fields, "mtp_num_hidden_layers", {}, {0, 64});
}

void import_kimi_linear(MappingReader& fields, const ClassDefaults& /*defaults*/,
                        ModelSpec& model) {
  read_mla(fields, model);
  model.attention.output_gate = fields.optional_flag("mla_use_output_gate").value_or(false);
  if (fields.optional_flag("mla_use_nope").value_or(false)) {
    model.positions = Positions::kNone;
  }
  if (auto linear = fields.optional_mapping("linear_attn_config")) {
    read_kimi_layers(std::move(*linear), model);
  }
  model.residual_block = count_of(fields, "attn_res_block_size", {}, kLayerOrNone);
  place_deepseek_experts(fields, experts_of_kimi(fields), model);
  model.mtp_layers = count_of(fields, "num_nextn_predict_layers", {}, {0, 64});
}

void read_hf_indexer(MappingReader& fields, ModelSpec& model) {
  IndexerSpec indexer;
  indexer.heads = fields.required_count("index_n_heads", kWidth);
  indexer.head_dim = fields.required_count("index_head_dim", kWidth);
  indexer.chosen = fields.required_count("index_topk", kWidth);
  for (const std::string& type : fields.optional_texts("indexer_types")) {
    if (type != "full") {
      fields.error("indexer_types", "has '" + shown(type) +
                                        "': layers that take the choice of another have no form "
                                        "in a model file; supported is full");
      break;
    }
  }
  model.attention.indexer = indexer;
}

void import_deepseek_v4(MappingReader& fields, const ClassDefaults& /*defaults*/,
                        ModelSpec& model) {
  AttentionSpec& attention = model.attention;
  attention.kind = AttentionKind::kSharedKv;
  attention.kv_heads = 1;
  attention.qk_head_dim = fields.required_count("head_dim", kWidth);
  attention.v_head_dim = attention.qk_head_dim;
  attention.mla.q_lora_rank = fields.required_count("q_lora_rank", kWidth);
  attention.mla.qk_rope_head_dim = fields.required_count("qk_rope_head_dim", kWidth);
  attention.output_groups = fields.required_count("o_groups", kWidth);
  attention.output_lora_rank = fields.required_count("o_lora_rank", kWidth);
  attention.sliding_window = count_of(fields, "sliding_window", {.absent = 128}, kWidthOrNone);
  attention.sinks = true;
  if (attention.output_groups > 0 && attention.heads % attention.output_groups != 0 &&
      fields.good({"num_attention_heads", "o_groups"})) {
    fields.error("o_groups",
                 "must divide 'num_attention_heads' (" + std::to_string(attention.heads) + ")");
  }
  read_hf_indexer(fields, model);
  model.residual_streams = count_of(fields, "hc_mult", {.absent = 4, .null = 1}, {1, 64});
  model.mtp_layers = count_of(fields, "num_nextn_predict_layers", {.absent = 1}, {0, 64});
  read_compression(fields, model);
  MoeSpec moe = read_experts(fields, "n_routed_experts", "moe_intermediate_size");
  read_shared_experts(fields, moe);
  moe.clamped_activation = true;
  moe.router.score = RouterScore::kSqrtSoftplus;
  moe.router.expert_bias = true;
  model.moe = moe;
}

void import_lfm2(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_lfm2(fields, defaults, model);
  model.mlp.ffn_hidden = adjusted_width(fields, model.mlp.ffn_hidden);
}

void import_lfm2_moe(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_lfm2(fields, defaults, model);
  MoeSpec moe = read_experts(fields, "num_experts", "moe_intermediate_size");
  moe.first_dense_layers = count_of(fields, "num_dense_layers", {.absent = 2}, kLayerOrNone);
  moe.router.score = RouterScore::kSigmoid;
  moe.router.expert_bias = fields.optional_flag("use_expert_bias").value_or(true);
  if (moe.first_dense_layers < model.layers) {
    model.moe = moe;
  }
}

}  // namespace stepcast
