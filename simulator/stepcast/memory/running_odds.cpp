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

// The mean of the logarithms at which the odds are `sure`.
double fullest(double sure, const MemoryErrors& errors) {
  return errors.centre + errors.scale * std::log((1.0 - sure) / (sure - errors.despite));
}

}  // namespace

double odds_of_running(const StageMemory& stage, Bytes capacity, const MemoryErrors& errors) {
  const Need need = need_of(stage, capacity);
  const double x = 0.5 * (std::log(need.used / need.room) + std::log(need.in_use / need.room));
  return errors.despite +
         (1.0 - errors.despite) / (1.0 + std::exp((x - errors.centre) / errors.scale));
}

Bytes most_memory(Bytes capacity, double sure, const MemoryErrors& errors) {
  return std::exp(fullest(sure, errors)) * capacity;
}

// With d less of both: (used - d) (in use - d) = room^2 exp(2 x).
Bytes missing_memory(const StageMemory& stage, Bytes capacity, double sure,
                     const MemoryErrors& errors) {
  const Need need = need_of(stage, capacity);
  const double most = most_memory(need.room, sure, errors).value();
  const double sum = need.used.value() + need.in_use.value();
  const double apart = need.in_use.value() - need.used.value();
  return max(Bytes{}, Bytes(0.5 * (sum - std::hypot(apart, 2.0 * most))));
}

}  // namespace stepcast
