// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_layers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "frameworks/hf_blocks.hpp"
#include "stepcast/config/value_message.hpp"
#include "stepcast/model/model_ranges.hpp"

namespace stepcast {
namespace {

// What 'layer_types' says of each layer, by the names of the type.
std::vector<Mixer> listed_mixers(MappingReader& fields, std::int64_t layers,
                                 const std::array<NamedValue<Mixer>, 2>& known) {
  std::vector<Mixer> mixers;
  for (const std::string& type : fields.optional_texts("layer_types")) {
    const auto* const at = std::ranges::find(known, type, &NamedValue<Mixer>::name);
    if (at == known.end()) {
      fields.error("layer_types",
                   "has '" + shown(type) + "', which is not supported; supported are " +
                       std::string(known[0].name) + " and " + std::string(known[1].name));
      return {};
    }
    mixers.push_back(at->value);
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

constexpr std::int64_t kWidthStep = 256;  // DeciLM rounds widths up to it, OpenELM by its own key
constexpr Range<double> kMultiplier{0.0, 64.0};

std::vector<std::int64_t> counts_of(MappingReader& fields, std::string_view key,
                                    const ModelSpec& model) {
  std::vector<std::int64_t> counts = fields.optional_counts(key, kWidth);
  if (std::ssize(counts) != model.layers && fields.good({key, "num_transformer_layers"})) {
    fields.error(key, "has " + std::to_string(counts.size()) + " items for " +
                          std::to_string(model.layers) + " layers; give one for each layer");
  }
  return counts;
}

std::vector<double> multipliers_of(MappingReader& fields, std::string_view key,
                                   const ModelSpec& model) {
  std::vector<double> multipliers;
  const ConfigNode* list = fields.take_required(key);
  if (list == nullptr || list->kind != ConfigNode::Kind::kSequence ||
      std::ssize(list->items) != model.layers) {
    if (list != nullptr && fields.good({"num_transformer_layers"})) {
      fields.error(key, "must be a list of one number for each of " + std::to_string(model.layers) +
                            " layers");
    }
    return {};
  }
  for (const ConfigNode& item : list->items) {
    multipliers.push_back(fields.number(key, item, kMultiplier).value_or(1.0));
  }
  return multipliers;
}

// configuration_openelm.py, make_divisible: to the nearest multiple, but not down by over a tenth.
std::int64_t nearest_multiple(double value, std::int64_t step) {
  constexpr double kLeast = 0.9;
  const std::int64_t near =
      static_cast<std::int64_t>(value + static_cast<double>(step) / 2.0) / step * step;
  const std::int64_t multiple = std::max(step, near);
  return static_cast<double>(multiple) < kLeast * value ? multiple + step : multiple;
}

// What a layer of DeciLM is, as far as it differs.
struct DeciBlock {
  Mixer mixer = Mixer::kAttention;
  std::int64_t kv_heads = 0;
  std::int64_t ffn_hidden = 0;
};

class DeciReader {
 public:
  DeciReader(MappingReader& fields, const ModelSpec& model) : fields_(fields), model_(model) {}

  std::vector<DeciBlock> blocks() {
    const ConfigNode* list = fields_.take_required("block_configs");
    if (list == nullptr || list->kind != ConfigNode::Kind::kSequence ||
        std::ssize(list->items) != model_.layers) {
      if (list != nullptr && fields_.good({"num_hidden_layers"})) {
        fields_.error("block_configs", "must be a list of one block for each of " +
                                           std::to_string(model_.layers) + " layers");
      }
      return {};
    }
    std::vector<DeciBlock> blocks;
    for (const ConfigNode& item : list->items) {
      MappingReader block(item, RecordWording{"block"}, fields_.diagnostics());
      blocks.push_back(read(block));
    }
    return blocks;
  }

 private:
  DeciBlock read(MappingReader& block) {
    DeciBlock read;
    MappingReader attention = block.required_mapping("attention");
    if (left_out(attention)) {
      read.mixer = Mixer::kNone;
    } else {
      const std::int64_t group = attention.required_count("n_heads_in_group", kWidth);
      if (group > 0 && model_.attention.heads % group != 0) {
        attention.error("n_heads_in_group", "must divide the query heads (" +
                                                std::to_string(model_.attention.heads) + ")");
      }
      read.kv_heads =
          std::max<std::int64_t>(1, model_.attention.heads / std::max<std::int64_t>(1, group));
    }
    MappingReader mlp = block.required_mapping("ffn");
    if (!left_out(mlp)) {
      // modeling_decilm.py: two thirds of twice the multiple of the hidden size, rounded up.
      const double share = mlp.required_number("ffn_mult", kMultiplier);
      const auto width =
          static_cast<std::int64_t>(2.0 * share * static_cast<double>(model_.hidden) / 3.0);
      read.ffn_hidden = (width + kWidthStep - 1) / kWidthStep * kWidthStep;
    }
    return read;
  }

  // A linear layer in a block's place is another block.
  static bool left_out(MappingReader& block) {
    if (block.optional_flag("replace_with_linear").value_or(false)) {
      block.error("replace_with_linear",
                  "is true, but a model file has no form for a linear layer in a block's place");
    }
    return block.optional_flag("no_op").value_or(false);
  }

  MappingReader& fields_;
  const ModelSpec& model_;
};

}  // namespace

void import_openelm(MappingReader& fields, const ClassDefaults& /*defaults*/, ModelSpec& model) {
  AttentionSpec& attention = model.attention;
  model.hidden = fields.required_count("model_dim", kWidth);
  model.layers = fields.required_count("num_transformer_layers", kLayers);
  model.vocabulary = fields.required_count("vocab_size", kVocabularySize);
  model.tied_embeddings = fields.optional_flag("share_input_output_layers").value_or(true);
  model.mlp.gated = fields.optional_flag("ffn_with_glu").value_or(true);
  const bool normed = fields.optional_flag("normalize_qk_projections").value_or(false);
  attention.qk_norm = normed ? QkNorm::kHead : QkNorm::kNone;
  attention.qk_head_dim = fields.required_count("head_dim", kWidth);
  attention.v_head_dim = attention.qk_head_dim;
  const std::vector<std::int64_t> heads = counts_of(fields, "num_query_heads", model);
  const std::vector<std::int64_t> kv_heads = counts_of(fields, "num_kv_heads", model);
  const std::int64_t step = fields.required_count("ffn_dim_divisor", kWidth);
  std::vector<std::int64_t> widths;
  for (const double share : multipliers_of(fields, "ffn_multipliers", model)) {
    widths.push_back(nearest_multiple(share * static_cast<double>(model.hidden),
                                      std::max<std::int64_t>(1, step)));
  }
  if (heads.size() != kv_heads.size() || heads.empty() || widths.empty()) {
    return;
  }
  for (std::size_t layer = 0; layer < heads.size(); ++layer) {
    if (heads[layer] % kv_heads[layer] != 0) {
      return fields.error("num_kv_heads", "must divide 'num_query_heads', which in layer " +
                                              std::to_string(layer) + " it does not");
    }
  }
  attention.heads = LayerCounts(heads, model.layers);
  attention.kv_heads = LayerCounts(kv_heads, model.layers);
  model.mlp.ffn_hidden = LayerCounts(widths, model.layers);
}

void import_nemotron_nas(MappingReader& fields, const ClassDefaults& /*defaults*/,
                         ModelSpec& model) {
  model.hidden = fields.required_count("hidden_size", kWidth);
  model.layers = fields.required_count("num_hidden_layers", kLayers);
  model.vocabulary = fields.required_count("vocab_size", kVocabularySize);
  model.tied_embeddings = fields.optional_flag("tie_word_embeddings").value_or(false);
  model.attention.heads = fields.required_count("num_attention_heads", kWidth);
  read_attention_bias(fields, model);
  model.mlp.bias = fields.optional_flag("mlp_bias").value_or(false);
  const std::int64_t usual = model.hidden / std::max<std::int64_t>(1, model.attention.heads.same());
  model.attention.qk_head_dim = count_of(fields, "head_dim", {usual, usual}, kWidth);
  model.attention.v_head_dim = model.attention.qk_head_dim;
  std::vector<Mixer> mixers;
  std::vector<std::int64_t> kv_heads;
  std::vector<std::int64_t> widths;
  const std::vector<DeciBlock> blocks = DeciReader(fields, model).blocks();
  const auto first = std::find_if(blocks.begin(), blocks.end(), [](const DeciBlock& block) {
    return block.mixer == Mixer::kAttention;
  });
  // A layer without attention says no heads: those of a layer before it are as good.
  std::int64_t heads = first == blocks.end() ? model.attention.heads.same() : first->kv_heads;
  for (const DeciBlock& block : blocks) {
    heads = block.mixer == Mixer::kAttention ? block.kv_heads : heads;
    mixers.push_back(block.mixer);
    kv_heads.push_back(heads);
    widths.push_back(block.ffn_hidden);
  }
  if (mixers.empty()) {
    return;
  }
  model.mixers.pattern = shortest_pattern(mixers, model.layers);
  if (model.mixers.pattern == std::vector{Mixer::kAttention}) {
    model.mixers.pattern.clear();
  }
  model.attention.kv_heads = LayerCounts(kv_heads, model.layers);
  model.mlp.ffn_hidden = LayerCounts(widths, model.layers);
}

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
    read_gated_shared_expert(fields, moe);
    place_qwen_experts(fields, moe, model);
  }
  model.mtp_layers = count_of(fields, "mtp_num_hidden_layers", {}, kMtpLayers);
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
  model.mtp_layers = count_of(fields, "num_nextn_predict_layers", {}, kMtpLayers);
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
  model.mtp_layers = count_of(fields, "num_nextn_predict_layers", {.absent = 1}, kMtpLayers);
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
