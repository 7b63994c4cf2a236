// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/run_choice.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

double days_of(const Projection& p) { return p.run->days(); }

bool has_run(const RunCandidate& candidate) {
  return candidate.projection.feasible() && candidate.projection.run.has_value();
}

// The place of the least of what `of` gives, of those within the limits; of equal ones the first.
std::optional<std::size_t> least(const std::vector<RunCandidate>& candidates,
                                 const RunLimits& limits,
                                 const std::function<double(const Projection&)>& of) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (stays_within(candidates[i], limits) &&
        (!best || of(candidates[i].projection) < of(candidates[*best].projection))) {
      best = i;
    }
  }
  return best;
}

// A limit, and what a candidate has of it.
struct Limited {
  std::optional<double> most;
  double has = 0.0;
  std::string unit;
};
std::vector<Limited> limited(const Projection& p, const RunLimits& limits) {
  const std::string currency = p.gpu_hour ? " " + p.gpu_hour->currency : "";
  std::vector<Limited> all = {{limits.days, days_of(p), " days"}};
  if (p.gpu_hour) {
    all.push_back({limits.budget, run_cost(p), currency});
  }
  if (limits.gpus) {
    all.push_back({static_cast<double>(*limits.gpus), static_cast<double>(p.gpus), " GPUs"});
  }
  return all;
}

std::string number_text(double value) {
  return value < 1000.0 ? decimals(value, 1) : whole_number(value);
}

}  // namespace

double run_cost(const Projection& p) {
  return p.run->gpu_hours() * (p.gpu_hour ? p.gpu_hour->price : 1.0);
}

bool stays_within(const RunCandidate& candidate, const RunLimits& limits) {
  if (!has_run(candidate)) {
    return false;
  }
  const std::vector<Limited> all = limited(candidate.projection, limits);
  return std::ranges::all_of(
      all, [](const Limited& limit) { return !limit.most || limit.has <= *limit.most; });
}

RecommendedGpu recommended(std::string gpu, std::vector<RunCandidate> candidates,
                           const RunLimits& limits) {
  RecommendedGpu result;
  result.gpu = std::move(gpu);
  result.fewest =
      least(candidates, limits, [](const Projection& p) { return static_cast<double>(p.gpus); });
  result.cheapest = least(candidates, limits, run_cost);
  result.fastest = least(candidates, limits, days_of);
  result.candidates = std::move(candidates);
  return result;
}

std::map<std::string, std::int64_t> emptied_by(const RecommendedGpu& gpu, const RunLimits& limits) {
  std::map<std::string, std::int64_t> reasons;
  std::map<std::string, double> nearest;
  std::map<std::string, std::int64_t> beyond;
  for (const RunCandidate& candidate : gpu.candidates) {
    if (!has_run(candidate)) {
      ++reasons["no plan can run"];
      continue;
    }
    for (const Limited& limit : limited(candidate.projection, limits)) {
      if (limit.most && limit.has > *limit.most) {
        const std::string text = "at most " + number_text(*limit.most) + limit.unit;
        const auto [known, fresh] = nearest.try_emplace(text, limit.has);
        known->second = std::min(known->second, limit.has);
        ++beyond[text];
      }
    }
  }
  for (const auto& [text, has] : nearest) {
    reasons[text + "; the nearest takes " + number_text(has)] = beyond[text];
  }
  return reasons;
}

std::vector<PlacedCandidate> pareto_of(const std::vector<RecommendedGpu>& gpus,
                                       const RunLimits& limits) {
  std::vector<PlacedCandidate> within;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    for (std::size_t c = 0; c < gpus[g].candidates.size(); ++c) {
      if (stays_within(gpus[g].candidates[c], limits)) {
        within.push_back({g, c});
      }
    }
  }
  const auto projection = [&gpus](const PlacedCandidate& placed) -> const Projection& {
    return gpus[placed.gpu].candidates[placed.candidate].projection;
  };
  std::ranges::stable_sort(within, [&](const auto& a, const auto& b) {
    return std::pair(days_of(projection(a)), run_cost(projection(a))) <
           std::pair(days_of(projection(b)), run_cost(projection(b)));
  });
  std::vector<PlacedCandidate> front;
  double cheapest = std::numeric_limits<double>::infinity();
  for (const PlacedCandidate& placed : within) {
    if (run_cost(projection(placed)) < cheapest) {
      cheapest = run_cost(projection(placed));
      front.push_back(placed);
    }
  }
  return front;
}

}  // namespace stepcast
