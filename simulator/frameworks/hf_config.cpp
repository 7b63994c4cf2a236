// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_config.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/hf_blocks.hpp"
#include "frameworks/hf_fields.hpp"
#include "frameworks/hf_layers.hpp"
#include "frameworks/setting.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/config/value_message.hpp"

namespace stepcast {
namespace {

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

// The model of a file: the file itself, or what stands in it beside encoders.
struct TextModel {
  const ConfigNode* node = nullptr;
  std::string of;    // the type of the whole, where the model stands within it
  std::string type;  // of the model
};

std::string text_at(const ConfigNode& mapping, std::string_view key) {
  const ConfigNode* node = mapping.find(key);
  return node != nullptr && node->kind == ConfigNode::Kind::kScalar && node->quoted ? node->text
                                                                                    : "";
}

// Types of the whole and of the text model go by one name in some files.
std::string text_type(const std::string& type, const HfTypes& types) {
  const auto at = types.texts.find(type);
  return at == types.texts.end() || types.find(type) != nullptr ? type : at->second;
}

std::string type_of(const ConfigNode& root, const HfTypes& types) {
  if (const ConfigNode* list = root.find("architectures")) {
    for (const ConfigNode& item : list->items) {
      if (const auto at = types.architectures.find(item.text); at != types.architectures.end()) {
        return at->second;
      }
    }
  }
  return text_at(root, "model_type");
}

TextModel text_model(const ConfigNode& root, const HfTypes& types) {
  const std::string whole = type_of(root, types);
  for (const std::string& key : types.text_keys) {
    const ConfigNode* inner = root.find(key);
    if (inner == nullptr || inner->kind != ConfigNode::Kind::kMapping) {
      continue;
    }
    TextModel text = text_model(*inner, types);
    if (text.type.empty()) {
      text.type = text_type(whole, types);
    }
    text.of = whole;
    return text;
  }
  return {&root, {}, text_type(whole, types)};
}

const HfType* find_type(const TextModel& text, const HfTypes& types, MappingReader& file) {
  if (const HfType* type = types.find(text.type)) {
    return type;
  }
  std::vector<std::string> names;
  for (const HfType& type : types.types) {
    names.push_back(type.name);
  }
  const std::string told = "is '" + shown(text.type) + "'";
  if (const auto refused = types.refused.find(text.type); refused != types.refused.end()) {
    file.error("model_type", told + ", whose layers have " + refused->second +
                                 "; a model file has no form for that");
  } else if (!text.type.empty()) {
    const std::string near = did_you_mean(text.type, names);
    file.error("model_type",
               told + ", a type that is not known here" +
                   (near.empty() ? "; configs/hugging_face_types.yaml has those that are" : near));
  } else {
    file.required_text("model_type");
  }
  return nullptr;
}

// transformers writes at the top whether the ends are tied, and older versions in the text model.
void read_top_tie(const ConfigNode& root, const TextModel& text, HfFields& fields,
                  ModelSpec& model) {
  if (text.of.empty()) {
    return;
  }
  MappingReader top(root, RecordWording{"file"}, fields.file().diagnostics());
  const std::optional<bool> tied = top.optional_flag("tie_word_embeddings");
  if (tied && !fields.given(HfFact::kTiedEmbeddings)) {
    model.tied_embeddings = *tied;
  }
}

// transformers says at the top of a file whether the whole has an encoder, of which a text model
// within it may say nothing.
void refuse_encoder(const ConfigNode& root, const TextModel& text, MappingReader& file) {
  constexpr std::string_view kKey = "is_encoder_decoder";
  MappingReader top(root, RecordWording{"file"}, file.diagnostics());
  const bool has_encoder = file.optional_flag(kKey).value_or(false);
  const bool top_has = text.node != &root && top.optional_flag(kKey).value_or(false);
  if (has_encoder || top_has) {
    (has_encoder ? file : top)
        .error(kKey, "is true; a model file has no form for an encoder beside the decoder");
  }
}

void append(std::string& note, const std::string& sentence) {
  note += (note.empty() ? "" : " ") + sentence;
}

// The class of a file whose model ends in something else than a language model's output matrix.
std::string other_class(const ConfigNode& root, const HfTypes& types) {
  constexpr std::array<std::string_view, 4> kOthers = {
      "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "Model"};
  const ConfigNode* list = root.find("architectures");
  if (list == nullptr || list->items.empty()) {
    return "";
  }
  const std::string& first = list->items.front().text;
  const bool other =
      std::ranges::any_of(kOthers, [&first](std::string_view end) { return first.ends_with(end); });
  const bool has_output =
      first.ends_with("LMHeadModel") ||
      std::ranges::find(types.language_models, first) != types.language_models.end();
  return other && !has_output ? first : "";
}

std::string note_of(const ConfigNode& root, const TextModel& text, const HfFields& fields,
                    const HfTypes& types) {
  std::string note;
  if (const std::string other = other_class(root, types); !other.empty()) {
    append(note, "The file is of " + shown(other) +
                     ": read is the language model of its type, with an output matrix.");
  }
  if (!text.of.empty()) {
    append(note, "The text model of a " + shown(text.of) + ".");
  }
  if (!fields.of_class().empty()) {
    append(note, "The file leaves out what is the value of its class: " +
                     text_list(fields.of_class()) + ".");
  }
  if (!fields.type().note.empty()) {
    append(note, fields.type().note);
  }
  return note;
}

void read_type(HfFields& fields, ModelSpec& model) {
  const std::string name = fields.word(HfFact::kReader);
  const std::optional<HfCode> code = name.empty() ? std::nullopt : hf_code_named(name);
  if (!name.empty() && !code) {
    fields.file().error("model_type", "is read by '" + shown(name) + "', which there is not");
    return;
  }
  check_activation(fields.file());
  if (!code || code->reads == HfCode::Reads::kRest) {
    read_blocks(fields, model);
  }
  if (code) {
    code->read(fields, model);
  }
}

// What a model file may say holds for what the file makes as well.
void check_model(const ModelSpec& model, const std::string& file_name, Diagnostics& diagnostics) {
  const ConfigNode written = parse_config(to_yaml(model), file_name);
  Diagnostics problems;
  MappingReader reader(written, "", problems);
  read_model(reader);
  for (const Diagnostic& problem : problems.entries()) {
    diagnostics.error({file_name, 0, 0}, "makes a model that cannot be: " + problem.message);
  }
}

}  // namespace

ModelSpec import_hf_config(std::string_view json_text, const std::string& file_name,
                           const std::string& model_name, const HfTypes& types) {
  Diagnostics diagnostics;
  if (model_name.empty()) {
    diagnostics.error({file_name}, "the model needs a name; give one that is not empty");
  }
  constexpr std::size_t kMostKeys = 1'000'000;  // what is quantised is an object with a key a layer
  const JsonSource source{.file = file_name,
                          .most_bytes = kLargestHfConfig,
                          .most_keys = kMostKeys,
                          .numbers = JsonNumbers::kPython};
  const std::optional<ConfigNode> config = parse_json_object(json_text, source, diagnostics);
  if (!config) {
    diagnostics.throw_if_any();
  }
  const TextModel text = text_model(*config, types);
  MappingReader file(
      *text.node, RecordWording{"file", "; add it as the model's publisher gives it"}, diagnostics);
  ModelSpec model;
  model.name = model_name;
  model.title = model_name;
  model.source = "imported from " + file_name;
  refuse_encoder(*config, text, file);
  if (const HfType* type = find_type(text, types, file)) {
    HfFields fields(file, *type);
    model.family = type->name;
    read_type(fields, model);
    read_top_tie(*config, text, fields, model);
    file.refuse_misspelt({});
    model.note = note_of(*config, text, fields, types);
  }
  file.report_missing();
  diagnostics.throw_if_any();
  check_model(model, file_name, diagnostics);
  diagnostics.throw_if_any();
  return model;
}

}  // namespace stepcast
