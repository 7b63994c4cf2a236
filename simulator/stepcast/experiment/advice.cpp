// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/advice.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "stepcast/experiment/one_step_moves.hpp"
#include "stepcast/experiment/project.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kBest = 5;  // of which every two are tried together

// A move that runs, but perhaps for its memory.
struct Tried {
  Move move;
  ParallelPlan plan;  // settled
  AdvisedChange change;
};

// What the first way that divides makes of the experiment.
std::optional<Tried> tried(const MoveWays& ways, const Projection& base, const CostModel& cost) {
  for (const Move& move : ways) {
    const Projection projection = project(move.experiment, cost);
    if (!projection.priced || !projection.keeps_power_limit) {
      continue;
    }
    AdvisedChange change;
    change.moves = {{move.key, move.value}};
    change.settings = move.settings;
    change.tokens_per_second_per_gpu = projection.tokens_per_second_per_gpu;
    change.gain = change.tokens_per_second_per_gpu / base.tokens_per_second_per_gpu - 1.0;
    change.peak_memory = projection.peak_memory();
    change.probability = odds_on(projection.memory);
    change.verdict = verdict_on(projection.memory);
    return Tried{move, projection.plan, std::move(change)};
  }
  return std::nullopt;
}

bool is_worth_telling(const AdvisedChange& change, const Projection& base) {
  constexpr double kLeast = 0.001;
  return std::abs(change.gain) >= kLeast ||
         std::abs(change.peak_memory / base.peak_memory() - 1.0) >= kLeast;
}

bool goes_before(const AdvisedChange& a, const AdvisedChange& b) {
  return std::pair(a.verdict, -a.tokens_per_second_per_gpu) <
         std::pair(b.verdict, -b.tokens_per_second_per_gpu);
}

// `second` moved on what `first` made; nothing where it is no single step there.
std::optional<Tried> together(const Tried& first, const Tried& second, const Projection& base,
                              const CostModel& cost) {
  for (const MoveWays& ways :
       one_step_moves(first.move.experiment, first.plan, first.move.settings)) {
    if (ways.front().key == second.move.key && ways.front().value == second.move.value) {
      return tried(ways, base, cost);
    }
  }
  return std::nullopt;
}

// Every two of the best that fit and gain, if both gain more than the better of them alone.
void add_pairs(const std::vector<Tried>& singles, const Projection& base, const CostModel& cost,
               std::vector<AdvisedChange>& changes) {
  std::vector<const Tried*> best;
  for (const Tried& one : singles) {
    const bool gains = one.change.verdict == MemoryVerdict::kFits && one.change.gain > 0.0;
    if (gains && best.size() < kBest) {
      best.push_back(&one);
    }
  }
  for (std::size_t i = 0; i < best.size(); ++i) {
    for (std::size_t k = i + 1; k < best.size(); ++k) {
      if (best[i]->move.key == best[k]->move.key) {
        continue;
      }
      std::optional<Tried> pair = together(*best[i], *best[k], base, cost);
      if (pair && pair->change.gain > best[i]->change.gain) {
        pair->change.moves.insert(pair->change.moves.begin(), best[i]->change.moves.front());
        changes.push_back(std::move(pair->change));
      }
    }
  }
}

}  // namespace

std::vector<AdvisedChange> advice(const Experiment& experiment, const Projection& base,
                                  const CostModel& cost) {
  if (!base.priced) {
    return {};
  }
  std::vector<Tried> singles;
  for (const MoveWays& ways : one_step_moves(experiment, base.plan)) {
    std::optional<Tried> one = tried(ways, base, cost);
    if (one && is_worth_telling(one->change, base)) {
      singles.push_back(*std::move(one));
    }
  }
  std::ranges::stable_sort(singles, goes_before, &Tried::change);
  std::vector<AdvisedChange> changes;
  changes.reserve(singles.size());
  for (const Tried& one : singles) {
    changes.push_back(one.change);
  }
  add_pairs(singles, base, cost, changes);
  std::ranges::stable_sort(changes, goes_before);
  return changes;
}

}  // namespace stepcast
