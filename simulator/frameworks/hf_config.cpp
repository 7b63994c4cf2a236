// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_config.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "frameworks/hf_layers.hpp"
#include "frameworks/setting.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/config/value_message.hpp"
#include "stepcast/model/model_ranges.hpp"

namespace stepcast {
namespace {

// A model type that a model file can say: what its keys mean.
struct HfType {
  std::string_view model_type;
  // Expects sizes, layers and query heads in the model, unless it reads them.
  void (*read)(MappingReader&, const ClassDefaults&, ModelSpec&);
  ClassDefaults defaults;
};

// A type that is known and has no form here.
struct HfRefusal {
  std::string_view model_type;
  std::string_view lacks;
};

// Types without a dense layer have no width of one; the key is that of their experts.
constexpr std::string_view kExpertWidth = "moe_intermediate_size";

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
  read_gated_shared_expert(fields, moe);
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
  read_shared_experts(fields, moe);
  read_deepseek_router(fields, defaults.router, moe);
  place_deepseek_experts(fields, moe, model);
  model.mtp_layers = count_of(fields, "num_nextn_predict_layers", {}, kMtpLayers);
}

void import_deepseek_v32(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  import_deepseek(fields, defaults, model);
  read_hf_indexer(fields, model);
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

void import_olmo2(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_gqa(fields, defaults.attention, model);
  read_attention_bias(fields, model);
  model.attention.qk_norm = QkNorm::kFull;
}

void import_glm4_moe(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_gqa(fields, defaults.attention, model);
  model.attention.qkv_bias = fields.optional_flag("attention_bias").value_or(false);
  if (fields.optional_flag("use_qk_norm").value_or(false)) {
    model.attention.qk_norm = QkNorm::kHead;
  }
  MoeSpec moe = read_experts(fields, "n_routed_experts", "moe_intermediate_size");
  read_shared_experts(fields, moe);
  moe.router.score = RouterScore::kSigmoid;
  moe.router.expert_bias = true;
  read_groups(fields, defaults.router, moe);
  place_deepseek_experts(fields, moe, model);
  model.mtp_layers = count_of(fields, "num_nextn_predict_layers", {}, kMtpLayers);
}

// Three layers in four attend within chunks of 8192 tokens, which is full attention up to that
// length; the norm of queries and keys has no parameters.
void import_llama4(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_gqa(fields, defaults.attention, model);
  read_attention_bias(fields, model);
  MoeSpec moe = read_experts(fields, "num_local_experts", "intermediate_size");
  moe.shared_expert_ffn_hidden = moe.expert_ffn_hidden;
  moe.router.score = RouterScore::kSigmoid;
  model.mlp.ffn_hidden = fields.required_count("intermediate_size_mlp", kWidth);
  const std::int64_t step = count_of(fields, "interleave_moe_layer_step", {1, 1}, kLayers);
  const std::vector<std::int64_t> listed = fields.optional_counts("moe_layers", kLayerOrNone);
  std::vector<bool> with_experts(static_cast<std::size_t>(model.layers), false);
  for (std::int64_t layer = step - 1; listed.empty() && layer < model.layers; layer += step) {
    with_experts[static_cast<std::size_t>(layer)] = true;
  }
  for (const std::int64_t layer : listed) {
    with_experts[static_cast<std::size_t>(std::min(layer, model.layers - 1))] = true;
  }
  if (fields.good({"num_hidden_layers", "moe_layers", "interleave_moe_layer_step"})) {
    place_experts(fields, listed.empty() ? "interleave_moe_layer_step" : "moe_layers", with_experts,
                  moe, model);
  }
}

void import_minimax_m2(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_gqa(fields, defaults.attention, model);
  if (fields.optional_flag("use_qk_norm").value_or(true)) {
    model.attention.qk_norm = QkNorm::kFull;
  }
  MoeSpec moe = read_experts(fields, "num_local_experts", "intermediate_size");
  moe.router.score = RouterScore::kSigmoid;
  moe.router.expert_bias = fields.optional_flag("use_routing_bias").value_or(true);
  moe.shared_expert_ffn_hidden = count_of(fields, "shared_intermediate_size", {}, kWidthOrNone);
  model.moe = moe;
  if (fields.optional_flag("use_mtp").value_or(false)) {
    model.mtp_layers = count_of(fields, "num_mtp_modules", {}, kMtpLayers);
  }
}

void import_gemma(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_gqa(fields, defaults.attention, model);
  read_attention_bias(fields, model);
}

// A cap on logits is not priced.
void import_gemma2(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  import_gemma(fields, defaults, model);
  read_window(fields, defaults.attention, model);
  model.norms_per_layer = 4;
}

void import_gemma3(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  import_gemma2(fields, defaults, model);
  model.attention.qk_norm = QkNorm::kHead;
}

void import_gpt_neox(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  read_gqa(fields, defaults.attention, model);
  if (fields.optional_flag("use_parallel_residual").value_or(true)) {
    fields.error("use_parallel_residual",
                 "is true, the usual: attention and feed-forward then run side by side behind a "
                 "norm each, for which a model file has no form");
  }
  const bool bias = fields.optional_flag("attention_bias").value_or(true);
  model.attention.qkv_bias = bias;
  model.attention.output_bias = bias;
  model.norm = NormKind::kLayerNorm;
  model.norm_bias = true;
  model.mlp.gated = false;
  model.mlp.bias = true;
}

// Attention: key/value heads, head dimension, window, window switch, window rule
// (AttentionDefaults). Source: src/transformers/models/<model_type>/configuration_<model_type>.py
// of transformers.
constexpr auto kHfTypes = std::to_array<HfType>({
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
    {"olmo2", import_olmo2, {}},
    {"glm4_moe", import_glm4_moe, {.attention = {8, 128}}},
    {"kimi_k2", import_deepseek, {.router = {RouterScore::kSigmoid, "noaux_tc", 1, 1}}},
    {"llama4_text", import_llama4, {.attention = {8, 128}}},
    {"minimax_m2", import_minimax_m2, {.attention = {8, 128}}},
    {"gemma", import_gemma, {.attention = {16, 256}, .tied_embeddings = true}},
    {"gemma2",
     import_gemma2,
     {.attention = {4, 256, 4096, false, WindowRule::kEverySecond}, .tied_embeddings = true}},
    {"gemma3_text",
     import_gemma3,
     {.attention = {4, 256, 4096, false, WindowRule::kPattern}, .tied_embeddings = true}},
    {"phi3", import_mistral, {}},
    {"gpt_neox", import_gpt_neox, {}},
    {"qwen3_next", import_qwen3_next, {.attention = {2, 256}, .dense_width = kExpertWidth}},
    {"qwen3_5_text", import_qwen3_next, {.attention = {4, 256}, .tied_embeddings = true}},
    {"qwen3_5_moe_text", import_qwen3_next, {.attention = {2, 256}, .dense_width = kExpertWidth}},
    {"kimi_linear", import_kimi_linear, {}},
    {"deepseek_v32", import_deepseek_v32, {.router = {RouterScore::kSigmoid, "noaux_tc", 8, 4}}},
    {"glm_moe_dsa", import_deepseek_v32, {.router = {RouterScore::kSigmoid, "noaux_tc", 1, 1}}},
    {"deepseek_v4", import_deepseek_v4, {.dense_width = kExpertWidth}},
    {"lfm2",
     import_lfm2,
     {.attention = {8}, .tied_embeddings = true, .dense_width = "block_ff_dim"}},
    {"lfm2_moe", import_lfm2_moe, {.attention = {8}, .tied_embeddings = true}},
    {"openelm", import_openelm, {.reads_sizes = true}},
    {"nemotron-nas", import_nemotron_nas, {.reads_sizes = true}},
});

// What layers of these types hold that a model file has no form for.
constexpr std::array kRefused = {
    HfRefusal{"minimax", "lightning attention in most layers"},
    HfRefusal{"gemma3n", "embeddings of each layer and layers that share keys and values"},
    HfRefusal{"gemma4_text", "heads of two widths and layers that share keys and values"},
    HfRefusal{"mimo_v2_flash", "attention sinks in windowed layers alone"},
    HfRefusal{"step3p5", "a gate of each head and dense layers in multi-token prediction"},
    HfRefusal{"mamba", "state space models instead of attention"},
    HfRefusal{"mamba2", "state space models instead of attention"},
    HfRefusal{"jamba", "state space models in most layers"},
    HfRefusal{"nemotron_h", "state space models in most layers"},
};

void read_sizes(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model) {
  model.hidden = fields.required_count("hidden_size", kWidth);
  model.layers = fields.required_count("num_hidden_layers", kLayers);
  model.vocabulary = fields.required_count("vocab_size", kVocabularySize);
  model.tied_embeddings =
      fields.optional_flag("tie_word_embeddings").value_or(defaults.tied_embeddings);
  model.attention.heads = fields.required_count("num_attention_heads", kWidth);
  const bool other = !defaults.dense_width.empty() && !fields.has("intermediate_size");
  model.mlp.ffn_hidden =
      fields.required_count(other ? defaults.dense_width : "intermediate_size", kWidth);
}

// The functions of Transformers (activations.py) and situ of Kimi K3's own code. All of them are a
// pass that memory bounds, so none is a key of a model; whether the feed-forward has a gate follows
// from the type.
constexpr std::string_view kActivations =
    "gelu gelu_10 gelu_accurate gelu_fast gelu_new gelu_python gelu_pytorch_tanh laplace "
    "leaky_relu linear mish prelu quick_gelu relu relu2 relu6 sigmoid silu situ swish tanh xielu";

void check_activation(MappingReader& fields) {
  const std::vector<std::string_view> known = names_in(kActivations);
  for (const std::string_view key :
       {"hidden_act", "hidden_activation", "activation_function", "mlp_hidden_act"}) {
    const std::string function = fields.optional_text(key, "silu");
    if (fields.good({key}) && !is_among(kActivations, function)) {
      fields.error(
          key, "is '" + shown(function) + "', an activation that is not known here" +
                   did_you_mean(function, {std::vector<std::string>(known.begin(), known.end())}));
    }
  }
}

// Where the model of a type with an encoder beside it stands: {"text_config": {...}}.
bool has_text_model(const ConfigNode& root) {
  const ConfigNode* text = root.find("text_config");
  return text != nullptr && text->kind == ConfigNode::Kind::kMapping &&
         text->find("hidden_size") != nullptr;
}

// Types whose text model goes by the name of the whole.
std::string type_of_text(const std::string& type) {
  const bool whole =
      type == "llama4" || type == "gemma3" || type == "qwen3_5" || type == "qwen3_5_moe";
  return whole ? type + "_text" : type;
}

const HfType* find_type(MappingReader& fields) {
  const std::string type = type_of_text(fields.required_text("model_type"));
  std::vector<std::string> names;
  for (const HfType& known : kHfTypes) {
    if (known.model_type == type) {
      return &known;
    }
    names.emplace_back(known.model_type);
  }
  for (const HfRefusal& refusal : kRefused) {
    if (refusal.model_type == type) {
      fields.error("model_type", "is '" + type + "', whose layers have " +
                                     std::string(refusal.lacks) +
                                     "; a model file has no form for that");
      return nullptr;
    }
  }
  if (fields.good({"model_type"})) {
    fields.error("model_type", "is '" + shown(type) + "'; supported are " + text_list(names) +
                                   did_you_mean(type, names));
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
  const ConfigNode& text = has_text_model(*config) ? *config->find("text_config") : *config;
  MappingReader fields(text, RecordWording{"file", "; add it as the model's publisher gives it"},
                       diagnostics);
  ModelSpec model;
  model.name = model_name;
  model.title = model_name;
  model.source = "imported from " + file_name;
  if (const HfType* type = find_type(fields)) {
    model.family = type->model_type;
    if (!type->defaults.reads_sizes) {
      read_sizes(fields, type->defaults, model);
    }
    check_activation(fields);
    type->read(fields, type->defaults, model);
  }
  fields.report_missing();
  diagnostics.throw_if_any();
  return model;
}

}  // namespace stepcast
