// SPDX-License-Identifier: Apache-2.0
// The moments of a pipeline rank's order at which its memory may be at its peak.
//
// The memory of a rank at a forward or a backward of one of its chunks grows with the micro-batches
// that each chunk has in flight, with those whose weight gradients are put off, with the chunks
// that have gradients, and with the forwards that each has run. So a moment with no more of any of
// them than another one of the same kind cannot be the peak, and few moments of an order are left,
// however long it is.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/pipeline/pipeline_order.hpp"

namespace stepcast {

struct PeakMoment {
  bool backward = false;  // else a forward
  std::int32_t chunk = 0;
  // Of each chunk: micro-batches whose activations are resident. A forward counts its own already,
  // a backward still counts the one whose activations it frees.
  std::vector<std::int32_t> in_flight;
  // Of each chunk: micro-batches whose input gradients ran and whose weight gradients did not. A
  // weight gradient still counts its own.
  std::vector<std::int32_t> deferred;
  std::vector<std::int32_t> has_gradients;  // of each chunk: 1 if a backward ran before this moment
  std::vector<std::int32_t> forwards;       // of each chunk: those that ran before this moment
  bool late = false;                        // after the pipeline has filled
};

struct PeakMoments {
  std::vector<PeakMoment> moments;  // in the order of time
  std::int64_t most_in_flight = 0;  // micro-batches at any time, over all chunks together
  // The order repeats between filling and draining: with more micro-batches it has the same
  // moments, and the late ones have as many more forwards.
  bool repeats = false;
  // All forwards go before all backwards: with more micro-batches, as many more are in flight at
  // every moment.
  bool piles_up = false;
};

// `pipeline` has the number of chunks that the rank runs, and the number of ranks.
PeakMoments peak_moments(const RankOrder& order, const PeriodCandidates& pipeline);

}  // namespace stepcast
