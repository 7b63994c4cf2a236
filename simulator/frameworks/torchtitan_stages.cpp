// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan_stages.hpp"

#include <numeric>

namespace stepcast {
namespace {

// A count of layers per stage from which `stages` stages follow; 0 if none does.
std::int64_t layers_per_stage(std::int64_t stages, std::int64_t slots) {
  const std::int64_t count = (slots + stages - 1) / stages;
  return (slots + count - 1) / count == stages ? count : 0;
}

}  // namespace

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
