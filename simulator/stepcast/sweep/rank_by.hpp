// SPDX-License-Identifier: Apache-2.0
// The numbers by which plans can be ranked.
#pragma once

#include <cstdint>
#include <string_view>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/result/sweep_summary.hpp"

namespace stepcast {

// Named as the keys of a report.
enum class RankBy {
  kTokensPerSecondPerGpu,
  kTokensPerSecond,  // of the whole cluster
  kStepTime,
  kModelRate,
  kMfu,
  kPeakMemory,
  kPower,
  kTokensPerJoule,  // of the GPUs alone
};
std::string_view name(RankBy rank_by);
template <>
std::span<const std::string_view> names_of<RankBy>();

// The number itself. `gpus`: of the plan's cluster.
double ranked_number(RankBy rank_by, const PlanNumbers& numbers, std::int64_t gpus);
// Whether it can be bounded by a bound of a plan's step time and its memory.
bool can_be_bounded(RankBy rank_by);
// The number with the sign with which less is better.
double rank_key(RankBy rank_by, const PlanNumbers& numbers, std::int64_t gpus);

}  // namespace stepcast
