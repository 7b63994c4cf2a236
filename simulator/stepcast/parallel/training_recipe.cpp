// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/training_recipe.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

constexpr std::array<NamedValue<RecomputeKind>, 5> kKinds = {
    {{"none", RecomputeKind::kNone},
     {"selective", RecomputeKind::kSelective},
     {"full", RecomputeKind::kFull},
     {"selective_op", RecomputeKind::kOperators},
     {"memory_budget", RecomputeKind::kBudget}}};
constexpr std::array<NamedValue<RecomputeMethod>, 2> kMethods = {
    {{"uniform", RecomputeMethod::kUniform}, {"block", RecomputeMethod::kBlock}}};
constexpr std::array<NamedValue<RecomputeModule>, 8> kModules = {
    {{"core_attn", RecomputeModule::kCoreAttention},
     {"layernorm", RecomputeModule::kLayerNorm},
     {"mlp_act", RecomputeModule::kMlpActivation},
     {"moe_act", RecomputeModule::kMoeActivation},
     {"mlp", RecomputeModule::kMlp},
     {"moe", RecomputeModule::kMoe},
     {"shared_experts", RecomputeModule::kSharedExperts},
     {"mla_up_proj", RecomputeModule::kMlaUp}}};
constexpr std::array<NamedValue<Dtype>, 5> kTrainingDtypes = {{{"bf16", Dtype::kBf16},
                                                               {"fp16", Dtype::kFp16},
                                                               {"fp8", Dtype::kFp8},
                                                               {"fp8_block", Dtype::kFp8Block},
                                                               {"fp4", Dtype::kFp4}}};
constexpr std::array<NamedValue<std::string_view>, 2> kOptimizers = {
    {{"adamw", "adamw"}, {"adam", "adamw"}}};

constexpr Range<std::int64_t> kSequence{1, 1 << 28};
constexpr Range<std::int64_t> kBatch{1, 1 << 30};

void read_modules(MappingReader& reader, RecomputeSpec& recompute) {
  const ConfigNode* list = reader.take("recompute_modules");
  if (list == nullptr) {
    return;
  }
  if (list->kind != ConfigNode::Kind::kSequence || list->items.empty()) {
    reader.error("recompute_modules", "must be a list; write [core_attn, layernorm]");
    return;
  }
  recompute.modules.clear();
  for (const ConfigNode& item : list->items) {
    if (const auto module = reader.choice<RecomputeModule>("recompute_modules", item, kModules)) {
      recompute.modules.push_back(*module);
    }
  }
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
  std::sort(recompute.layer_list.begin(), recompute.layer_list.end());
  const auto repeated = std::unique(recompute.layer_list.begin(), recompute.layer_list.end());
  recompute.layer_list.erase(repeated, recompute.layer_list.end());
  if (recompute.layer_list.empty()) {
    reader.error("recompute_layers", "must name a layer, as in [0, 2, 4], or be a count");
  }
}

RecomputeSpec read_recompute(MappingReader& reader) {
  RecomputeSpec recompute;
  recompute.kind = reader.optional_choice<RecomputeKind>("recompute", kKinds, RecomputeKind::kNone);
  recompute.method = reader.optional_choice<RecomputeMethod>("recompute_method", kMethods,
                                                             RecomputeMethod::kUniform);
  read_layers(reader, recompute);
  recompute.budget = reader.optional_number("memory_budget", 1.0, kFraction);
  read_modules(reader, recompute);
  if (recompute.kind != RecomputeKind::kFull &&
      (reader.has("recompute_method") || reader.has("recompute_layers"))) {
    reader.error("recompute", "must be full where recompute_method or recompute_layers is given");
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

}  // namespace

std::string_view name(RecomputeKind kind) { return kKinds[static_cast<std::size_t>(kind)].name; }

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

TrainingRecipe read_training(MappingReader reader) {
  TrainingRecipe training;
  training.sequence_length = reader.required_count("sequence_length", kSequence);
  training.micro_batch_size = reader.optional_count("micro_batch_size", 1, kBatch);
  training.global_batch_size = reader.required_count("global_batch_size", kBatch);
  training.dtype = reader.optional_choice<Dtype>("dtype", kTrainingDtypes, Dtype::kBf16);
  training.recompute = read_recompute(reader);
  training.optimizer = reader.optional_choice<std::string_view>("optimizer", kOptimizers, "adamw");
  training.dropout = reader.optional_flag("dropout", false);
  reader.finish();
  return training;
}

}  // namespace stepcast
