// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/rank_by.hpp"

#include <array>

namespace stepcast {
namespace {

struct Ranking {
  std::string_view name;
  double (*number)(const PlanNumbers& numbers, double gpus);
  bool less_is_better = false;
  bool can_be_bounded = true;
};

// In the order of the enumeration.
constexpr std::array kRankings = {
    Ranking{"tokens_per_second_per_gpu",
            [](const PlanNumbers& n, double) { return n.tokens_per_second_per_gpu; }},
    Ranking{"tokens_per_second",
            [](const PlanNumbers& n, double gpus) { return n.tokens_per_second_per_gpu * gpus; }},
    Ranking{"step_time_s", [](const PlanNumbers& n, double) { return n.step.value(); }, true},
    Ranking{"model_tflops_per_gpu",
            [](const PlanNumbers& n, double) { return n.model_rate_per_gpu.value() / 1e12; }},
    Ranking{"mfu", [](const PlanNumbers& n, double) { return n.mfu; }},
    Ranking{"peak_memory_bytes", [](const PlanNumbers& n, double) { return n.peak_memory.value(); },
            true},
    Ranking{"power_w", [](const PlanNumbers& n, double) { return n.power.value(); }, true, false},
    Ranking{"tokens_per_joule",
            [](const PlanNumbers& n, double) {
              return n.power > Watts{} ? n.tokens_per_second_per_gpu / n.power.value() : 0.0;
            },
            false, false},
};

constexpr auto kRankNames = [] {
  std::array<std::string_view, kRankings.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = kRankings[i].name;
  }
  return names;
}();

const Ranking& ranking(RankBy rank_by) { return kRankings[static_cast<std::size_t>(rank_by)]; }

}  // namespace

std::string_view name(RankBy rank_by) { return entry(kRankNames, rank_by); }

template <>
std::span<const std::string_view> names_of<RankBy>() {
  return kRankNames;
}

double ranked_number(RankBy rank_by, const PlanNumbers& numbers, std::int64_t gpus) {
  return ranking(rank_by).number(numbers, static_cast<double>(gpus));
}

bool can_be_bounded(RankBy rank_by) { return ranking(rank_by).can_be_bounded; }

double rank_key(RankBy rank_by, const PlanNumbers& numbers, std::int64_t gpus) {
  const double value = ranked_number(rank_by, numbers, gpus);
  return ranking(rank_by).less_is_better ? value : -value;
}

}  // namespace stepcast
