// SPDX-License-Identifier: Apache-2.0
// The tasks of all ranks of a pipeline in one sequence, each behind what it waits for.
//
// Between filling and draining the sequence is made of rounds: the same tasks on every rank, of
// micro-batches that are the same number later. Where all forwards go before all backwards, there
// is one such stretch of each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "stepcast/pipeline/pipeline_order.hpp"

namespace stepcast {

struct SequencedTask {
  std::int32_t rank = 0;
  std::int32_t position = 0;  // in the order of the rank
};

// Equal rounds, one behind the other.
struct SteadyStretch {
  std::size_t begin = 0;           // place of its first task in the sequence
  std::size_t round = 0;           // tasks of a round
  std::int64_t rounds = 0;         // as many in each stretch of a sequence
  std::int64_t micro_batches = 0;  // of one round

  [[nodiscard]] std::size_t end() const { return begin + round * static_cast<std::size_t>(rounds); }
};

// An output on its way to another rank, where the ranks' runtime puts transfers in order.
struct SequencedTransfer {
  std::int32_t output = -1;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::size_t behind = 0;  // tasks of the sequence before it
  bool opens = true;       // it waits for all transfers before it, not only for those of its batch
};

struct PipelineSequence {
  std::vector<SequencedTask> tasks;
  std::vector<SteadyStretch> steady;         // empty: the sequence does not repeat
  std::vector<SequencedTransfer> transfers;  // empty where they are free
};

// Throws InternalError if the orders wait for each other.
PipelineSequence pipeline_sequence(Schedule schedule, const PipelineShape& shape,
                                   const std::vector<RankOrder>& orders,
                                   PipelineTransfers transfers);
// As above where transfers are not free (ordered_sequence.cpp). It does not repeat.
PipelineSequence ordered_sequence(Schedule schedule, const PipelineShape& shape,
                                  const std::vector<RankOrder>& orders,
                                  PipelineTransfers transfers);

// The outputs of a step, numbered: what stage `stage` hands on of a micro-batch, forward or
// backward. Those of the next micro-batch follow output_stride later.
struct OutputNumbers {
  std::int64_t stages = 0;

  [[nodiscard]] std::int32_t forward(std::int64_t stage, std::int64_t micro_batch) const {
    return static_cast<std::int32_t>(2 * (micro_batch * stages + stage));
  }
  [[nodiscard]] std::int32_t backward(std::int64_t stage, std::int64_t micro_batch) const {
    return forward(stage, micro_batch) + 1;
  }
  [[nodiscard]] std::int64_t stride() const { return 2 * stages; }
};

// The outputs that a task waits for and those that it makes; negative: none.
struct TaskLinks {
  std::array<std::int32_t, 2> inputs = {-1, -1};
  std::array<std::int32_t, 2> outputs = {-1, -1};
};
// `stage` is that of the task's chunk, `back` that of its backward chunk.
TaskLinks links_of(const PipelineTask& task, std::int64_t stage, std::int64_t back,
                   const OutputNumbers& numbers);

}  // namespace stepcast
