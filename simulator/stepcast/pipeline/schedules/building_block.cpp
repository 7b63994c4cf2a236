// SPDX-License-Identifier: Apache-2.0
// Schedules of split backwards that repeat one building block: ZB-H1, ZB-H2, ZBV, V-Half, V-Min.
//
// Qi et al. (arXiv 2401.10241 for ZB-H1 and ZB-H2, arXiv 2405.15362 for the V shapes) draw a
// schedule as one micro-batch's way down and up the ranks with a fixed delay from rank to rank on
// each leg, repeated every 3 units (6 with two chunks), tasks being one unit long. The delays set
// how long a micro-batch lives on a rank, and so how many are in flight:
//
//   schedule  delay on each leg       micro-batches in flight at most
//   ZB-H1     F 1, B 2                p
//   ZB-H2     F 1, B 5                2 p - 1
//   ZBV       F 1, F' 5, B' 1, B 5    p
//   V-Half    F 1, F' 2, B' 1, B 2    floor((p + 2) / 2)
//   V-Min     F 1, F' 1, B' 1, B 1    floor((p + 4) / 3)
//
// (F' and B' of the second chunk.) Every rank takes its forwards and input gradients by the times
// of this block, as early as their inputs are there. When the next one has to wait, a later one
// that is ready goes first; forwards of the first chunk, which take the memory that others wait
// for, only with V-Half on an even number of ranks and while less than half of it is taken. Else a
// gradient of weights fills the gap. One of these also goes before a forward that would exceed the
// memory above; that limit is kept except that a rank without a gradient of weights to run goes on.
#include "stepcast/pipeline/schedules/schedule_orders.hpp"

#include <array>
#include <limits>

namespace stepcast {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostLegs = 4;

// A passage over all ranks, forth or back: when it starts on its first rank, in units after the
// micro-batch enters, and the delay from rank to rank.
struct Leg {
  TaskKind kind = TaskKind::kForward;
  std::int64_t chunk = 0;
  std::int64_t start = 0;
  std::int64_t delay = 1;
  bool down = true;  // from rank 0 to rank p - 1

  [[nodiscard]] std::int64_t time(std::int64_t rank, std::int64_t ranks) const {
    return start + delay * (down ? rank : ranks - 1 - rank);
  }
};

struct BuildingBlock {
  std::array<Leg, kMostLegs> legs;
  std::int64_t size = 2;                  // legs
  std::int64_t period = 3;                // units from one micro-batch to the next
  std::int64_t most_in_flight = 0;        // activations of one chunk and micro-batch on a rank
  std::int64_t most_in_flight_ahead = 0;  // up to which forwards of the first chunk may go first
};

BuildingBlock one_chunk_block(std::int64_t ranks, std::int64_t backward_delay,
                              std::int64_t most_in_flight) {
  BuildingBlock block;
  block.legs[0] = {TaskKind::kForward, 0, 0, 1, true};
  block.legs[1] = {TaskKind::kInputGradient, 0, ranks, backward_delay, false};
  block.most_in_flight = most_in_flight;
  return block;
}

// `gaps` are the units from one leg's last task to the next leg's first.
BuildingBlock v_block(std::int64_t ranks, const std::array<std::int64_t, kMostLegs>& delays,
                      const std::array<std::int64_t, kMostLegs - 1>& gaps,
                      std::int64_t most_in_flight) {
  BuildingBlock block;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    const TaskKind kind = i < 2 ? TaskKind::kForward : TaskKind::kInputGradient;
    const std::int64_t chunk = i == 1 || i == 2 ? 1 : 0;
    block.legs[i] = {kind, chunk, start, delays[i], i % 2 == 0};
    start += delays[i] * (ranks - 1) + (i < gaps.size() ? gaps[i] : 0);
  }
  block.size = kMostLegs;
  block.period = 6;
  block.most_in_flight = 2 * most_in_flight;
  return block;
}

// Runs the block unit by unit on all ranks, and notes what each one does.
class UnitTimetable {
 public:
  UnitTimetable(const BuildingBlock& block, const PipelineShape& shape)
      : shape_(shape), stages_(stage_count(shape)), block_(block) {
    const auto tasks = static_cast<std::size_t>(stages_ * shape.micro_batches);
    forward_done_.assign(tasks, kNever);
    backward_done_.assign(tasks, kNever);
    ranks_.resize(static_cast<std::size_t>(shape.ranks));
    const StagePlacement placement =
        block.size == kMostLegs ? StagePlacement::kV : StagePlacement::kLoop;
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
      RankState& state = ranks_[static_cast<std::size_t>(rank)];
      state.order.reserve(static_cast<std::size_t>(3 * shape.chunks * shape.micro_batches));
      state.weights.reserve(static_cast<std::size_t>(shape.chunks * shape.micro_batches));
      for (std::int64_t leg = 0; leg < block_.size; ++leg) {
        const Leg& own = block_.legs[static_cast<std::size_t>(leg)];
        state.legs[static_cast<std::size_t>(leg)] = {own.time(rank, shape.ranks), 0,
                                                     stage_on(placement, shape, rank, own.chunk)};
      }
    }
  }

  std::vector<RankOrder> run() {
    std::int64_t left = 3 * stages_ * shape_.micro_batches;
    for (std::int64_t now = 0; left > 0; ++now) {
      for (RankState& rank : ranks_) {
        left -= advance(rank, now) ? 1 : 0;
      }
    }
    std::vector<RankOrder> orders;
    orders.reserve(ranks_.size());
    for (RankState& rank : ranks_) {
      orders.push_back(std::move(rank.order));
    }
    return orders;
  }

 private:
  // How far a rank is on a leg.
  struct Progress {
    std::int64_t time = 0;  // of the next micro-batch in the block
    std::int64_t micro_batch = 0;
    std::int64_t stage = 0;
  };
  struct RankState {
    std::array<Progress, kMostLegs> legs;
    std::int64_t in_flight = 0;
    RankOrder weights;  // gradients of weights that can run, oldest first
    std::size_t weights_run = 0;
    RankOrder order;

    [[nodiscard]] bool has_weights() const { return weights_run < weights.size(); }
  };

  [[nodiscard]] std::size_t slot(std::int64_t stage, std::int64_t micro_batch) const {
    return static_cast<std::size_t>(stage * shape_.micro_batches + micro_batch);
  }

  [[nodiscard]] bool ready(const Progress& next, TaskKind kind, std::int64_t now) const {
    if (kind == TaskKind::kForward) {
      return next.stage == 0 || forward_done_[slot(next.stage - 1, next.micro_batch)] <= now;
    }
    return next.stage + 1 == stages_
               ? forward_done_[slot(next.stage, next.micro_batch)] <= now
               : backward_done_[slot(next.stage + 1, next.micro_batch)] <= now;
  }

  // The earliest leg by the block, or kMostLegs when all are done.
  [[nodiscard]] std::int64_t earliest(const RankState& rank) const {
    std::int64_t first = kMostLegs;
    std::int64_t time = kNever;
    for (std::int64_t leg = 0; leg < block_.size; ++leg) {
      const Progress& next = rank.legs[static_cast<std::size_t>(leg)];
      if (next.micro_batch < shape_.micro_batches && next.time < time) {
        first = leg;
        time = next.time;
      }
    }
    return first;
  }

  // The earliest leg whose task is ready and may go before the earliest of all.
  [[nodiscard]] std::int64_t ready_instead(const RankState& rank, std::int64_t now) const {
    std::int64_t chosen = kMostLegs;
    std::int64_t time = kNever;
    for (std::int64_t leg = 0; leg < block_.size; ++leg) {
      const Progress& next = rank.legs[static_cast<std::size_t>(leg)];
      const TaskKind kind = block_.legs[static_cast<std::size_t>(leg)].kind;
      const std::int64_t limit = leg == 0 ? block_.most_in_flight_ahead : block_.most_in_flight;
      const bool fits = kind != TaskKind::kForward || rank.in_flight < limit;
      if (next.micro_batch < shape_.micro_batches && next.time < time && fits &&
          ready(next, kind, now)) {
        chosen = leg;
        time = next.time;
      }
    }
    return chosen;
  }

  // Runs what `rank` does in the unit `now`; false if it idles.
  bool advance(RankState& rank, std::int64_t now) {
    std::int64_t leg = earliest(rank);
    if (leg < kMostLegs && !ready(rank.legs[static_cast<std::size_t>(leg)],
                                  block_.legs[static_cast<std::size_t>(leg)].kind, now)) {
      leg = ready_instead(rank, now);
    }
    const bool forward =
        leg < kMostLegs && block_.legs[static_cast<std::size_t>(leg)].kind == TaskKind::kForward;
    const bool full = forward && rank.in_flight >= block_.most_in_flight && rank.has_weights();
    if (leg < kMostLegs && !full) {
      run_leg(rank, static_cast<std::size_t>(leg), now);
      return true;
    }
    if (rank.has_weights()) {
      rank.order.push_back(rank.weights[rank.weights_run++]);
      --rank.in_flight;
      return true;
    }
    return false;
  }

  void run_leg(RankState& rank, std::size_t leg, std::int64_t now) {
    Progress& next = rank.legs[leg];
    const auto chunk = static_cast<std::int32_t>(block_.legs[leg].chunk);
    const auto micro_batch = static_cast<std::int32_t>(next.micro_batch);
    const TaskKind kind = block_.legs[leg].kind;
    rank.order.push_back({kind, chunk, micro_batch});
    if (kind == TaskKind::kForward) {
      forward_done_[slot(next.stage, next.micro_batch)] = now + 1;
      ++rank.in_flight;
    } else {
      backward_done_[slot(next.stage, next.micro_batch)] = now + 1;
      rank.weights.push_back({TaskKind::kWeightGradient, chunk, micro_batch});
    }
    ++next.micro_batch;
    next.time += block_.period;
  }

  PipelineShape shape_;
  std::int64_t stages_;
  BuildingBlock block_;
  std::vector<std::int64_t> forward_done_;  // stage-major, in units
  std::vector<std::int64_t> backward_done_;
  std::vector<RankState> ranks_;
};

std::vector<RankOrder> orders_of(const BuildingBlock& block, const PipelineShape& shape) {
  return UnitTimetable(block, shape).run();
}

}  // namespace

std::vector<RankOrder> zb_h1_orders(const PipelineShape& shape) {
  return orders_of(one_chunk_block(shape.ranks, 2, shape.ranks), shape);
}

std::vector<RankOrder> zb_h2_orders(const PipelineShape& shape) {
  return orders_of(one_chunk_block(shape.ranks, 5, 2 * shape.ranks - 1), shape);
}

std::vector<RankOrder> zb_v_orders(const PipelineShape& shape) {
  return orders_of(v_block(shape.ranks, {1, 5, 1, 5}, {1, 1, 1}, shape.ranks), shape);
}

// The gaps of V-Half and V-Min are those, of 1 to 5, that leave the smallest bubble with F = B = W,
// of V-Half also with a B of 1.2 to 1.4 and a W of 0.8; that they depend on p alone by its
// remainder was checked for p up to 24. With an even number of ranks, steps of V-Half are shortest
// when forwards of the first chunk may go ahead.
std::vector<RankOrder> v_half_orders(const PipelineShape& shape) {
  BuildingBlock block = v_block(shape.ranks, {1, 2, 1, 2}, {1, 4, 1}, (shape.ranks + 2) / 2);
  block.most_in_flight_ahead = shape.ranks % 2 == 0 ? block.most_in_flight / 2 : 0;
  return orders_of(block, shape);
}

std::vector<RankOrder> v_min_orders(const PipelineShape& shape) {
  const std::array<std::int64_t, 3> by_remainder = {2, 1, 4};
  const std::int64_t gap = by_remainder[static_cast<std::size_t>(shape.ranks % 3)];
  return orders_of(v_block(shape.ranks, {1, 1, 1, 1}, {gap, gap, 1}, (shape.ranks + 4) / 3), shape);
}

}  // namespace stepcast
