// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/running_odds.hpp"

#include <cmath>

namespace stepcast {
namespace {

// What a rank needs, and what there is for it.
struct Need {
  Bytes used;
  Bytes in_use;
  Bytes room;
};

Need need_of(const StageMemory& stage, Bytes capacity) {
  if (stage.pool_share < 1.0) {
    // What lies outside of the pool has the rest of the device.
    return {stage.total(), max(stage.reserved + stage.symmetric, stage.total()),
            stage.pool_share * capacity};
  }
  return {stage.used(), max(stage.in_use(), stage.used()), capacity};
}

constexpr double kInUse = 0.75;  // the weight of what is in use

double fullness(Bytes used, Bytes in_use, Bytes room) {
  return (1.0 - kInUse) * std::log(used / room) + kInUse * std::log(in_use / room);
}

// The fullness at which the odds are `sure`.
double fullest(double sure, const MemoryErrors& errors) {
  return errors.centre + errors.scale * std::log((1.0 - sure) / (sure - errors.despite));
}

}  // namespace

double odds_of_running(const StageMemory& stage, Bytes capacity, const MemoryErrors& errors) {
  const Need need = need_of(stage, capacity);
  const double x = fullness(need.used, need.in_use, need.room);
  return errors.despite +
         (1.0 - errors.despite) / (1.0 + std::exp((x - errors.centre) / errors.scale));
}

Bytes most_memory(Bytes capacity, double sure, const MemoryErrors& errors) {
  return std::exp(fullest(sure, errors)) * capacity;
}

// So much less of both, between nothing and all that is used, by halves.
Bytes missing_memory(const StageMemory& stage, Bytes capacity, double sure,
                     const MemoryErrors& errors) {
  constexpr int kHalves = 100;
  const Need need = need_of(stage, capacity);
  const double most = fullest(sure, errors);
  if (fullness(need.used, need.in_use, need.room) <= most) {
    return {};
  }
  Bytes too_little;
  Bytes enough = need.used;
  for (int i = 0; i < kHalves; ++i) {
    const Bytes middle = 0.5 * (too_little + enough);
    const bool fits = fullness(need.used - middle, need.in_use - middle, need.room) <= most;
    (fits ? enough : too_little) = middle;
  }
  return enough;
}

}  // namespace stepcast
