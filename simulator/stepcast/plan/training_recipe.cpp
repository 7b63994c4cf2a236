// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/training_recipe.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/each_of.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/plan/run_spec.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast {
namespace {

// All but fp32, in which no framework multiplies.
constexpr std::array<std::string_view, 5> kTrainingDtypeNames = {"bf16", "fp16", "fp8", "fp8_block",
                                                                 "fp4"};

constexpr Range<std::int64_t> kSequence{1, 1 << 28};
constexpr Range<std::int64_t> kBatch{1, 1 << 30};
constexpr Range<double> kWorkSpread{0.0, 10.0};
constexpr Range<std::int64_t> kOffloadedLayers{1, 10'000};

// A list of names of `E`. Problems are told of `key`.
template <typename E>
std::vector<E> read_list(MappingReader& reader, std::string_view key, const ConfigNode& list,
                         std::string_view remedy) {
  std::vector<E> values;
  if (list.kind != ConfigNode::Kind::kSequence || list.items.empty()) {
    reader.error(key, "must be a list; write " + std::string(remedy));
    return values;
  }
  for (const ConfigNode& item : list.items) {
    if (const auto value = reader.choice<E>(key, item, enum_names<E>())) {
      values.push_back(*value);
    }
  }
  return values;
}

void read_modules(MappingReader& reader, RecomputeSpec& recompute) {
  const ConfigNode* list = reader.take("recompute_modules");
  if (list == nullptr) {
    return;
  }
  recompute.modules =
      read_list<RecomputeModule>(reader, "recompute_modules", *list, "[core_attn, layernorm]");
}

// A count with the method, or a list of layers.
void read_layers(MappingReader& reader, RecomputeSpec& recompute) {
  constexpr Range<std::int64_t> kLayers{0, 10'000};
  const ConfigNode* layers = reader.take("recompute_layers");
  if (layers == nullptr) {
    return;
  }
  if (layers->kind != ConfigNode::Kind::kSequence) {
    recompute.layers = reader.count("recompute_layers", *layers, kLayers).value_or(1);
    return;
  }
  if (reader.has("recompute_method")) {
    reader.error("recompute_method", "must be left out where recompute_layers is a list");
  }
  for (const ConfigNode& item : layers->items) {
    if (const auto layer = reader.count("recompute_layers", item, kLayers)) {
      recompute.layer_list.push_back(*layer);
    }
  }
  std::ranges::sort(recompute.layer_list);
  const auto repeated = std::unique(recompute.layer_list.begin(), recompute.layer_list.end());
  recompute.layer_list.erase(repeated, recompute.layer_list.end());
  if (recompute.layer_list.empty()) {
    reader.error("recompute_layers", "must name a layer, as in [0, 2, 4], or be a count");
  }
}

std::vector<NamedValue<Dtype>> training_dtypes() {
  return each_of(kTrainingDtypeNames, [](std::string_view name) {
    return NamedValue<Dtype>{name, *dtype_named(name)};
  });
}

RecomputeSpec read_recompute(MappingReader& reader) {
  RecomputeSpec recompute;
  recompute.kind = reader.optional_choice<RecomputeKind>("recompute", enum_names<RecomputeKind>(),
                                                         RecomputeKind::kNone);
  recompute.method = reader.optional_choice<RecomputeMethod>(
      "recompute_method", enum_names<RecomputeMethod>(), RecomputeMethod::kUniform);
  read_layers(reader, recompute);
  recompute.budget = reader.optional_number("memory_budget", 1.0, kFraction);
  read_modules(reader, recompute);
  if (recompute.kind != RecomputeKind::kFull &&
      (reader.has("recompute_method") || reader.has("recompute_layers"))) {
    reader.error("recompute",
                 "must be full where recompute_method or recompute_layers is given; take these "
                 "out: --set training.recompute_method=null --set training.recompute_layers=null");
  }
  if ((recompute.kind == RecomputeKind::kBudget) != reader.has("memory_budget")) {
    reader.error("recompute", "memory_budget and a memory_budget between 0 and 1 go together");
  }
  if (recompute.kind != RecomputeKind::kSelective && reader.has("recompute_modules")) {
    reader.error("recompute", "must be selective where recompute_modules is given");
  }
  if (recompute.method == RecomputeMethod::kUniform && recompute.layers == 0) {
    reader.error("recompute_layers", "must be at least 1 with the method uniform");
  }
  return recompute;
}

Documents read_documents(MappingReader& reader) {
  Documents documents;
  if (std::optional<MappingReader> mapping = reader.optional_mapping("documents")) {
    documents.length = mapping->required_count("length", kSequence);
    documents.lengths = mapping->optional_choice<DocumentLengths>(
        "lengths", enum_names<DocumentLengths>(), documents.lengths);
    documents.packed = mapping->optional_flag("packed").value_or(documents.packed);
    mapping->finish();
  }
  return documents;
}

// The same, each once and in the order of the enumeration.
template <typename E>
std::vector<E> read_names(MappingReader& reader, std::string_view key, const ConfigNode& list,
                          std::string_view remedy) {
  std::vector<E> values = read_list<E>(reader, key, list, remedy);
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// A target that another one already covers would have two adapters.
void check_targets(MappingReader& lora, const std::vector<LoraTarget>& targets) {
  const auto named = [&](LoraTarget target) {
    return std::ranges::find(targets, target) != targets.end();
  };
  const auto refuse_parts = [&](LoraTarget whole, std::initializer_list<LoraTarget> parts) {
    for (const LoraTarget part : parts) {
      if (named(whole) && named(part)) {
        lora.error("targets", "names " + std::string(name(whole)) + " and " +
                                  std::string(name(part)) + ", which is a part of it");
      }
    }
  };
  refuse_parts(LoraTarget::kQkv, {LoraTarget::kQ, LoraTarget::kK, LoraTarget::kV});
  refuse_parts(LoraTarget::kGateUp, {LoraTarget::kGate, LoraTarget::kUp});
}

// Targets as checkpoints and Megatron name their matrices, by ours.
constexpr std::array<std::pair<std::string_view, LoraTarget>, 11> kMatrixNames = {{
    {"q_proj", LoraTarget::kQ},
    {"k_proj", LoraTarget::kK},
    {"v_proj", LoraTarget::kV},
    {"o_proj", LoraTarget::kO},
    {"gate_proj", LoraTarget::kGate},
    {"up_proj", LoraTarget::kUp},
    {"down_proj", LoraTarget::kDown},
    {"linear_qkv", LoraTarget::kQkv},
    {"linear_proj", LoraTarget::kO},
    {"linear_fc1", LoraTarget::kGateUp},
    {"linear_fc2", LoraTarget::kDown},
}};

ConfigNode with_own_names(ConfigNode list) {
  for (ConfigNode& item : list.items) {
    const auto* const known =
        std::ranges::find(kMatrixNames, item.text, &std::pair<std::string_view, LoraTarget>::first);
    if (known != kMatrixNames.end()) {
      item.text = name(known->second);
    }
  }
  return list;
}

std::optional<LoraSpec> read_lora(MappingReader& reader) {
  constexpr Range<std::int64_t> kRank{1, 65'536};
  std::optional<MappingReader> mapping = reader.optional_mapping("lora");
  if (!mapping) {
    return std::nullopt;
  }
  LoraSpec lora;
  lora.rank = mapping->required_count("rank", kRank);
  if (const ConfigNode* targets = mapping->take("targets")) {
    lora.targets =
        read_names<LoraTarget>(*mapping, "targets", with_own_names(*targets), "[qkv, o]");
    check_targets(*mapping, lora.targets);
  } else {
    lora.targets = {LoraTarget::kQ, LoraTarget::kV};  // as PEFT has them for Llama
  }
  lora.dropout = mapping->optional_flag("dropout").value_or(false);
  lora.base = mapping->optional_choice<BaseWeights>("base_weights", enum_names<BaseWeights>(),
                                                    BaseWeights::kAsOthers);
  mapping->finish();
  return lora;
}

// Activations are a flag, or {layers: 40, overlap: false}.
HostOffload read_host_offload(MappingReader& reader) {
  HostOffload offload;
  std::optional<MappingReader> mapping = reader.optional_mapping("offload");
  if (!mapping) {
    return offload;
  }
  offload.parameters = mapping->optional_flag("parameters").value_or(false);
  if (const ConfigNode* activations = mapping->take("activations")) {
    if (activations->kind == ConfigNode::Kind::kMapping) {
      MappingReader some(*activations, mapping->path_of("activations"), mapping->diagnostics());
      if (const ConfigNode* layers = some.take("layers")) {
        offload.activation_layers = some.count("layers", *layers, kOffloadedLayers).value_or(0);
      }
      offload.activations_overlap = some.optional_flag("overlap").value_or(true);
      offload.activations = true;
      some.finish();
    } else {
      offload.activations = mapping->flag("activations", *activations).value_or(false);
    }
  }
  mapping->finish();
  return offload;
}

// `all`, or a list of parts.
TrainedWeights read_weights(MappingReader& reader) {
  TrainedWeights weights;
  weights.lora = read_lora(reader);
  if (const ConfigNode* frozen = reader.take("frozen")) {
    const bool all = frozen->kind == ConfigNode::Kind::kScalar && frozen->text == "all";
    weights.frozen = all ? each_of(enum_names<ParameterRole>(), &NamedValue<ParameterRole>::value)
                         : read_names<ParameterRole>(reader, "frozen", *frozen,
                                                     "all, or some parts such as [embedding]");
  }
  return weights;
}

std::optional<GarbageCollection> read_garbage_collection(MappingReader& reader) {
  std::optional<MappingReader> mapping = reader.optional_mapping("garbage_collection");
  if (!mapping) {
    return std::nullopt;
  }
  constexpr UnitRange kStop{{0.0, 1e5}, "ms"};
  constexpr Range<double> kStepsBetween{1.0, 1e9};
  GarbageCollection collection;
  collection.pause = mapping->required_quantity<Seconds>("pause", kStop);
  collection.steps = mapping->required_number("steps", kStepsBetween);
  mapping->finish();
  return collection;
}

TrainingRecipe read_recipe(MappingReader& reader) {
  TrainingRecipe training;
  training.sequence_length = reader.required_count("sequence_length", kSequence);
  training.micro_batch_size = reader.optional_count("micro_batch_size", 1, kBatch);
  training.global_batch_size = reader.required_count("global_batch_size", kBatch);
  training.dtype = reader.optional_choice<Dtype>("dtype", training_dtypes(), Dtype::kBf16);
  training.recompute = read_recompute(reader);
  training.optimizer = read_optimizer(reader);
  training.dropout = reader.optional_flag("dropout").value_or(false);
  training.documents = read_documents(reader);
  training.weights = read_weights(reader);
  if (const ConfigNode* held = reader.take("weights")) {
    training.weight_format =
        reader.choice<WeightFormat>("weights", *held, enum_names<WeightFormat>());
  }
  training.offload = read_host_offload(reader);
  training.work_spread = reader.optional_number("work_spread", 0.0, kWorkSpread);
  training.garbage_collection = read_garbage_collection(reader);
  if (training.weights.quantised_base() && is_quantized(training.dtype)) {
    reader.error("dtype", "must be of 16 bits where lora.base_weights has fewer");
  }
  return training;
}

}  // namespace

std::span<const std::string_view> training_dtype_names() { return kTrainingDtypeNames; }

bool RecomputeSpec::recomputes(RecomputeModule module) const { return selected().meets({module}); }

ModuleSet RecomputeSpec::selected() const {
  ModuleSet selected;
  if (kind == RecomputeKind::kSelective) {
    for (const RecomputeModule module : modules) {
      selected = selected.with({module});
    }
  }
  return selected;
}

TrainingSection read_training_section(MappingReader reader) {
  TrainingSection section;
  section.recipe = read_recipe(reader);
  section.run = read_run(reader);
  reader.finish();
  return section;
}

TrainingRecipe read_training(MappingReader reader) {
  return read_training_section(std::move(reader)).recipe;
}

namespace {

ConfigNode written_layers(const RecomputeSpec& recompute) {
  return recompute.layer_list.empty() ? scalar_node(recompute.layers)
                                      : list_node(recompute.layer_list);
}

template <typename E>
ConfigNode written_names(const std::vector<E>& values) {
  return list_node(each_of(values, [](E value) { return std::string(name(value)); }));
}

void write_recompute(const RecomputeSpec& recompute, ConfigWriter& writer) {
  writer.field("recompute", name(recompute.kind));
  if (recompute.kind == RecomputeKind::kFull) {
    if (recompute.layer_list.empty()) {
      writer.field("recompute_method", name(recompute.method));
    }
    writer.field("recompute_layers", written_layers(recompute));
  }
  if (recompute.kind == RecomputeKind::kSelective) {
    writer.field("recompute_modules", written_names(recompute.modules));
  }
  if (recompute.kind == RecomputeKind::kBudget) {
    writer.field("memory_budget", recompute.budget);
  }
}

void write_weights(const TrainedWeights& weights, ConfigWriter& writer) {
  if (weights.lora) {
    writer.begin("lora");
    writer.field("rank", weights.lora->rank);
    writer.field("targets", written_names(weights.lora->targets));
    writer.field("dropout", weights.lora->dropout);
    if (weights.lora->base != BaseWeights::kAsOthers) {
      writer.field("base_weights", name(weights.lora->base));
    }
    writer.end();
  }
  if (weights.frozen) {
    writer.field("frozen", written_names(*weights.frozen));
  }
}

void write_host_offload(const HostOffload& offload, ConfigWriter& writer) {
  if (!offload.any()) {
    return;
  }
  writer.begin("offload");
  if (offload.parameters) {
    writer.field("parameters", true);
  }
  if (offload.activation_layers > 0 || !offload.activations_overlap) {
    writer.begin("activations");
    if (offload.activation_layers > 0) {
      writer.field("layers", offload.activation_layers);
    }
    writer.field("overlap", offload.activations_overlap);
    writer.end();
  } else if (offload.activations) {
    writer.field("activations", true);
  }
  writer.end();
}

}  // namespace

ConfigNode written_training(const TrainingRecipe& training) {
  ConfigWriter writer;
  writer.field("sequence_length", training.sequence_length);
  writer.field("micro_batch_size", training.micro_batch_size);
  writer.field("global_batch_size", training.global_batch_size);
  writer.field("dtype", name(training.dtype));
  write_recompute(training.recompute, writer);
  writer.field("optimizer", written_optimizer(training.optimizer));
  writer.field("dropout", training.dropout);
  if (training.documents.length > 0) {
    writer.begin("documents");
    writer.field("length", training.documents.length);
    writer.field("lengths", name(training.documents.lengths));
    writer.field("packed", training.documents.packed);
    writer.end();
  }
  write_weights(training.weights, writer);
  if (training.weight_format) {
    writer.field("weights", name(*training.weight_format));
  }
  write_host_offload(training.offload, writer);
  if (training.work_spread > 0.0) {
    writer.field("work_spread", training.work_spread);
  }
  if (training.garbage_collection) {
    writer.begin("garbage_collection");
    writer.quantity("pause", training.garbage_collection->pause);
    writer.field("steps", training.garbage_collection->steps);
    writer.end();
  }
  return writer.take();
}

}  // namespace stepcast
