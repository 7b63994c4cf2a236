// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/training_recipe.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

constexpr std::array<NamedValue<RecomputeKind>, 3> kKinds = {
    {{"none", RecomputeKind::kNone},
     {"selective", RecomputeKind::kSelective},
     {"full", RecomputeKind::kFull}}};
constexpr std::array<NamedValue<RecomputeMethod>, 2> kMethods = {
    {{"uniform", RecomputeMethod::kUniform}, {"block", RecomputeMethod::kBlock}}};
constexpr std::array<NamedValue<RecomputeModule>, 6> kModules = {
    {{"core_attn", RecomputeModule::kCoreAttention},
     {"layernorm", RecomputeModule::kLayerNorm},
     {"mlp_act", RecomputeModule::kMlpActivation},
     {"mlp", RecomputeModule::kMlp},
     {"moe", RecomputeModule::kMoe},
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

RecomputeSpec read_recompute(MappingReader& reader) {
  RecomputeSpec recompute;
  recompute.kind = reader.optional_choice<RecomputeKind>("recompute", kKinds, RecomputeKind::kNone);
  recompute.method = reader.optional_choice<RecomputeMethod>("recompute_method", kMethods,
                                                             RecomputeMethod::kUniform);
  recompute.layers = reader.optional_count("recompute_layers", 1, {0, 10'000});
  read_modules(reader, recompute);
  if (recompute.kind != RecomputeKind::kFull &&
      (reader.has("recompute_method") || reader.has("recompute_layers"))) {
    reader.error("recompute", "must be full where recompute_method or recompute_layers is given");
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

bool RecomputeSpec::recomputes(RecomputeModule module) const {
  return kind == RecomputeKind::kSelective &&
         std::find(modules.begin(), modules.end(), module) != modules.end();
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
