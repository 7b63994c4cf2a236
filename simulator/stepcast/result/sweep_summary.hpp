// SPDX-License-Identifier: Apache-2.0
// What a sweep gave, and what a range of its plans did. Each plan is either priced, or counted as
// bounded away, or counted once under the first reason against it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/schedule/time_breakdown.hpp"

namespace stepcast {

// Reasons against a plan beside those of its request (plan/reason.hpp) and of constraints.
inline constexpr std::string_view kRefusedByPower = "draws more than the power limit";
inline constexpr std::string_view kRefusedByMemory = "does not fit in memory";
inline constexpr std::string_view kSamePlan = "the same as another plan of the sweep";

// What is kept of a plan that was priced: the numbers that `project` reports for it.
// Of fixed size and without pointers, so that parts of a sweep are files of them.
struct PlanNumbers {
  std::int64_t plan = 0;  // its index in the space
  double tokens_per_second_per_gpu = 0.0;
  Seconds step;
  FlopsPerSecond model_rate_per_gpu;
  double mfu = 0.0;
  Bytes peak_memory;
  Hertz clock;
  Watts power;
  TimeBreakdown time;
};

// A plan that cannot run, or that a constraint leaves out.
struct RefusedPlan {
  std::int64_t plan = 0;  // its index in the space
  std::string reason;     // as it is counted
};

struct ChunkResult {
  std::vector<PlanNumbers> priced;  // by index
  std::int64_t bounded = 0;         // plans that a bound leaves no place for (incumbents.hpp)
  std::map<std::string, std::int64_t> refused;  // reason -> plans
};

// What is not there of a sweep that is put together from parts.
struct MissingParts {
  std::int64_t plans = 0;
  std::vector<std::int64_t> numbers;  // of the shards or pieces that lack plans, rising
  std::int64_t of = 1;                // so many there are
};

// What a whole sweep, or a part of it, gave.
struct SweepSummary {
  std::int64_t evaluated = 0;  // plans priced, bounded away or refused
  std::int64_t priced = 0;
  std::int64_t bounded = 0;  // plans that cannot be among the best nor in a Pareto set
  std::map<std::string, std::int64_t> refused;
  std::optional<MissingParts> missing;    // of a sweep that is put together from parts
  std::vector<PlanNumbers> best;          // the best first
  std::vector<PlanNumbers> memory_front;  // tokens/s/GPU against peak memory
  std::vector<PlanNumbers> gpu_front;     // tokens/s of the cluster against its GPUs, if they vary
};

// What a search for the best plan looked at.
struct SearchedPlans {
  std::int64_t plans = 0;  // all of the space
  std::int64_t priced = 0;
  std::int64_t bounded = 0;                     // those that surely are not the best
  std::map<std::string, std::int64_t> refused;  // reason -> plans; with the others all of them
  // What the best one sets, as --set takes it: {"plan.tp", "8"}.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::string> kept{};  // keys that were given and not searched: "plan.tp"
};

}  // namespace stepcast
