// SPDX-License-Identifier: Apache-2.0
// Experiment -> DispatcherMap: what every dispatcher that the GPU's profile knows takes for the
// experts of the model, with other ranks, choices, tokens and nodes than the plan's.
//
// Of the experiment count the model's experts, the GPU and its network, and the software; the plan
// counts for how the exchange is set up. Ranks are data-parallel (tp, cp, pp and etp are 1).
#pragma once

#include <string>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/dispatcher_map.hpp"

namespace stepcast {

// What is varied; an empty list has the values that are stated here.
struct MapAxes {
  std::vector<std::int64_t> ranks{};   // 4, 8, 16, 32, 64
  std::vector<std::int64_t> nodes{};   // 1, 2, 8
  std::vector<std::int64_t> topk{};    // 2, 8 and the model's
  std::vector<std::int64_t> tokens{};  // 1024, 4096, 16384
};

// Why the model has no such map; empty: it has.
std::string map_problem(const ModelSpec& model, const MapAxes& axes);

// Combinations whose ranks do not divide over the nodes, do not fit into them or do not divide the
// experts are no rows. The model has experts.
DispatcherMap dispatcher_map(const Experiment& experiment, const MapAxes& axes,
                             const CostModel& cost);

}  // namespace stepcast
