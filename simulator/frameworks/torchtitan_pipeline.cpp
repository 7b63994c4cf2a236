// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan_pipeline.hpp"

#include <algorithm>
#include <numeric>

#include "frameworks/torchtitan_words.hpp"
#include "frameworks/words.hpp"
#include "stepcast/plan/stage_layout.hpp"

namespace stepcast {
namespace {

// A count of layers per stage from which `stages` stages follow; 0 if none does.
std::int64_t layers_per_stage(std::int64_t stages, std::int64_t slots) {
  const std::int64_t count = (slots + stages - 1) / stages;
  return (slots + count - 1) / count == stages ? count : 0;
}

constexpr std::string_view kSchedule = "parallelism.pipeline_parallel_schedule";
constexpr std::string_view kModules = "parallelism.module_fqns_per_model_part";
constexpr std::string_view kPerStage = "parallelism.pipeline_parallel_layers_per_stage";
constexpr std::int64_t kMostStageLayers = 10'000;

// Layers among the modules of a stage: "[tok_embeddings, layers.0, layers.1]".
std::int64_t layers_in(const std::string& modules) {
  constexpr std::string_view kLayer = "layers.";
  std::int64_t count = 0;
  for (std::size_t at = modules.find(kLayer); at != std::string::npos;
       at = modules.find(kLayer, at + kLayer.size())) {
    ++count;
  }
  return count;
}

std::vector<std::int64_t> listed_layers(FrameworkReader& settings) {
  std::vector<std::int64_t> counts;
  const auto stages = settings.texts(kModules, "plan.stage_layout");
  for (const std::string& modules : stages.value_or(std::vector<std::string>{})) {
    counts.push_back(layers_in(modules));
  }
  return counts;
}

std::int64_t small_count(FrameworkReader& settings, std::string_view name, std::string_view ours,
                         std::int64_t fallback) {
  const std::int64_t value = settings.count_or(name, ours, fallback);
  if (value < 0 || value > kMostStageLayers) {
    settings.error(name, "must be a count of layers");
    return fallback;
  }
  return value;
}

std::vector<std::int64_t> dealt_layers(FrameworkReader& settings, std::int64_t pp,
                                       std::int64_t layers, bool several) {
  TorchtitanSplit split;
  split.first_less = small_count(settings, "parallelism.pipeline_parallel_first_stage_less_layers",
                                 "plan.stage_layout", 1);
  split.last_less = small_count(settings, "parallelism.pipeline_parallel_last_stage_less_layers",
                                "plan.stage_layout", 1);
  std::int64_t stages = pp * (several ? 2 : 1);
  if (const auto given = settings.count(kPerStage, "plan.vpp")) {
    split.layers_per_stage = std::clamp<std::int64_t>(*given, 1, kMostStageLayers);
    stages = torchtitan_stages(split, layers);
  }
  std::vector<std::int64_t> counts = torchtitan_stage_layers(stages, layers, split);
  if (counts.empty()) {
    settings.error(settings.has(kPerStage) ? kPerStage : std::string_view(kSchedule),
                   "makes " + std::to_string(stages) + " stages of " + std::to_string(layers) +
                       " layers, with which torchtitan leaves a stage empty");
  }
  return counts;
}

// Whether the layers lie as our plan has them without more words, and as `balanced` does.
bool is_layout(const std::vector<std::int64_t>& counts, const ModelSpec& model, std::int64_t pp,
               const std::string& layout) {
  PlanRequest request;
  request.pp = pp;
  request.layout = layout;
  const std::int64_t vpp = static_cast<std::int64_t>(counts.size()) / pp;
  const LayoutResult result = stage_layout(request, vpp, model.layers, model.mtp_layers);
  return result.reasons.empty() &&
         std::equal(
             counts.begin(), counts.end(), result.stages.begin(), result.stages.end(),
             [](std::int64_t count, const StageContent& stage) { return count == stage.layers; });
}

}  // namespace

void write_torchtitan_pipeline(FrameworkReader& settings, std::int64_t pp, const ModelSpec& model,
                               ConfigWriter& plan) {
  const std::string name = settings.text_or(kSchedule, "plan.schedule", "1F1B");
  const TorchtitanSchedule* const schedule =
      row_with(kTorchtitanSchedules, &TorchtitanSchedule::theirs, name);
  if (schedule == nullptr) {
    settings.error(kSchedule, "is '" + name.substr(0, 60) +
                                  "'; supported are 1F1B, GPipe, Interleaved1F1B, "
                                  "InterleavedZeroBubble, ZBVZeroBubble and DualPipeV");
    return;
  }
  const bool several = schedule->several_stages;
  const std::vector<std::int64_t> counts = settings.has(kModules)
                                               ? listed_layers(settings)
                                               : dealt_layers(settings, pp, model.layers, several);
  if (counts.empty()) {
    return;
  }
  const auto stages = static_cast<std::int64_t>(counts.size());
  if (stages % pp != 0 || (stages / pp > 1) != several) {
    settings.error(settings.has(kPerStage) ? kPerStage : kSchedule,
                   "makes " + std::to_string(stages) + " stages for " + std::to_string(pp) +
                       " ranks; " + name + " needs " +
                       (several ? "two or more of them a rank" : "one of them a rank"));
    return;
  }
  plan.field("vpp", stages / pp);
  // What a plan has without more words.
  if (schedule->ours != (several ? "interleaved_1f1b" : "1f1b")) {
    plan.field("schedule", schedule->ours);
  }
  if (is_layout(counts, model, pp, {})) {
    return;
  }
  if (is_layout(counts, model, pp, "balanced")) {
    plan.field("stage_layout", "balanced");
  } else {
    plan.field("stage_layout", list_node(counts));
  }
}

std::int64_t torchtitan_stages(const TorchtitanSplit& split, std::int64_t layers) {
  const std::int64_t slots = layers + split.first_less + split.last_less;
  return (slots + split.layers_per_stage - 1) / split.layers_per_stage;
}

std::vector<std::int64_t> torchtitan_stage_layers(std::int64_t stages, std::int64_t layers,
                                                  const TorchtitanSplit& split) {
  const std::int64_t slots = layers + split.first_less + split.last_less;
  const std::int64_t level = slots / stages;
  if (stages < 2 || level == 0 || split.first_less > level || split.last_less > level) {
    return {};
  }
  std::vector<std::int64_t> counts;
  for (std::int64_t i = 0; i < stages; ++i) {
    counts.push_back(level + (i < slots % stages ? 1 : 0));
  }
  counts.front() -= split.first_less;
  counts.back() -= split.last_less;
  return counts;
}

std::optional<TorchtitanSplit> torchtitan_split(const std::vector<std::int64_t>& stage_layers,
                                                StageCount count) {
  const bool needs_count = count == StageCount::kFromLayers;
  constexpr std::int64_t kMostLess = 8;
  const auto stages = static_cast<std::int64_t>(stage_layers.size());
  const std::int64_t layers =
      std::accumulate(stage_layers.begin(), stage_layers.end(), std::int64_t{0});
  const auto found = [&](std::int64_t first, std::int64_t last) -> std::optional<TorchtitanSplit> {
    TorchtitanSplit split{first, last, 0};
    if (torchtitan_stage_layers(stages, layers, split) != stage_layers) {
      return std::nullopt;
    }
    split.layers_per_stage = needs_count ? layers_per_stage(stages, layers + first + last) : 0;
    return needs_count && split.layers_per_stage == 0 ? std::nullopt : std::optional(split);
  };
  if (const auto usual = found(1, 1)) {
    return usual;
  }
  for (std::int64_t first = 0; first <= kMostLess; ++first) {
    for (std::int64_t last = 0; last <= kMostLess; ++last) {
      if (const auto split = found(first, last)) {
        return split;
      }
    }
  }
  return std::nullopt;
}

}  // namespace stepcast
