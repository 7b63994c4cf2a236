// SPDX-License-Identifier: Apache-2.0
// The pipelines of `plan: all`: how the layers of a model are cut, and every schedule that runs it.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <vector>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/sweep/given_keys.hpp"

namespace stepcast {

struct Pipeline {
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  bool balanced = false;  // pp does not divide the layers
  Schedule schedule = Schedule::kOneFOneB;
  auto operator<=>(const Pipeline&) const = default;
};

// Schedules of a pipeline: every one, or those that the software of a site offers, where it says.
enum class ScheduleScope { kEvery, kOffered };

// Of any of the sites. Where the file gives pp, vpp or schedule, only with those.
std::set<Pipeline> all_pipelines(const std::vector<Experiment>& sites, const GivenTexts& given,
                                 ScheduleScope scope);

}  // namespace stepcast
