// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_config.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "frameworks/hf_attention.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/config/value_message.hpp"
#include "stepcast/graph/model_ranges.hpp"

namespace stepcast {
namespace {

constexpr Range<std::int64_t> kMtpLayers{0, 64};

// What the class of a type in transformers takes absent keys for.
struct RouterDefaults {
  RouterScore score = RouterScore::kSoftmax;
  std::string_view topk_method = "greedy";
  std::int64_t groups = 1;
  std::int64_t topk_groups = 1;
};
struct ClassDefaults {
  AttentionDefaults attention = {};
  RouterDefaults router = {};
  bool tied_embeddings = false;
};

void read_sizes(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  model.hidden = fields.required_count("hidden_size", kWidth);
  model.layers = fields.required_count("num_hidden_layers", kLayers);
  model.vocabulary = fields.required_count("vocab_size", kVocabularySize);
  model.tied_embeddings =
      fields.optional_flag("tie_word_embeddings").value_or(defaults.tied_embeddings);
  model.attention.heads = fields.required_count("num_attention_heads", kWidth);
  model.mlp.ffn_hidden = fields.required_count("intermediate_size", kWidth);
}

// ---- experts ----

// Whether the number of experts had no problem, whatever its type calls it.
bool good_experts(const MappingReader& fields) {
  return fields.good({"num_experts", "num_local_experts", "n_routed_experts"});
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

// Puts `moe` on the layers of `with_experts`, if a model file can say so: the first of them is
// layer F + n - 1, the second n further.
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

// ---- types ----

void import_llama(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_gqa(fields, defaults.attention, model);
  read_attention_bias(fields, model);
  model.mlp.bias = fields.optional_flag("mlp_bias").value_or(false);
}

void import_mistral(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_gqa(fields, defaults.attention, model);
  read_window(fields, defaults.attention, model);
}

void import_mixtral(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  import_mistral(fields, defaults, model);
  model.moe = read_experts(fields, "num_local_experts", "intermediate_size");
}

void import_qwen2(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  import_mistral(fields, defaults, model);
  model.attention.qkv_bias = true;
}

void import_qwen2_moe(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  import_mistral(fields, defaults, model);
  model.attention.qkv_bias = fields.optional_flag("qkv_bias").value_or(true);
  MoeSpec moe = read_experts(fields, "num_experts", "moe_intermediate_size");
  moe.shared_expert_ffn_hidden =
      fields.required_count("shared_expert_intermediate_size", kWidthOrNone);
  moe.shared_expert_gate = moe.shared_expert_ffn_hidden > 0;
  place_qwen_experts(fields, moe, model);
}

void import_qwen3(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  import_mistral(fields, defaults, model);
  read_attention_bias(fields, model);
  model.attention.qk_norm = QkNorm::kHead;
}

void import_qwen3_moe(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  import_qwen3(fields, defaults, model);
  place_qwen_experts(fields, read_experts(fields, "num_experts", "moe_intermediate_size"), model);
}

void import_deepseek(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_mla(fields, model);
  MoeSpec moe = read_experts(fields, "n_routed_experts", "moe_intermediate_size");
  const std::int64_t shared = count_or_null(fields, "n_shared_experts", kWidthOrNone);
  moe.shared_expert_ffn_hidden = shared * moe.expert_ffn_hidden;
  if (moe.shared_expert_ffn_hidden > kWidth.highest) {
    fields.error("n_shared_experts",
                 "times 'moe_intermediate_size' must not exceed " + std::to_string(kWidth.highest));
  }
  read_deepseek_router(fields, defaults.router, moe);
  place_deepseek_experts(fields, moe, model);
  model.mtp_layers = count_of(fields, "num_nextn_predict_layers", {}, kMtpLayers);
}

void import_gpt_oss(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  import_mistral(fields, defaults, model);
  model.attention.qkv_bias = true;
  read_attention_bias(fields, model);
  model.attention.sinks = true;
  model.moe = read_experts(fields, "num_local_experts", "intermediate_size");
  model.moe->expert_bias = true;
  model.moe->clamped_activation = true;  // swiglu_limit, 7 in the model's own code
  model.moe->router.linear_bias = true;
}

struct Importer {
  std::string_view model_type;
  void (*read)(MappingReader&, const ClassDefaults&, ModelSpec&);
  ClassDefaults defaults;
};

// Attention: key/value heads, head dimension, window, window switch, window rule
// (AttentionDefaults). Source: src/transformers/models/<model_type>/configuration_<model_type>.py
// of transformers.
constexpr std::array<Importer, 10> kImporters = {{
    {"llama", import_llama, {}},
    {"mistral", import_mistral, {.attention = {.kv_heads = 8, .sliding_window = 4096}}},
    {"mixtral", import_mixtral, {.attention = {.kv_heads = 8}}},
    {"qwen2", import_qwen2, {.attention = {32, 0, 4096, true, WindowRule::kFromMaxWindowLayers}}},
    {"qwen2_moe", import_qwen2_moe, {.attention = {16, 0, 4096, true, WindowRule::kUnsettled}}},
    {"qwen3", import_qwen3, {.attention = {32, 128, 4096, true, WindowRule::kFromMaxWindowLayers}}},
    {"qwen3_moe", import_qwen3_moe, {.attention = {4, 0, 4096, true, WindowRule::kAll}}},
    {"deepseek_v2", import_deepseek, {}},
    {"deepseek_v3", import_deepseek, {.router = {RouterScore::kSigmoid, "noaux_tc", 8, 4}}},
    {"gpt_oss", import_gpt_oss, {.attention = {8, 64, 128, false, WindowRule::kEverySecond}}},
}};

const Importer* find_importer(MappingReader& fields) {
  const std::string type = fields.required_text("model_type");
  std::vector<std::string> names;
  std::string listed;
  for (const Importer& importer : kImporters) {
    if (importer.model_type == type) {
      return &importer;
    }
    names.emplace_back(importer.model_type);
    listed += (listed.empty() ? "" : ", ") + names.back();
  }
  if (fields.good({"model_type"})) {
    fields.error("model_type",
                 "is '" + shown(type) + "'; supported are " + listed + did_you_mean(type, names));
  }
  return nullptr;
}

}  // namespace

ModelSpec import_hf_config(std::string_view json_text, const std::string& file_name,
                           const std::string& model_name) {
  Diagnostics diagnostics;
  if (model_name.empty()) {
    diagnostics.error({file_name}, "the model needs a name; give one that is not empty");
  }
  const std::optional<ConfigNode> config = parse_json_object(json_text, {file_name}, diagnostics);
  if (!config) {
    diagnostics.throw_if_any();
  }
  MappingReader fields(*config, RecordWording{"file", "; add it as the model's publisher gives it"},
                       diagnostics);
  ModelSpec model;
  model.name = model_name;
  model.title = model_name;
  model.source = "imported from " + file_name;
  if (const Importer* importer = find_importer(fields)) {
    model.family = importer->model_type;
    read_sizes(fields, importer->defaults, model);
    importer->read(fields, importer->defaults, model);
  }
  fields.report_missing();
  diagnostics.throw_if_any();
  return model;
}

}  // namespace stepcast
