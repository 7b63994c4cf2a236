// SPDX-License-Identifier: Apache-2.0
// The tasks and transfers of ranks whose runtime puts transfers in order.
//
// The order is that of time steps in each of which a rank runs one task
// (torch.distributed.pipelining, schedules.py). In order (_add_send_recv, which turns tasks into
// tasks with transfers): in a step the ranks come one after the other; a task may run once its
// inputs have been sent, by a lower rank in the same step too, and the transfer of what it makes is
// put down right behind it, on both ranks. Stepped (PipelineScheduleMulti): a task may run once its
// inputs were made in steps before; behind the tasks of a step all that they have made is sent, and
// a rank waits for what it sends and what it receives. Tasks are of one length for that, whatever
// they take.
#include <algorithm>
#include <string>

#include "stepcast/base/error.hpp"
#include "stepcast/pipeline/pipeline_sequence.hpp"

namespace stepcast {
namespace {

class OrderedSequencer {
 public:
  OrderedSequencer(Schedule schedule, const PipelineShape& shape,
                   const std::vector<RankOrder>& orders, PipelineTransfers transfers)
      : orders_(orders),
        numbers_{stage_count(shape)},
        stepped_(transfers == PipelineTransfers::kStepped),
        positions_(orders.size(), 0),
        consumers_(static_cast<std::size_t>(2 * stage_count(shape) * shape.micro_batches), kNobody),
        made_(consumers_.size(), false) {
    for (std::size_t rank = 0; rank < orders.size(); ++rank) {
      stages_.emplace_back();
      for (std::int64_t chunk = 0; chunk < chunks_per_rank(schedule, shape); ++chunk) {
        stages_.back().push_back(stage_on(schedule, shape, static_cast<std::int64_t>(rank), chunk));
      }
      for (const PipelineTask& task : orders[rank]) {
        for (const std::int32_t awaited : links(rank, task).inputs) {
          if (awaited >= 0) {
            consumers_[static_cast<std::size_t>(awaited)] = static_cast<std::int32_t>(rank);
          }
        }
      }
    }
  }

  PipelineSequence take() {
    while (run_step()) {
    }
    for (std::size_t rank = 0; rank < orders_.size(); ++rank) {
      STEPCAST_CHECK(positions_[rank] == orders_[rank].size(),
                     "the pipeline schedule waits for itself on rank " + std::to_string(rank));
    }
    return std::move(sequence_);
  }

 private:
  static constexpr std::int32_t kNobody = -1;
  struct Made {
    std::int32_t output = -1;
    std::int32_t rank = 0;
  };

  [[nodiscard]] TaskLinks links(std::size_t rank, const PipelineTask& task) const {
    const std::vector<std::int64_t>& stages = stages_[rank];
    return links_of(task, stages[static_cast<std::size_t>(task.chunk)],
                    stages[static_cast<std::size_t>(task.backward_chunk)], numbers_);
  }

  // A task of each rank that has its inputs; false where none has.
  bool run_step() {
    std::vector<Made> of_step;
    const std::size_t before = sequence_.tasks.size();
    for (std::size_t rank = 0; rank < orders_.size(); ++rank) {
      if (positions_[rank] == orders_[rank].size()) {
        continue;
      }
      const TaskLinks own = links(rank, orders_[rank][positions_[rank]]);
      if (!std::ranges::all_of(own.inputs, [this](std::int32_t input) {
            return input < 0 || made_[static_cast<std::size_t>(input)];
          })) {
        continue;
      }
      sequence_.tasks.push_back(
          {static_cast<std::int32_t>(rank), static_cast<std::int32_t>(positions_[rank])});
      ++positions_[rank];
      for (const std::int32_t output : own.outputs) {
        const Made made{output, static_cast<std::int32_t>(rank)};
        if (output >= 0 && stepped_) {
          of_step.push_back(made);
        } else if (output >= 0) {
          hand_on(made);
        }
      }
    }
    std::ranges::for_each(of_step, [this](const Made& made) { hand_on(made); });
    return sequence_.tasks.size() > before;
  }

  void hand_on(const Made& made) {
    made_[static_cast<std::size_t>(made.output)] = true;
    const std::int32_t consumer = consumers_[static_cast<std::size_t>(made.output)];
    if (consumer == kNobody || consumer == made.rank) {
      return;
    }
    std::vector<SequencedTransfer>& transfers = sequence_.transfers;
    const std::size_t behind = sequence_.tasks.size();
    const bool opens = !stepped_ || transfers.empty() || transfers.back().behind != behind;
    transfers.push_back({made.output, made.rank, consumer, behind, opens});
  }

  const std::vector<RankOrder>& orders_;
  OutputNumbers numbers_;
  bool stepped_;
  std::vector<std::vector<std::int64_t>> stages_;  // of each rank, by chunk
  std::vector<std::size_t> positions_;
  std::vector<std::int32_t> consumers_;  // of each output, a rank
  std::vector<bool> made_;
  PipelineSequence sequence_;
};

}  // namespace

PipelineSequence ordered_sequence(Schedule schedule, const PipelineShape& shape,
                                  const std::vector<RankOrder>& orders,
                                  PipelineTransfers transfers) {
  return OrderedSequencer(schedule, shape, orders, transfers).take();
}

}  // namespace stepcast
