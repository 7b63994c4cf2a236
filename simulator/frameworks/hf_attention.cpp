// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_attention.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "stepcast/config/value_message.hpp"
#include "stepcast/graph/model_ranges.hpp"

namespace stepcast {
namespace {

std::int64_t head_dim(MappingReader& fields, const AttentionDefaults& defaults,
                      const ModelSpec& model) {
  const std::int64_t given = count_of(fields, "head_dim", {.absent = defaults.head_dim}, kWidth);
  if (given > 0) {
    return given;
  }
  const std::int64_t heads = model.attention.heads;
  if (model.hidden % heads != 0 && fields.good({"hidden_size", "num_attention_heads"})) {
    fields.error("hidden_size", "(" + std::to_string(model.hidden) +
                                    ") is no multiple of 'num_attention_heads' (" +
                                    std::to_string(heads) + "); give 'head_dim' as well");
  }
  return std::max<std::int64_t>(1, model.hidden / heads);
}

// Which layers have full attention as 'layer_types' lists them.
std::optional<std::vector<bool>> listed_full_layers(MappingReader& fields, std::int64_t layers) {
  const std::vector<std::string> types = fields.optional_texts("layer_types");
  if (!fields.good({"layer_types", "num_hidden_layers"})) {
    return std::nullopt;
  }
  if (types.size() != static_cast<std::size_t>(layers)) {
    fields.error("layer_types", "has " + std::to_string(types.size()) +
                                    " items, but 'num_hidden_layers' is " + std::to_string(layers) +
                                    "; give one for each layer");
    return std::nullopt;
  }
  std::vector<bool> full;
  for (const std::string& type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      fields.error("layer_types", "has '" + shown(type) +
                                      "', which is not supported; supported are full_attention "
                                      "and sliding_attention");
      return std::nullopt;
    }
    full.push_back(type == "full_attention");
  }
  return full;
}

std::optional<std::vector<bool>> full_layers(MappingReader& fields, WindowRule rule,
                                             std::int64_t layers) {
  if (fields.has("layer_types")) {
    return listed_full_layers(fields, layers);
  }
  if (rule == WindowRule::kUnsettled) {
    fields.error("use_sliding_window",
                 "is true, but versions of transformers differ in the layers that it means; add "
                 "'layer_types'");
    return std::nullopt;
  }
  std::vector<bool> full(static_cast<std::size_t>(layers), false);
  if (rule == WindowRule::kFromMaxWindowLayers) {
    const std::int64_t count = count_of(fields, "max_window_layers", {.absent = 28}, kLayerOrNone);
    std::fill_n(full.begin(), std::min(count, layers), true);
  } else if (rule == WindowRule::kEverySecond || rule == WindowRule::kPattern) {
    const bool second = rule == WindowRule::kEverySecond;
    const auto every = static_cast<std::size_t>(
        second ? 2 : count_of(fields, "sliding_window_pattern", {6, 6}, kLayers));
    for (std::size_t i = every - 1; i < full.size(); i += every) {
      full[i] = true;
    }
  }
  return full;
}

}  // namespace

void read_gqa(MappingReader& fields, const AttentionDefaults& defaults, ModelSpec& model) {
  AttentionSpec& attention = model.attention;
  const std::int64_t heads = attention.heads;
  const std::int64_t usual = defaults.kv_heads > 0 ? defaults.kv_heads : heads;
  attention.kv_heads =
      count_of(fields, "num_key_value_heads", {.absent = usual, .null = heads}, kWidth);
  if (heads % attention.kv_heads != 0 &&
      fields.good({"num_attention_heads", "num_key_value_heads"})) {
    fields.error("num_key_value_heads", "(" + std::to_string(attention.kv_heads) +
                                            ") must divide 'num_attention_heads' (" +
                                            std::to_string(heads) + ")");
  }
  attention.qk_head_dim = head_dim(fields, defaults, model);
  attention.v_head_dim = attention.qk_head_dim;
}

void read_attention_bias(MappingReader& fields, ModelSpec& model) {
  bool& bias = model.attention.qkv_bias;
  bias = fields.optional_flag("attention_bias").value_or(bias);
  model.attention.output_bias = model.attention.qkv_bias;
}

void read_window(MappingReader& fields, const AttentionDefaults& defaults, ModelSpec& model) {
  const std::int64_t window =
      count_of(fields, "sliding_window", {.absent = defaults.sliding_window}, kWidthOrNone);
  const bool used =
      !defaults.window_switch || fields.optional_flag("use_sliding_window").value_or(false);
  if (window == 0 || !used) {
    return;
  }
  const auto full = full_layers(fields, defaults.window_rule, model.layers);
  if (!full) {
    return;
  }
  const auto first = std::find(full->begin(), full->end(), true) - full->begin();
  const std::int64_t every = first + 1;
  if (every > model.layers) {
    model.attention.sliding_window = window;
    return;
  }
  bool regular = true;
  std::vector<std::int64_t> windows;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const bool is_full = (*full)[static_cast<std::size_t>(i)];
    regular = regular && is_full == ((i + 1) % every == 0);
    windows.push_back(is_full ? 0 : window);
  }
  if (!regular) {
    model.attention.sliding_window = LayerCounts(windows, model.layers);
  } else if (every > 1) {
    model.attention.sliding_window = window;
    model.attention.full_attention_every = every;
  }
}

void read_mla(MappingReader& fields, ModelSpec& model) {
  AttentionSpec& attention = model.attention;
  attention.kind = AttentionKind::kMla;
  attention.kv_heads = attention.heads;
  attention.mla.q_lora_rank = count_or_null(fields, "q_lora_rank", kWidthOrNone);
  attention.mla.kv_lora_rank = fields.required_count("kv_lora_rank", kWidth);
  attention.mla.qk_nope_head_dim = fields.required_count("qk_nope_head_dim", kWidth);
  attention.mla.qk_rope_head_dim = fields.required_count("qk_rope_head_dim", kWidth);
  attention.qk_head_dim = attention.mla.qk_nope_head_dim + attention.mla.qk_rope_head_dim;
  attention.v_head_dim = fields.required_count("v_head_dim", kWidth);
  for (const std::string_view key : {"attention_bias", "mlp_bias"}) {
    if (fields.optional_flag(key).value_or(false)) {
      fields.error(key,
                   "is true, but a model file has no form for the biases of this type; set it "
                   "to false to leave them out");
    }
  }
}

}  // namespace stepcast
