// SPDX-License-Identifier: Apache-2.0
// A training run, for people and for programs:
//
//   Training run of 15,000,000,000,000 tokens (3,576,279 steps)
//     days                      339.1 (312.3 to 371.0 at 80 %)
//     GPU-hours                 4,166,667 (3,837,000 to 4,559,000 at 80 %)
//     price                     10,416,667 $ (...)
//     energy                    6,912 MWh, 1.659 J a token
//     goodput                   100.0 %: without interruptions
//     assumed                   ...
//
// Days, GPU-hours and price are as uncertain as the tokens/s of the projection: each is divided by
// the ends of its interval. What is assumed of interruptions and of the site is in none of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/result/projection.hpp"

namespace stepcast {

// Whether the experiment asks for a run, whether or not its plan could be priced.
bool asks_for_run(const Projection& projection);

// The ends of the 80 % interval of the days of its run; nothing without a run or a known error.
std::optional<RateInterval> days_at_80(const Projection& projection);

// Empty without a run.
std::string training_run_text(const Projection& projection);
// The member `training_run` of a projection that has a run: `tokens`, `steps`, `days`, `gpu_hours`,
// `goodput` (a share), `energy_kwh` (of the site), `gpu_energy_kwh`, `joules_per_token`,
// `interval_80` with [low, high] of `days`, `gpu_hours` and `price`, and `assumptions`; `price` and
// `currency` where a GPU-hour has a price; `mtbf_s`, `checkpoint_interval_s` where there are such.
nlohmann::ordered_json training_run_json(const Projection& projection);
// Cells of a line of CSV, of the columns that kRunColumns names (projection_columns.hpp); all of
// them are empty without a run.
std::string training_run_cells(const Projection& projection);

// Of the numbers that are as uncertain as the rate, [low, high] at 80 %.
nlohmann::ordered_json run_intervals_json(const Projection& projection);
std::vector<std::string> run_assumptions(const TrainingRun& run);

// "41.0", "8.83"; "6,912 MWh".
std::string days_text(double days);
std::string energy_text(double kilowatt_hours);

}  // namespace stepcast
