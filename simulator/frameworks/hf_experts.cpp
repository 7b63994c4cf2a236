// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_experts.hpp"

#include <algorithm>
#include <string>

#include "stepcast/config/value_message.hpp"
#include "stepcast/graph/model_ranges.hpp"

namespace stepcast {
namespace {

// Whether the number of experts had no problem, whatever its type calls it.
bool good_experts(const MappingReader& fields) {
  return fields.good({"num_experts", "num_local_experts", "n_routed_experts"});
}

}  // namespace

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

}  // namespace stepcast
