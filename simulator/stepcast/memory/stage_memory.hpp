// SPDX-License-Identifier: Apache-2.0
// What a pipeline rank holds at one moment of a step, by kind.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/units.hpp"

namespace stepcast {

// Whether a rank's memory suffices: it `fits` where that is sure, and is `tight` where it is
// neither sure nor hopeless. From the best to the worst.
enum class MemoryVerdict { kFits, kTight, kDoesNotFit };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<MemoryVerdict> = {"fits", "tight",
                                                                            "does not fit"};

// What varies over a step.
struct MomentMemory {
  std::string_view moment;  // loss, head backward, backward, optimizer ...
  Bytes activations;        // saved tensors of the micro-batches in flight, and a layer recomputed
  Bytes gradients;

  // Buffers, by purpose.
  Bytes loss{};       // logits, their copies and gradient
  Bytes workspace{};  // gradients of activations and of weights while backward runs
  Bytes gathered{};   // weights gathered from their shards
  Bytes reduced{};    // full gradients on their way to their shards
  Bytes exchange{};   // of the expert dispatcher
};

// What a rank holds at the moment of its peak.
struct StageMemory : MomentMemory {
  std::int64_t rank = 0;  // of the pipeline
  Bytes parameters;
  Bytes optimizer;
  Bytes received;  // of the pipeline, a buffer too
  // Of `exchange` what lasts over all layers: symmetric or network memory, which the dispatcher
  // takes past the caching allocator.
  Bytes symmetric;

  double in_flight =
      0.0;  // micro-batches at most, each counted by the fraction of the rank's layers it is in
  Bytes reserved;           // by the allocator, fragmentation and other streams' pools included
  Bytes outside;            // the allocator: driver context and communicators
  double pool_share = 1.0;  // of the device, that the framework's allocator takes
  double odds = 1.0;        // that it does not run out of memory
  MemoryVerdict verdict = MemoryVerdict::kFits;
  Bytes missing{};  // of what it holds at its peak, that it must not hold to fit

  [[nodiscard]] Bytes buffers() const {
    return loss + workspace + gathered + reduced + exchange + received;
  }
  // With what lies outside the allocator.
  [[nodiscard]] Bytes used() const { return total() + outside; }
  [[nodiscard]] Bytes total() const {
    return parameters + gradients + optimizer + activations + buffers();
  }
  // The peak of the caching allocator.
  [[nodiscard]] Bytes allocated() const { return total() - symmetric; }
  // What nvidia-smi and NVML call used: nothing of what the allocator reserved is free to others.
  [[nodiscard]] Bytes in_use() const { return reserved + symmetric + outside; }
};

}  // namespace stepcast
