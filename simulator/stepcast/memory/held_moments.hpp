// SPDX-License-Identifier: Apache-2.0
// The moments of a pipeline rank's order at which it may hold most.
//
// What a rank holds at a forward or a backward of one of its chunks grows with the micro-batches
// whose activations each chunk holds, with the chunks that have gradients, and with the forwards
// that each has run. So a moment with no more of any of them than another one of the same kind
// cannot be the peak, and few moments of an order are left, however long it is.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/pipeline/order_period.hpp"

namespace stepcast {

struct HeldMoment {
  bool backward = false;  // else a forward
  std::int32_t chunk = 0;
  // Of each chunk: at a forward with its own, at a backward before it gives its own back.
  std::vector<std::int32_t> held;           // micro-batches whose activations are there
  std::vector<std::int32_t> has_gradients;  // before this moment
  std::vector<std::int32_t> forwards;       // run before this moment
  bool late = false;                        // not while the pipeline fills
};

struct HeldMoments {
  std::vector<HeldMoment> moments;  // in the order of time
  std::int64_t most_held = 0;       // micro-batches, over all chunks together
  // The order repeats between filling and draining: with more micro-batches it has the same
  // moments, and the late ones have as many more forwards.
  bool repeats = false;
};

// `pipeline`: the chunks of a rank, and the ranks.
HeldMoments held_moments(const RankOrder& order, const PeriodCandidates& pipeline);

}  // namespace stepcast
