// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_config.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "frameworks/hf_types.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/config/value_message.hpp"
#include "stepcast/graph/model_ranges.hpp"

namespace stepcast {
namespace {

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
constexpr auto kActivations = std::to_array<std::string_view>({"gelu",
                                                               "gelu_10",
                                                               "gelu_accurate",
                                                               "gelu_fast",
                                                               "gelu_new",
                                                               "gelu_python",
                                                               "gelu_pytorch_tanh",
                                                               "laplace",
                                                               "leaky_relu",
                                                               "linear",
                                                               "mish",
                                                               "prelu",
                                                               "quick_gelu",
                                                               "relu",
                                                               "relu2",
                                                               "relu6",
                                                               "sigmoid",
                                                               "silu",
                                                               "situ",
                                                               "swish",
                                                               "tanh",
                                                               "xielu"});

void check_activation(MappingReader& fields) {
  for (const std::string_view key :
       {"hidden_act", "hidden_activation", "activation_function", "mlp_hidden_act"}) {
    const std::string function = fields.optional_text(key, "silu");
    if (fields.good({key}) &&
        std::find(kActivations.begin(), kActivations.end(), function) == kActivations.end()) {
      fields.error(key, "is '" + shown(function) + "', an activation that is not known here" +
                            did_you_mean(function, std::vector<std::string>(kActivations.begin(),
                                                                            kActivations.end())));
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
  std::string listed;
  for (const HfType& known : hf_types()) {
    if (known.model_type == type) {
      return &known;
    }
    names.emplace_back(known.model_type);
    listed += (listed.empty() ? "" : ", ") + names.back();
  }
  for (const HfRefusal& refusal : hf_refusals()) {
    if (refusal.model_type == type) {
      fields.error("model_type", "is '" + type + "', whose layers have " +
                                     std::string(refusal.lacks) +
                                     "; a model file has no form for that");
      return nullptr;
    }
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
