// SPDX-License-Identifier: Apache-2.0
// DualPipe and DualPipeV: forwards of one direction beside backwards of the other.
//
// DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1, and the example of its repository): half
// of the micro-batches enter at rank 0, half at rank p - 1. Rank h counted from the end nearer to
// it, H = p / 2, n micro-batches a direction; "near" ones entered at that end, "far" ones at the
// other:
//
//   2 (H - h - 1)       near F
//   h + 1               near F, far F
//   H - h - 1           far B, far W, far F
//   n - 2 H + h + 1     near F beside far B, far F beside near B
//   H - h - 1           far B, far F beside near B
//   2 (h + 1)           far B and near B in turn, those of the second half split
//   H - h - 1           W, near B split
//   h + 1               W
//
// The ranks in the middle run the first near F and far B of the fourth line one after the other.
// DualPipeV is the half of the ranks with the stages of both ends ("cut in half", Sea AI Lab): H =
// p, near is chunk 0, far chunk 1, and all micro-batches pass both.
//
// n >= 2 H fills the phases. With fewer micro-batches the order is that of n = 2 H with the missing
// ones left out; an odd one enters at rank 0.
#include "stepcast/pipeline/schedules/schedule_orders.hpp"

#include <algorithm>

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

// One of the two ways through a rank.
struct Way {
  std::int32_t chunk = 0;
  std::int32_t first = 0;  // micro-batch of the step
  std::int64_t count = 0;  // of micro-batches
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
};

// Writes a rank's tasks; those of micro-batches beyond a way's count are left out.
class PhaseWriter {
 public:
  PhaseWriter(const Way& near, const Way& far) : near_(near), far_(far) {
    order_.reserve(static_cast<std::size_t>(3 * (near.count + far.count)));
  }

  // `behind` ranks lie between this one and the end near to it, of `half` ranks in all; n is a
  // direction's micro-batches, those left out included.
  RankOrder write(std::int64_t behind, std::int64_t half, std::int64_t n) {
    const std::int64_t inner = half - behind - 1;
    repeat(2 * inner, [this] { forward(near_); });
    repeat(behind + 1, [this] {
      forward(near_);
      forward(far_);
    });
    repeat(inner, [this] {
      backward(far_, true);
      weight();
      forward(far_);
    });
    steady(n - 2 * half + behind + 1, inner == 0);
    repeat(inner, [this] {
      backward(far_, false);
      overlapped(far_, near_);
    });
    drain(behind + 1);
    repeat(inner, [this] {
      weight();
      backward(near_, true);
    });
    repeat(behind + 1, [this] { weight(); });
    return std::move(order_);
  }

 private:
  template <typename Action>
  static void repeat(std::int64_t times, const Action& action) {
    for (std::int64_t i = 0; i < times; ++i) {
      action();
    }
  }

  void steady(std::int64_t rounds, bool middle) {
    for (std::int64_t i = 0; i < rounds; ++i) {
      if (i == 0 && middle) {
        forward(near_);
        backward(far_, false);
      } else {
        overlapped(near_, far_);
      }
      overlapped(far_, near_);
    }
  }

  // `rounds` backwards of both ways; the second half of all leaves its weights for later.
  void drain(std::int64_t rounds) {
    for (std::int64_t i = 0; i < rounds; ++i) {
      backward(far_, 2 * i >= rounds);
      backward(near_, 2 * i + 1 >= rounds);
    }
  }

  void forward(Way& way) {
    const std::int64_t next = way.forwards++;
    if (next < way.count) {
      order_.push_back({TaskKind::kForward, way.chunk, micro_batch(way, next)});
    }
  }

  void backward(Way& way, bool split) {
    const std::int64_t next = way.backwards++;
    const TaskKind kind = split ? TaskKind::kInputGradient : TaskKind::kBackward;
    const PipelineTask task{kind, way.chunk, micro_batch(way, next)};
    if (next < way.count) {
      order_.push_back(task);
    }
    if (split) {
      weights_.push_back(
          {TaskKind::kWeightGradient, task.chunk, next < way.count ? task.micro_batch : kLeftOut});
    }
  }

  // The gradient of weights that has waited longest.
  void weight() {
    const PipelineTask task = weights_[weights_run_++];
    if (task.micro_batch != kLeftOut) {
      order_.push_back(task);
    }
  }

  void overlapped(Way& there, Way& back) {
    if (there.forwards >= there.count || back.backwards >= back.count) {
      forward(there);
      backward(back, false);
      return;
    }
    order_.push_back({TaskKind::kOverlapped, there.chunk, micro_batch(there, there.forwards++),
                      back.chunk, micro_batch(back, back.backwards++)});
  }

  static std::int32_t micro_batch(const Way& way, std::int64_t index) {
    return way.first + static_cast<std::int32_t>(index);
  }

  static constexpr std::int32_t kLeftOut = -1;

  Way near_;
  Way far_;
  RankOrder weights_;  // split off, in order
  std::size_t weights_run_ = 0;
  RankOrder order_;
};

RankOrder v_order(const PipelineShape& shape, std::int64_t rank) {
  const Way near{0, 0, shape.micro_batches};
  const Way far{1, 0, shape.micro_batches};
  return PhaseWriter(near, far).write(rank, shape.ranks,
                                      std::max(shape.micro_batches, 2 * shape.ranks));
}

RankOrder bidirectional_order(const PipelineShape& shape, std::int64_t rank) {
  const std::int64_t up = (shape.micro_batches + 1) / 2;
  const Way from_first{0, 0, up};
  const Way from_last{1, static_cast<std::int32_t>(up), shape.micro_batches - up};
  const std::int64_t half = shape.ranks / 2;
  const std::int64_t n = std::max(up, shape.ranks);
  return rank < half ? PhaseWriter(from_first, from_last).write(rank, half, n)
                     : PhaseWriter(from_last, from_first).write(shape.ranks - 1 - rank, half, n);
}

std::vector<RankOrder> orders_by(RankOrder (*order)(const PipelineShape&, std::int64_t rank),
                                 const PipelineShape& shape) {
  std::vector<RankOrder> orders;
  orders.reserve(static_cast<std::size_t>(shape.ranks));
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    orders.push_back(order(shape, rank));
  }
  return orders;
}

}  // namespace

std::vector<RankOrder> dual_pipe_orders(const PipelineShape& shape) {
  STEPCAST_CHECK(shape.ranks % 2 == 0, "DualPipe needs an even number of ranks");
  return orders_by(bidirectional_order, shape);
}

std::vector<RankOrder> dual_pipe_v_orders(const PipelineShape& shape) {
  return orders_by(v_order, shape);
}

}  // namespace stepcast
