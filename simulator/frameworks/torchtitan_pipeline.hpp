// SPDX-License-Identifier: Apache-2.0
// The keys of a torchtitan job that say how its pipeline runs: schedule, stages, layers of each.
#pragma once

#include "frameworks/setting_reader.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/graph/model_spec.hpp"

namespace stepcast {

// Adds vpp, schedule and stage_layout to a plan of `pp` > 1 ranks.
void write_torchtitan_pipeline(FrameworkReader& settings, std::int64_t pp, const ModelSpec& model,
                               ConfigWriter& plan);

}  // namespace stepcast
