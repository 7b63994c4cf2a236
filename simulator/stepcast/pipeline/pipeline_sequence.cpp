// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_sequence.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kFewestRounds = 4;  // that are worth telling apart

// Runs the orders without times.
class Sequencer {
 public:
  Sequencer(Schedule schedule, const PipelineShape& shape, const std::vector<RankOrder>& orders)
      : orders_(orders),
        numbers_{stage_count(shape)},
        chunks_(chunks_per_rank(schedule, shape)),
        positions_(orders.size(), 0),
        outputs_(static_cast<std::size_t>(2 * stage_count(shape) * shape.micro_batches)) {
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
      for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
        stages_.push_back(stage_on(schedule, shape, rank, chunk));
      }
      runnable_.push_back(static_cast<std::int32_t>(shape.ranks - 1 - rank));
    }
  }

  // Runs until every rank waits, the first one for `limit`.
  void run(std::int64_t limit) {
    limit_ = limit;
    runnable_.push_back(0);
    while (!runnable_.empty()) {
      const std::int32_t rank = runnable_.back();
      runnable_.pop_back();
      advance(rank);
    }
  }
  [[nodiscard]] const std::vector<std::int64_t>& positions() const { return positions_; }
  [[nodiscard]] std::size_t size() const { return sequence_.size(); }
  std::vector<SequencedTask> take() { return std::move(sequence_); }

 private:
  struct Output {
    bool done = false;
    std::int32_t waiting = -1;  // a rank that waits for it
  };

  [[nodiscard]] std::int64_t stage(std::int32_t rank, std::int32_t chunk) const {
    return stages_[static_cast<std::size_t>(rank * chunks_ + chunk)];
  }

  void advance(std::int32_t rank) {
    const RankOrder& order = orders_[static_cast<std::size_t>(rank)];
    std::int64_t& position = positions_[static_cast<std::size_t>(rank)];
    const std::int64_t end = rank == 0 ? std::min(limit_, std::ssize(order)) : std::ssize(order);
    for (; position < end; ++position) {
      const PipelineTask& task = order[static_cast<std::size_t>(position)];
      const TaskLinks links =
          links_of(task, stage(rank, task.chunk), stage(rank, task.backward_chunk), numbers_);
      if (!done(rank, links)) {
        return;
      }
      sequence_.push_back({rank, static_cast<std::int32_t>(position)});
      for (const std::int32_t made : links.outputs) {
        hand_over(made);
      }
    }
  }
  bool done(std::int32_t rank, const TaskLinks& links) {
    for (const std::int32_t awaited : links.inputs) {
      if (awaited < 0) {
        continue;
      }
      Output& output = outputs_[static_cast<std::size_t>(awaited)];
      if (!output.done) {
        output.waiting = rank;
        return false;
      }
    }
    return true;
  }
  void hand_over(std::int32_t made) {
    if (made < 0) {
      return;
    }
    Output& output = outputs_[static_cast<std::size_t>(made)];
    output.done = true;
    if (output.waiting >= 0) {
      runnable_.push_back(output.waiting);
    }
  }

  const std::vector<RankOrder>& orders_;
  OutputNumbers numbers_;
  std::int64_t chunks_;
  std::int64_t limit_ = 0;
  std::vector<std::int64_t> stages_;  // rank-major, by chunk
  std::vector<std::int64_t> positions_;
  std::vector<Output> outputs_;
  std::vector<std::int32_t> runnable_;
  std::vector<SequencedTask> sequence_;
};

// Where the sequence could be cut into rounds: how far each rank is then.
struct Cut {
  std::vector<std::int64_t> positions;
  std::size_t tasks = 0;
};

// The positions of a rank behind the first forward and before the last backward of every chunk:
// those take another time.
struct Inside {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Inside inside_of(const RankOrder& order, std::int64_t chunks) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(chunks), -1);
  std::vector<std::int64_t> last(static_cast<std::size_t>(chunks), 0);
  for (std::int64_t i = 0; i < std::ssize(order); ++i) {
    const PipelineTask& task = order[static_cast<std::size_t>(i)];
    const bool pair = task.kind == TaskKind::kOverlapped;
    if (task.kind == TaskKind::kForward || pair) {
      std::int64_t& position = first[static_cast<std::size_t>(task.chunk)];
      position = position < 0 ? i : position;
    }
    if (const std::int32_t back = activation_change(task).returned; back != kNoChunk) {
      last[static_cast<std::size_t>(back)] = i;
    }
  }
  return {*std::max_element(first.begin(), first.end()) + 1,
          *std::min_element(last.begin(), last.end())};
}

// Whether the tasks between `a` and `b` are those between `b` and `c`, later.
bool same_round(const std::vector<RankOrder>& orders, const std::vector<Inside>& inside,
                const OrderPeriod& period, const Cut& a, const Cut& b, const Cut& c) {
  for (std::size_t rank = 0; rank < orders.size(); ++rank) {
    if (b.positions[rank] - a.positions[rank] != period.tasks ||
        c.positions[rank] - b.positions[rank] != period.tasks ||
        a.positions[rank] < inside[rank].begin || c.positions[rank] > inside[rank].end) {
      return false;
    }
    for (std::int64_t i = a.positions[rank]; i < b.positions[rank]; ++i) {
      if (!follows(orders[rank][static_cast<std::size_t>(i)],
                   orders[rank][static_cast<std::size_t>(i + period.tasks)],
                   period.micro_batches)) {
        return false;
      }
    }
  }
  return true;
}

// The longest run of equal rounds between cuts: from which cut, and how many.
struct Rounds {
  std::size_t first = 0;
  std::int64_t count = 0;
};

Rounds longest_rounds(const std::vector<RankOrder>& orders, std::int64_t chunks,
                      const OrderPeriod& period, const std::vector<Cut>& cuts) {
  std::vector<Inside> inside;
  inside.reserve(orders.size());
  for (const RankOrder& order : orders) {
    inside.push_back(inside_of(order, chunks));
  }
  Rounds best;
  Rounds now{0, 1};
  for (std::size_t i = 0; i + 2 < cuts.size(); ++i) {
    now = same_round(orders, inside, period, cuts[i], cuts[i + 1], cuts[i + 2])
              ? Rounds{now.first, now.count + 1}
              : Rounds{i + 1, 1};
    best = now.count > best.count ? now : best;
  }
  return best;
}

// Whether every rank runs each micro-batch forward once, then each backward once.
bool forwards_come_first(const std::vector<RankOrder>& orders, std::int64_t micro_batches) {
  const auto in_turn = [micro_batches](const RankOrder& order) {
    for (std::int64_t i = 0; i < std::ssize(order); ++i) {
      const bool back = i >= micro_batches;
      const PipelineTask expected{back ? TaskKind::kBackward : TaskKind::kForward, 0,
                                  static_cast<std::int32_t>(back ? i - micro_batches : i)};
      if (order[static_cast<std::size_t>(i)] != expected) {
        return false;
      }
    }
    return std::ssize(order) == 2 * micro_batches;
  };
  return std::all_of(orders.begin(), orders.end(), in_turn);
}

// Micro-batch by micro-batch through all ranks, forward and then backward. The first forwards and
// the last backwards take another time, so they are in no round; the second forwards and the first
// backwards are in none, so that there are as many rounds of each and no forward behind the rounds.
PipelineSequence forwards_then_backwards(std::int64_t ranks, std::int64_t micro_batches) {
  PipelineSequence result;
  result.tasks.reserve(static_cast<std::size_t>(2 * ranks * micro_batches));
  for (std::int64_t i = 0; i < 2 * micro_batches; ++i) {
    for (std::int64_t step = 0; step < ranks; ++step) {
      const std::int64_t rank = i < micro_batches ? step : ranks - 1 - step;
      result.tasks.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(i)});
    }
  }
  const auto row = static_cast<std::size_t>(ranks);
  const std::int64_t rounds = micro_batches - 2;
  result.steady = {{2 * row, row, rounds, 1},
                   {(static_cast<std::size_t>(micro_batches) + 1) * row, row, rounds, 1}};
  return result;
}

}  // namespace

TaskLinks links_of(const PipelineTask& task, std::int64_t stage, std::int64_t back,
                   const OutputNumbers& numbers) {
  TaskLinks links;
  const auto backward_input = [&](std::int64_t at, std::int64_t micro_batch) {
    return at + 1 == numbers.stages ? numbers.forward(at, micro_batch)
                                    : numbers.backward(at + 1, micro_batch);
  };
  switch (task.kind) {
    case TaskKind::kForward:
      links.inputs[0] = stage > 0 ? numbers.forward(stage - 1, task.micro_batch) : -1;
      links.outputs[0] = numbers.forward(stage, task.micro_batch);
      break;
    case TaskKind::kBackward:
    case TaskKind::kInputGradient:
      links.inputs[0] = backward_input(stage, task.micro_batch);
      links.outputs[0] = numbers.backward(stage, task.micro_batch);
      break;
    case TaskKind::kOverlapped:
      links.inputs[0] = stage > 0 ? numbers.forward(stage - 1, task.micro_batch) : -1;
      links.inputs[1] = backward_input(back, task.backward_micro_batch);
      links.outputs = {numbers.forward(stage, task.micro_batch),
                       numbers.backward(back, task.backward_micro_batch)};
      break;
    case TaskKind::kWeightGradient:
      break;  // what it needs was made on the same rank before
  }
  return links;
}

PipelineSequence pipeline_sequence(Schedule schedule, const PipelineShape& shape,
                                   const std::vector<RankOrder>& orders,
                                   PipelineTransfers transfers) {
  if (transfers != PipelineTransfers::kFree) {
    return ordered_sequence(schedule, shape, orders, transfers);
  }
  if (shape.micro_batches >= kFewestRounds + 2 &&
      forwards_come_first(orders, shape.micro_batches)) {
    return forwards_then_backwards(shape.ranks, shape.micro_batches);
  }
  PipelineSequence result;
  Sequencer sequencer(schedule, shape, orders);
  const std::optional<OrderPeriod> period =
      order_period(orders.front(), {chunks_per_rank(schedule, shape), shape.ranks});
  std::vector<Cut> cuts;
  if (period) {
    const auto size = std::ssize(orders.front());
    for (std::int64_t limit = period->begin; limit < size; limit += period->tasks) {
      sequencer.run(limit);
      cuts.push_back({sequencer.positions(), sequencer.size()});
    }
    const Rounds rounds = longest_rounds(orders, chunks_per_rank(schedule, shape), *period, cuts);
    if (rounds.count >= kFewestRounds) {
      const std::size_t begin = cuts[rounds.first].tasks;
      result.steady.push_back(
          {begin, cuts[rounds.first + 1].tasks - begin, rounds.count, period->micro_batches});
    }
  }
  sequencer.run(std::ssize(orders.front()));
  for (std::size_t rank = 0; rank < orders.size(); ++rank) {
    STEPCAST_CHECK(sequencer.positions()[rank] == std::ssize(orders[rank]),
                   "the pipeline schedule waits for itself on rank " + std::to_string(rank));
  }
  result.tasks = sequencer.take();
  return result;
}

}  // namespace stepcast
