// SPDX-License-Identifier: Apache-2.0
// A recommendation for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/result/recommendation.hpp"

namespace stepcast {

std::string recommendation_to_text(const std::vector<RecommendedGpu>& gpus,
                                   const RunLimits& limits);
// `limits`; `headline`; `answers`, one a GPU, with `gpu` and, where one stays within the limits,
// `fewest`, `cheapest` and `fastest`, each as the members of a training run (training_run_report)
// with `gpus`, `nodes`, `tokens_per_second_per_gpu`, `mfu`, `step_time_s`, `peak_memory_bytes`,
// `power_w`, `plan` (a line) and `settings` (as --set takes them), else `emptied_by`; `searched`,
// every number of GPUs that was looked at; `pareto`. `version` is the program's.
nlohmann::ordered_json recommendation_to_json(const std::vector<RecommendedGpu>& gpus,
                                              const RunLimits& limits, const std::string& version);
// A line for every number of GPUs that was looked at.
std::string recommendation_to_csv(const std::vector<RecommendedGpu>& gpus, const RunLimits& limits);

}  // namespace stepcast
