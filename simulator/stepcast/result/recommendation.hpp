// SPDX-License-Identifier: Apache-2.0
// How many GPUs, and which: of every GPU several numbers of them, each with the plan that a search
// found for it, and which of these stay within limits of time, money and number.
//
//   fewest     the fewest GPUs that stay within all limits
//   cheapest   the lowest price of the run, or the fewest GPU-hours where no price is given
//   fastest    the fewest days
//   Pareto     no other one has both fewer days and a lower price
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/result/projection.hpp"
#include "stepcast/result/sweep_summary.hpp"

namespace stepcast {

// What is not given limits nothing.
struct RunLimits {
  std::optional<double> days;    // at most
  std::optional<double> budget;  // price of the run, at most
  std::optional<std::int64_t> gpus;
  std::int64_t tokens = 0;  // that the run is to see
};

// A number of GPUs with its plan; no run in the projection where none can run.
struct RunCandidate {
  Projection projection;
  SearchedPlans searched;
  PlanRequest plan{};   // that was found
  bool proven = false;  // the best plan of all; else what climbs found
};

struct RecommendedGpu {
  std::string gpu;
  std::vector<RunCandidate> candidates;  // the fewest GPUs first
  // Places among the candidates; nothing where none stays within the limits.
  std::optional<std::size_t> fewest;
  std::optional<std::size_t> cheapest;
  std::optional<std::size_t> fastest;
  // Numbers of nodes below the fewest of which every one was tried that so many GPU-hours leave; 0:
  // the fewest is that of a coarse grid.
  std::int64_t tried_from = 0;
};

// A candidate of one of the GPUs.
struct PlacedCandidate {
  std::size_t gpu = 0;
  std::size_t candidate = 0;
};

}  // namespace stepcast
