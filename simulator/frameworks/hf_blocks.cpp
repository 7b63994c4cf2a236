// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_blocks.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/config/value_message.hpp"
#include "stepcast/model/model_ranges.hpp"

namespace stepcast {
namespace {

// Whether the number of experts had no problem, whatever its type calls it.
bool good_experts(const MappingReader& fields) {
  return fields.good({"num_experts", "num_local_experts", "n_routed_experts"});
}

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

std::int64_t count_of(MappingReader& fields, std::string_view key, CountFallback fallback,
                      Range<std::int64_t> range) {
  const bool absent = fields.node().find(key) == nullptr;
  return fields.optional_count(key, absent ? fallback.absent : fallback.null, range);
}

std::int64_t count_or_null(MappingReader& fields, std::string_view key, Range<std::int64_t> range) {
  const bool absent = fields.node().find(key) == nullptr;
  return absent ? fields.required_count(key, range) : fields.optional_count(key, 0, range);
}

std::int64_t count_of_spellings(MappingReader& fields,
                                std::initializer_list<std::string_view> spellings,
                                Range<std::int64_t> range) {
  std::string_view first;
  std::int64_t number = range.lowest;
  for (const std::string_view key : spellings) {
    if (key == first || fields.node().find(key) == nullptr) {
      continue;
    }
    const std::int64_t next = fields.required_count(key, range);
    if (first.empty()) {
      first = key;
      number = next;
    } else if (next != number && fields.good({first, key})) {
      fields.error(key, "is " + std::to_string(next) + ", but '" + std::string(first) + "' is " +
                            std::to_string(number) + "; they mean the same, so keep one of them");
    }
  }
  return first.empty() ? fields.required_count(*spellings.begin(), range) : number;
}

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

MoeSpec read_experts(MappingReader& fields, std::string_view count_key,
                     std::string_view width_key) {
  MoeSpec moe;
  moe.experts = count_of_spellings(
      fields, {count_key, "num_experts", "num_local_experts", "n_routed_experts"}, kWidth);
  moe.experts_per_token =
      count_of_spellings(fields, {"num_experts_per_tok", "experts_per_token"}, kWidth);
  moe.expert_ffn_hidden = fields.required_count(width_key, kWidth);
  if (moe.experts_per_token > moe.experts && good_experts(fields) &&
      fields.good({"num_experts_per_tok", "experts_per_token"})) {
    fields.error("num_experts_per_tok", "(" + std::to_string(moe.experts_per_token) +
                                            ") must not exceed the number of experts (" +
                                            std::to_string(moe.experts) + ")");
  }
  return moe;
}

// The first of them is layer F + n - 1, the second n further.
void place_experts(MappingReader& fields, std::string_view key,
                   const std::vector<bool>& with_experts, MoeSpec moe, ModelSpec& model) {
  const auto begin = with_experts.begin();
  const auto end = with_experts.end();
  const auto first = std::find(begin, end, true);
  if (first == end) {
    return;  // a dense model
  }
  const auto second = std::find(first + 1, end, true);
  moe.every = second - first;  // without a second one: up to the end
  moe.first_dense_layers = (first - begin) - moe.every + 1;
  bool expressible = moe.first_dense_layers >= 0;
  model.moe = moe;
  for (std::int64_t i = 0; expressible && i < model.layers; ++i) {
    expressible = layer_kind(model, i).moe == with_experts[static_cast<std::size_t>(i)];
  }
  if (!expressible) {
    fields.error(key,
                 "leaves experts in layers other than every n-th after a first few, and a model "
                 "file has no other pattern; give the nearest such one");
  }
}

void place_qwen_experts(MappingReader& fields, const MoeSpec& moe, ModelSpec& model) {
  const std::int64_t step = count_of(fields, "decoder_sparse_step", {1, 1}, kLayers);
  const std::vector<std::int64_t> dense = fields.optional_counts("mlp_only_layers", kLayerOrNone);
  std::vector<bool> with_experts;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    with_experts.push_back((i + 1) % step == 0);
  }
  for (const std::int64_t layer : dense) {
    if (layer < model.layers) {
      with_experts[static_cast<std::size_t>(layer)] = false;
    } else if (fields.good({"num_hidden_layers", "mlp_only_layers"})) {
      fields.error("mlp_only_layers", "names layer " + std::to_string(layer) +
                                          ", but the last of the model is " +
                                          std::to_string(model.layers - 1));
    }
  }
  if (fields.good({"num_hidden_layers", "mlp_only_layers"})) {
    place_experts(fields, "mlp_only_layers", with_experts, moe, model);
  }
}

void place_deepseek_experts(MappingReader& fields, const MoeSpec& moe, ModelSpec& model) {
  const std::int64_t dense = fields.required_count("first_k_dense_replace", kLayerOrNone);
  const std::int64_t step = count_of(fields, "moe_layer_freq", {1, 1}, kLayers);
  std::vector<bool> with_experts;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    with_experts.push_back(i >= dense && i % step == 0);
  }
  if (fields.good({"num_hidden_layers", "first_k_dense_replace", "moe_layer_freq"})) {
    place_experts(fields, "moe_layer_freq", with_experts, moe, model);
  }
}

void read_groups(MappingReader& fields, const RouterDefaults& defaults, MoeSpec& moe) {
  RouterSpec& router = moe.router;
  router.groups = count_of(fields, "n_group", {defaults.groups, 1}, kWidth);
  router.topk_groups = count_of(fields, "topk_group", {defaults.topk_groups, 1}, kWidth);
  if (!fields.good({"n_group", "topk_group"}) || !good_experts(fields)) {
    return;
  }
  if (moe.experts % router.groups != 0) {
    fields.error("n_group", "(" + std::to_string(router.groups) +
                                ") must divide the number of experts (" +
                                std::to_string(moe.experts) + ")");
  }
  if (router.topk_groups > router.groups) {
    fields.error("topk_group", "(" + std::to_string(router.topk_groups) +
                                   ") must not exceed 'n_group' (" + std::to_string(router.groups) +
                                   ")");
  }
}

void read_deepseek_router(MappingReader& fields, const RouterDefaults& defaults, MoeSpec& moe) {
  const bool sigmoid = defaults.score == RouterScore::kSigmoid;
  const std::string score = fields.optional_text("scoring_func", sigmoid ? "sigmoid" : "softmax");
  if (score != "softmax" && score != "sigmoid") {
    fields.error("scoring_func", "is '" + shown(score) + "'; supported are softmax and sigmoid");
  }
  moe.router.score = score == "sigmoid" ? RouterScore::kSigmoid : RouterScore::kSoftmax;
  const std::string method = fields.optional_text("topk_method", std::string(defaults.topk_method));
  if (method == "group_limited_greedy" || method == "noaux_tc") {
    read_groups(fields, defaults, moe);
  } else if (method != "greedy") {
    fields.error("topk_method", "is '" + shown(method) +
                                    "'; supported are greedy, group_limited_greedy and noaux_tc");
  }
  moe.router.expert_bias = method == "noaux_tc";
}

void read_shared_experts(MappingReader& fields, MoeSpec& moe) {
  const std::int64_t shared = count_or_null(fields, "n_shared_experts", kWidthOrNone);
  moe.shared_expert_ffn_hidden = shared * moe.expert_ffn_hidden;
  if (moe.shared_expert_ffn_hidden > kWidth.highest) {
    fields.error("n_shared_experts",
                 "times 'moe_intermediate_size' must not exceed " + std::to_string(kWidth.highest));
  }
}

void read_gated_shared_expert(MappingReader& fields, MoeSpec& moe) {
  moe.shared_expert_ffn_hidden =
      fields.required_count("shared_expert_intermediate_size", kWidthOrNone);
  moe.shared_expert_gate = moe.shared_expert_ffn_hidden > 0;
}

}  // namespace stepcast
