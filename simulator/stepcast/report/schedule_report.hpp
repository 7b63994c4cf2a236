// SPDX-License-Identifier: Apache-2.0
// Projections of one experiment under several pipeline schedules, side by side.
//
//   bubble = waiting of the slowest rank / step;  memory: of the fullest rank
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/result/projection.hpp"

namespace stepcast {

std::string schedules_to_text(const std::vector<Projection>& projections);
nlohmann::ordered_json schedules_to_json(const std::vector<Projection>& projections);
std::string schedules_to_csv(const std::vector<Projection>& projections);

// Whether any of them can run.
bool any_feasible(const std::vector<Projection>& projections);

}  // namespace stepcast
