// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/peak_moments.hpp"

#include <algorithm>
#include <span>

namespace stepcast {
namespace {

// What makes the memory of a rank grow: in_flight, has_gradients, forwards and deferred of every
// chunk.
using Counts = std::vector<std::int32_t>;

bool at_most(const Counts& a, const Counts& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) {
      return false;
    }
  }
  return true;
}

struct Candidate {
  Counts counts;
  std::size_t place = 0;  // in the order
  bool backward = false;
  std::int32_t chunk = 0;
};

// Moments of one kind and chunk, of which none has at most the counts of another.
class Candidates {
 public:
  Candidates(bool backward, std::int32_t chunk) : backward_(backward), chunk_(chunk) {}

  void add(const Counts& counts, std::size_t place) {
    // Mostly the counts are those of the last candidate with one more forward.
    if (!list_.empty() && at_most(list_.back().counts, counts)) {
      list_.back().counts = counts;
      list_.back().place = place;
      erase_below(counts, list_.size() - 1);
      return;
    }
    const auto above = [&](const Candidate& other) { return at_most(counts, other.counts); };
    if (std::any_of(list_.begin(), list_.end(), above)) {
      return;
    }
    erase_below(counts, list_.size());
    list_.push_back({counts, place, backward_, chunk_});
  }
  [[nodiscard]] const std::vector<Candidate>& list() const { return list_; }

 private:
  // Erases those of the first `count` candidates that are at most `counts`.
  void erase_below(const Counts& counts, std::size_t count) {
    const auto end = list_.begin() + static_cast<std::ptrdiff_t>(count);
    list_.erase(
        std::remove_if(list_.begin(), end,
                       [&](const Candidate& other) { return at_most(other.counts, counts); }),
        end);
  }

  bool backward_;
  std::int32_t chunk_;
  std::vector<Candidate> list_;
};

class Walk {
 public:
  explicit Walk(std::int64_t chunks)
      : chunks_(static_cast<std::size_t>(chunks)), now_(4 * chunks_) {
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      forwards_.emplace_back(false, chunk);
      backwards_.emplace_back(true, chunk);
    }
  }

  void run(const PipelineTask& task, std::size_t place) {
    const ActivationChange change = activation_change(task);
    if (change.taken != kNoChunk) {
      take(change.taken, place);
    }
    if (change.returned != kNoChunk) {
      give_back(change.returned, place);
    }
    if (task.kind == TaskKind::kInputGradient) {
      ++deferred(task);
    } else if (task.kind == TaskKind::kWeightGradient) {
      --deferred(task);
    }
  }
  // Runs tasks that take and give back as much `times` times without noting their moments.
  void repeat(std::span<const PipelineTask> tasks, std::int64_t times) {
    for (const PipelineTask& task : tasks) {
      if (const std::int32_t taken = activation_change(task).taken; taken != kNoChunk) {
        now_[2 * chunks_ + static_cast<std::size_t>(taken)] += static_cast<std::int32_t>(times);
      }
    }
  }

  // `filled`: where the order begins to repeat.
  [[nodiscard]] PeakMoments result(std::size_t filled) const {
    std::vector<Candidate> all;
    for (const std::vector<Candidates>* kind : {&forwards_, &backwards_}) {
      for (const Candidates& chunk : *kind) {
        all.insert(all.end(), chunk.list().begin(), chunk.list().end());
      }
    }
    std::ranges::stable_sort(all, {}, &Candidate::place);
    PeakMoments moments;
    moments.most_in_flight = most_in_flight_;
    for (const Candidate& candidate : all) {
      moments.moments.push_back(moment(candidate));
      moments.moments.back().late = candidate.place >= filled;
    }
    return moments;
  }

 private:
  std::int32_t& deferred(const PipelineTask& task) {
    return now_[3 * chunks_ + static_cast<std::size_t>(task.chunk)];
  }
  void take(std::int32_t chunk, std::size_t place) {
    const auto own = static_cast<std::size_t>(chunk);
    ++now_[own];
    most_in_flight_ = std::max(most_in_flight_, ++in_flight_);
    forwards_[own].add(now_, place);
    ++now_[2 * chunks_ + own];
  }
  void give_back(std::int32_t chunk, std::size_t place) {
    const auto own = static_cast<std::size_t>(chunk);
    backwards_[own].add(now_, place);
    --now_[own];
    --in_flight_;
    now_[chunks_ + own] = 1;
  }

  [[nodiscard]] PeakMoment moment(const Candidate& candidate) const {
    const auto part = [&](std::size_t i) {
      return candidate.counts.begin() + static_cast<std::ptrdiff_t>(i * chunks_);
    };
    return {candidate.backward,
            candidate.chunk,
            {part(0), part(1)},
            {part(3), part(4)},
            {part(1), part(2)},
            {part(2), part(3)},
            false};
  }

  std::size_t chunks_;
  Counts now_;
  std::int64_t in_flight_ = 0;
  std::int64_t most_in_flight_ = 0;
  std::vector<Candidates> forwards_;  // by chunk
  std::vector<Candidates> backwards_;
};

// Whether every forward of the only chunk goes before every backward, none of them in two parts.
bool forwards_pile_up(const RankOrder& order, std::int64_t chunks) {
  const auto first_backward =
      std::ranges::find_if(order, [](const auto& task) { return task.kind != TaskKind::kForward; });
  return chunks == 1 && 2 * (first_backward - order.begin()) == std::ssize(order) &&
         std::all_of(first_backward, order.end(),
                     [](const auto& task) { return task.kind == TaskKind::kBackward; });
}

}  // namespace

PeakMoments peak_moments(const RankOrder& order, const PeriodCandidates& pipeline) {
  Walk walk(pipeline.chunks);
  const std::optional<OrderPeriod> period = order_period(order, pipeline);
  const std::int64_t size = std::ssize(order);
  // Periods that only repeat one before, with more forwards: the last of them stands for all.
  const std::int64_t left_out =
      period ? std::max<std::int64_t>(0, (period->end - period->begin) / period->tasks - 1) : 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (left_out > 0 && i == period->begin + period->tasks) {
      walk.repeat({order.begin() + period->begin, order.begin() + i}, left_out);
      i += left_out * period->tasks;
    }
    walk.run(order[static_cast<std::size_t>(i)], static_cast<std::size_t>(i));
  }
  PeakMoments result = walk.result(period ? static_cast<std::size_t>(period->begin) : order.size());
  result.repeats = period.has_value();
  result.piles_up = forwards_pile_up(order, pipeline.chunks);
  return result;
}

}  // namespace stepcast
