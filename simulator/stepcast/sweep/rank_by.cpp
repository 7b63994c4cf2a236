// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/rank_by.hpp"

#include <array>

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 8> kRankNames = {"tokens_per_second_per_gpu",
                                                        "tokens_per_second",
                                                        "step_time_s",
                                                        "model_tflops_per_gpu",
                                                        "mfu",
                                                        "peak_memory_bytes",
                                                        "power_w",
                                                        "tokens_per_joule"};

}  // namespace

std::string_view name(RankBy rank_by) { return kRankNames[static_cast<std::size_t>(rank_by)]; }

template <>
std::span<const std::string_view> names_of<RankBy>() {
  return kRankNames;
}

double ranked_number(RankBy rank_by, const PlanNumbers& numbers, std::int64_t gpus) {
  switch (rank_by) {
    case RankBy::kTokensPerSecondPerGpu:
      return numbers.tokens_per_second_per_gpu;
    case RankBy::kTokensPerSecond:
      return numbers.tokens_per_second_per_gpu * static_cast<double>(gpus);
    case RankBy::kStepTime:
      return numbers.step.value();
    case RankBy::kModelRate:
      return numbers.model_rate_per_gpu.value() / 1e12;
    case RankBy::kMfu:
      return numbers.mfu;
    case RankBy::kPeakMemory:
      return numbers.peak_memory.value();
    case RankBy::kPower:
      return numbers.power.value();
    case RankBy::kTokensPerJoule:
      return numbers.power > Watts{} ? numbers.tokens_per_second_per_gpu / numbers.power.value()
                                     : 0.0;
  }
  return 0.0;
}

bool less_is_better(RankBy rank_by) {
  return rank_by == RankBy::kStepTime || rank_by == RankBy::kPeakMemory ||
         rank_by == RankBy::kPower;
}

double rank_key(RankBy rank_by, const PlanNumbers& numbers, std::int64_t gpus) {
  const double value = ranked_number(rank_by, numbers, gpus);
  return less_is_better(rank_by) ? value : -value;
}

}  // namespace stepcast
