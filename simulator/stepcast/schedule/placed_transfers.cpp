// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/placed_transfers.hpp"

#include <algorithm>

#include "stepcast/pipeline/pipeline_sequence.hpp"

namespace stepcast {
namespace {

class TransferPlacer {
 public:
  TransferPlacer(const ParallelPlan& plan, const StepSchedule& schedule, std::size_t rank)
      : plan_(plan),
        shape_(pipeline_shape(plan)),
        numbers_{stage_count(shape_)},
        schedule_(schedule),
        own_(rank),
        made_(static_cast<std::size_t>(numbers_.stride() * shape_.micro_batches)) {}

  std::vector<PlacedTransfer> place() {
    note_producers();
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      for (const TaskSpan& span : schedule_.ranks[rank].spans) {
        for (const std::int32_t input : links(rank, span.task).inputs) {
          take(input, rank);
        }
      }
    }
    std::stable_sort(
        transfers_.begin(), transfers_.end(),
        [](const PlacedTransfer& a, const PlacedTransfer& b) { return a.start < b.start; });
    return std::move(transfers_);
  }

 private:
  struct Output {
    std::size_t rank = 0;
    Seconds end;
  };

  [[nodiscard]] TaskLinks links(std::size_t rank, const PipelineTask& task) const {
    const auto place = static_cast<std::int64_t>(rank);
    const bool pair = task.kind == TaskKind::kOverlapped;
    return links_of(
        task, stage_on(plan_.schedule, shape_, place, task.chunk),
        stage_on(plan_.schedule, shape_, place, pair ? task.backward_chunk : task.chunk), numbers_);
  }

  void note_producers() {
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      for (const TaskSpan& span : schedule_.ranks[rank].spans) {
        for (const std::int32_t output : links(rank, span.task).outputs) {
          if (output >= 0) {
            made_[static_cast<std::size_t>(output)] = {rank, span.end};
          }
        }
      }
    }
  }

  // An input that a task of `rank` waits for.
  void take(std::int32_t input, std::size_t rank) {
    if (input < 0) {
      return;
    }
    const Output& output = made_[static_cast<std::size_t>(input)];
    if (output.rank == rank || (rank != own_ && output.rank != own_)) {
      return;
    }
    const bool sends = output.rank == own_;
    transfers_.push_back({sends ? TransferEnd::kSends : TransferEnd::kReceives,
                          static_cast<std::int64_t>(sends ? rank : output.rank),
                          static_cast<std::int32_t>(input / numbers_.stride()), output.end,
                          output.end + schedule_.transfer});
  }

  const ParallelPlan& plan_;
  PipelineShape shape_;
  OutputNumbers numbers_;
  const StepSchedule& schedule_;
  std::size_t own_;
  std::vector<Output> made_;  // by the number of the output
  std::vector<PlacedTransfer> transfers_;
};

}  // namespace

std::vector<PlacedTransfer> placed_transfers(const ParallelPlan& plan, const StepSchedule& schedule,
                                             std::size_t rank) {
  if (plan.pp == 1 || !(schedule.transfer > Seconds{})) {
    return {};
  }
  return TransferPlacer(plan, schedule, rank).place();
}

}  // namespace stepcast
