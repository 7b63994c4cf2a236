// SPDX-License-Identifier: Apache-2.0
// When the transfers of ranks run whose runtime puts them in order.
//
// A transfer occupies both of its ranks. It starts when both have ended the tasks before it, and
// the transfers before it or, in a batch, before the batch:
//
//   start = max(transfers of a, transfers of b, tasks of a, tasks of b)
#pragma once

#include <algorithm>
#include <vector>

#include "stepcast/pipeline/pipeline_sequence.hpp"

namespace stepcast {

// `Instant`: a point in time, ordered by <.
template <typename Instant>
class TransferStreams {
 public:
  void reset(std::size_t ranks) {
    behind_.assign(ranks, Instant{});
    batch_behind_.assign(ranks, Instant{});
  }
  // `from_ended`, `to_ended`: when the ranks have ended their tasks so far.
  Instant start(const SequencedTransfer& transfer, Instant from_ended, Instant to_ended) {
    if (transfer.opens) {
      batch_behind_ = behind_;
    }
    const Instant batch =
        std::max(batch_behind_[place(transfer.from)], batch_behind_[place(transfer.to)]);
    return std::max(batch, std::max(from_ended, to_ended));
  }
  void end(const SequencedTransfer& transfer, Instant end) {
    for (const std::int32_t rank : {transfer.from, transfer.to}) {
      behind_[place(rank)] = std::max(behind_[place(rank)], end);
    }
  }
  // When the transfers of a rank so far have ended.
  [[nodiscard]] const Instant& ended(std::size_t rank) const { return behind_[rank]; }

 private:
  static std::size_t place(std::int32_t rank) { return static_cast<std::size_t>(rank); }

  std::vector<Instant> behind_;        // by rank
  std::vector<Instant> batch_behind_;  // behind_ before the batch
};

}  // namespace stepcast
