// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/advice.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "stepcast/experiment/one_step_moves.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/setting_moves.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kBest = 5;  // of which every two are tried together

// A move that runs, but perhaps for its memory.
struct Tried {
  Move move;
  ParallelPlan plan;  // settled
  AdvisedChange change;
};

// A move that was projected, against `base`; nothing of one that cannot run.
std::optional<Tried> tried(Move move, const Projection& projection, const Projection& base) {
  if (!projection.priced || !projection.keeps_power_limit) {
    return std::nullopt;
  }
  AdvisedChange change;
  change.moves = {{move.key, move.value}};
  change.settings = move.settings;
  change.tokens_per_second_per_gpu = projection.tokens_per_second_per_gpu;
  change.gain = change.tokens_per_second_per_gpu / base.tokens_per_second_per_gpu - 1.0;
  change.peak_memory = projection.peak_memory();
  change.probability = odds_on(projection.memory);
  change.verdict = verdict_on(projection.memory);
  return Tried{std::move(move), projection.plan, std::move(change)};
}

// What the first way that divides makes of the experiment.
std::optional<Tried> tried(const MoveWays& ways, const Projection& base, const CostModel& cost) {
  for (const Move& move : ways) {
    std::optional<Tried> one = tried(move, project(move.experiment, cost), base);
    if (one) {
      return one;
    }
  }
  return std::nullopt;
}

// A move after which the experiment is read again, on top of the settings `before`.
std::optional<Tried> tried(const SettingMove& move, const KeySettings& before, const VariedRun& run,
                           const Projection& base) {
  KeySettings settings = before;
  settings.insert(settings.end(), move.settings.begin(), move.settings.end());
  std::optional<Variant> variant = run.variant_if_possible(settings);
  if (!variant) {
    return std::nullopt;
  }
  Move made{move.key, move.value, std::move(settings), std::move(variant->experiment)};
  return tried(std::move(made), variant->projection, base);
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

// Of the moves of an experiment with the settings `before`, those that run.
class Trials {
 public:
  Trials(const VariedRun& run, const Projection& base) : run_(run), base_(base) {}

  [[nodiscard]] std::vector<Tried> singles() const {
    std::vector<Tried> found;
    const auto keep = [&](std::optional<Tried> one) {
      if (one && is_worth_telling(one->change, base_)) {
        found.push_back(*std::move(one));
      }
    };
    for (const MoveWays& ways : one_step_moves(run_.experiment(), base_.plan)) {
      keep(tried(ways, base_, run_.cost()));
    }
    for (const SettingMove& move : setting_moves(run_.tree().root, run_.experiment(), base_.plan)) {
      keep(tried(move, {}, run_, base_));
    }
    std::ranges::stable_sort(found, goes_before, &Tried::change);
    return found;
  }

  // `second` moved on what `first` made; nothing where it is no single step there.
  [[nodiscard]] std::optional<Tried> together(const Tried& first, const Tried& second) const {
    const auto is_second = [&second](const auto& move) {
      return move.key == second.move.key && move.value == second.move.value;
    };
    const Move& before = first.move;
    for (const MoveWays& ways : one_step_moves(before.experiment, first.plan, before.settings)) {
      if (is_second(ways.front())) {
        return tried(ways, base_, run_.cost());
      }
    }
    for (const SettingMove& move : setting_moves(run_.tree().root, before.experiment, first.plan)) {
      if (is_second(move)) {
        return tried(move, before.settings, run_, base_);
      }
    }
    return std::nullopt;
  }

 private:
  const VariedRun& run_;
  const Projection& base_;
};

// Every two of the best that fit and gain, if both gain more than the better of them alone.
void add_pairs(const std::vector<Tried>& singles, const Trials& trials,
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
      std::optional<Tried> pair = trials.together(*best[i], *best[k]);
      if (pair && pair->change.gain > best[i]->change.gain) {
        pair->change.moves.insert(pair->change.moves.begin(), best[i]->change.moves.front());
        changes.push_back(std::move(pair->change));
      }
    }
  }
}

}  // namespace

std::vector<AdvisedChange> advice(const VariedRun& run, const Projection& base) {
  if (!base.priced) {
    return {};
  }
  const Trials trials(run, base);
  const std::vector<Tried> singles = trials.singles();
  std::vector<AdvisedChange> changes;
  changes.reserve(singles.size());
  for (const Tried& one : singles) {
    changes.push_back(one.change);
  }
  add_pairs(singles, trials, changes);
  std::ranges::stable_sort(changes, goes_before);
  return changes;
}

}  // namespace stepcast
