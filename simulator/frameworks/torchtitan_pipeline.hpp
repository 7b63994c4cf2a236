// SPDX-License-Identifier: Apache-2.0
// The keys of a torchtitan job that say how its pipeline runs: schedule, stages, layers of each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frameworks/setting_reader.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// Adds vpp, schedule and stage_layout to a plan of `pp` > 1 ranks.
void write_torchtitan_pipeline(FrameworkReader& settings, std::int64_t pp, const ModelSpec& model,
                               ConfigWriter& plan);

// How torchtitan spreads layers over the stages of a pipeline
// (torchtitan/distributed/pipeline_parallel.py, generate_llm_fqn_per_model_part).
//
//   layers + first + last are dealt out evenly, the first stages taking what is left over; then the
//   first stage has `first` layers less and the last one `last`.
struct TorchtitanSplit {
  std::int64_t first_less = 1;  // pipeline_parallel_first_stage_less_layers
  std::int64_t last_less = 1;
  // pipeline_parallel_layers_per_stage; 0: not given, one stage a rank, or two with a schedule that
  // needs several.
  std::int64_t layers_per_stage = 0;
};

// The number of stages that `split` makes, all ranks together.
std::int64_t torchtitan_stages(const TorchtitanSplit& split, std::int64_t layers);
// The layers of each stage; empty where torchtitan refuses.
std::vector<std::int64_t> torchtitan_stage_layers(std::int64_t stages, std::int64_t layers,
                                                  const TorchtitanSplit& split);
// Whether the number of stages is the usual of a schedule or follows from layers_per_stage.
enum class StageCount { kUsual, kFromLayers };
// A split that gives these layers to the stages, the usual one first; empty if none does.
std::optional<TorchtitanSplit> torchtitan_split(const std::vector<std::int64_t>& stage_layers,
                                                StageCount count);

}  // namespace stepcast
