// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_layers.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
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

// 2/3 of the width that the file gives, rounded up to a multiple (Lfm2MLP of modeling_lfm2.py).
std::int64_t adjusted_width(MappingReader& fields, std::int64_t width) {
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

void read_openelm(HfFields& facts, ModelSpec& model) {
  MappingReader& fields = facts.file();
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

void read_nemotron_nas(HfFields& facts, ModelSpec& model) {
  MappingReader& fields = facts.file();
  model.hidden = fields.required_count("hidden_size", kWidth);
  model.layers = fields.required_count("num_hidden_layers", kLayers);
  model.vocabulary = fields.required_count("vocab_size", kVocabularySize);
  model.tied_embeddings = fields.optional_flag("tie_word_embeddings").value_or(false);
  model.attention.heads = fields.required_count("num_attention_heads", kWidth);
  model.attention.qkv_bias = fields.optional_flag("attention_bias").value_or(false);
  model.attention.output_bias = model.attention.qkv_bias;
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

void read_qwen_linear(HfFields& fields, ModelSpec& model) {
  read_linear_layers(fields.file(), model);
  if (model.mixers.has(Mixer::kLinearAttention)) {
    model.mixers.linear_attention = linear_of_qwen(fields.file());
  } else {
    model.mixers.pattern.clear();
  }
}

void read_kimi_linear(HfFields& fields, ModelSpec& model) {
  MappingReader& file = fields.file();
  if (file.optional_flag("mla_use_nope").value_or(false)) {
    model.positions = Positions::kNone;
  }
  if (auto linear = file.optional_mapping("linear_attn_config")) {
    read_kimi_layers(std::move(*linear), model);
  }
  model.residual_block = count_of(file, "attn_res_block_size", {}, kLayerOrNone);
  if (model.moe) {
    model.moe->latent_hidden = count_of(file, "routed_expert_hidden_size", {}, kWidthOrNone);
  }
}

void read_deepseek_v4(HfFields& fields, ModelSpec& model) {
  MappingReader& file = fields.file();
  AttentionSpec& attention = model.attention;
  attention.kind = AttentionKind::kSharedKv;
  attention.kv_heads = 1;
  attention.qk_head_dim = file.required_count("head_dim", kWidth);
  attention.v_head_dim = attention.qk_head_dim;
  attention.mla.q_lora_rank = fields.count(HfFact::kQLoraRank, kWidth);
  attention.mla.qk_rope_head_dim = fields.count(HfFact::kQkRopeHeadDim, kWidth);
  attention.output_groups = file.required_count("o_groups", kWidth);
  attention.output_lora_rank = file.required_count("o_lora_rank", kWidth);
  attention.sliding_window = fields.count(HfFact::kWindow, kWidthOrNone);
  attention.sinks = true;
  if (attention.output_groups > 0 && attention.heads % attention.output_groups != 0 &&
      file.good({"num_attention_heads", "o_groups"})) {
    file.error("o_groups",
               "must divide 'num_attention_heads' (" + std::to_string(attention.heads) + ")");
  }
  read_hf_indexer(fields, model);
  model.residual_streams = count_of(file, "hc_mult", {.absent = 4, .null = 1}, {1, 64});
  read_compression(file, model);
  if (model.moe) {
    model.moe->router.score = RouterScore::kSqrtSoftplus;
  }
}

void read_lfm2(HfFields& fields, ModelSpec& model) {
  read_convolutions(fields.file(), model);
  model.mlp.ffn_hidden = adjusted_width(fields.file(), model.mlp.ffn_hidden);
}

void read_lfm2_moe(HfFields& fields, ModelSpec& model) { read_convolutions(fields.file(), model); }

// modeling_falcon.py: its newer decoder has a norm for each of two parallel blocks unless it says
// one, and its older one a norm for both where they are parallel.
void read_falcon(HfFields& fields, ModelSpec& model) {
  MappingReader& file = fields.file();
  const bool newer = file.optional_flag("new_decoder_architecture").value_or(false);
  const bool multi_query = file.optional_flag("multi_query").value_or(true);
  model.parallel_blocks = newer || model.parallel_blocks;
  if (newer) {
    const std::int64_t heads = model.attention.heads;
    const auto kv_heads = count_of(file, file.has("n_head_kv") ? "n_head_kv" : "num_kv_heads",
                                   {.absent = heads, .null = heads}, kWidth);
    model.attention.kv_heads = kv_heads;
    model.norms_per_layer =
        count_of(file, "num_ln_in_parallel_attn", {.absent = 2, .null = 2}, {1, 2});
    if (heads % kv_heads != 0) {
      file.error("num_kv_heads", "must divide '" + fields.key(HfFact::kHeads) + "' (" +
                                     std::to_string(heads) + ")");
    }
    return;
  }
  model.attention.kv_heads = multi_query ? 1 : model.attention.heads.same();
  model.norms_per_layer = model.parallel_blocks ? 1 : 2;
}

}  // namespace

std::optional<HfCode> hf_code_named(std::string_view name) {
  struct Row {
    std::string_view name;
    HfCode code;
  };
  constexpr auto kRows = std::to_array<Row>({
      {"openelm", {read_openelm, HfCode::Reads::kAll}},
      {"nemotron_nas", {read_nemotron_nas, HfCode::Reads::kAll}},
      {"qwen_linear", {read_qwen_linear}},
      {"kimi_linear", {read_kimi_linear}},
      {"deepseek_v4", {read_deepseek_v4}},
      {"lfm2", {read_lfm2}},
      {"lfm2_moe", {read_lfm2_moe}},
      {"falcon", {read_falcon}},
  });
  const auto* const at = std::ranges::find(kRows, name, &Row::name);
  return at == kRows.end() ? std::nullopt : std::optional(at->code);
}

}  // namespace stepcast
