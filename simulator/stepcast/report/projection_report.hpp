// SPDX-License-Identifier: Apache-2.0
// A projection as text for people, as JSON with units in the keys, whose shape is the interface's,
// and as CSV:
//
//   llama3.1_70b on 64 x mi300x (8 nodes), bf16, sequence 8192, global batch 128
//     plan        tp 1  cp 1  pp 1  ep 1  dp 64, fsdp 64, 2 micro-batches of 1, recompute full
//
//   tokens/s/GPU       1,105
//   step time          14.83 s
//   ...
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/result/projection.hpp"

namespace stepcast {

inline constexpr int kJsonSchemaVersion = 1;

// What every report about a projection starts and ends with. JSON starts with the version, the
// context, whether the projection can run, and `verdict` on its memory: fits, tight, does_not_fit.
std::string heading(const Projection& projection);
std::string notes_and_reasons(const Projection& projection);
nlohmann::ordered_json json_header(const Projection& projection);
// Of these the members `verdict` and `probability`, where there is a memory to judge.
void add_memory_verdict(const Projection& projection, nlohmann::ordered_json& json);

std::string to_text(const Projection& projection);
nlohmann::ordered_json to_json(const Projection& projection);
// One header line and one line of values.
std::string to_csv(const Projection& projection);

// Memory alone, for `stepcast memory`. CSV has a line for each pipeline rank with the keys and
// bytes of `memory_by_stage` of the JSON, the buffers' own as "buffers.loss_bytes", and the
// capacity; the header alone where nothing is priced.
std::string memory_to_text(const Projection& projection);
nlohmann::ordered_json memory_to_json(const Projection& projection);
std::string memory_to_csv(const Projection& projection);

// "1 x 50 GB/s a GPU, rail_optimised_fat_tree, oversubscribed 2:1"; nothing of a single node.
std::string network_text(const Projection& projection);
// Whether the step can be captured in one CUDA graph, and what keeps it from that.
void add_capture(const Projection& projection, nlohmann::ordered_json& json);

// "0.93 to 1.12 times this (80 %), 0.89 to 1.17 (90 %): 23 runs of 9 sources on h100_sxm, dense"
std::string expected_error_text(const ExpectedError& error);
// "7,012.3 to 8,120.4", the predicted rate at either end of the interval; "-" where none is known.
std::string interval_text(const std::optional<ExpectedError>& error, double rate,
                          Certainty certainty);
// Intervals as factors of the predicted tokens/s.
nlohmann::ordered_json to_json(const ExpectedError& error);

// Whether the experiment asks for a run, whether or not its plan could be priced.
bool asks_for_run(const Projection& projection);

// The ends of the 80 % interval of the days of its run; nothing without a run or a known error.
std::optional<RateInterval> days_at_80(const Projection& projection);

// A training run, empty without one:
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
// What of the time is training, and what takes the rest: "94.3 %: a failure each 3.2 h, ...".
std::string goodput_text(const TrainingRun& run);
std::string energy_text(double kilowatt_hours);

}  // namespace stepcast
