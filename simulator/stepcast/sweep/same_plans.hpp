// SPDX-License-Identifier: Apache-2.0
// Indices that stand for the same plan: where a key makes no difference to a plan (PlanKey::idle),
// of the values that set it alone only the first is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// Any number of threads may use it.
class SamePlans {
 public:
  explicit SamePlans(const SweepSpace& space);
  // Whether an index before `index` is settled to the same plan, which is `plan`.
  [[nodiscard]] bool repeats(std::int64_t index, const ParallelPlan& plan) const;

 private:
  // A value of an axis that sets one key alone, to what is asked.
  struct Value {
    std::size_t digit = 0;
    PlanRequest asked;
  };
  // The values of an axis that set the same key, in the order of the axis.
  struct Alike {
    std::size_t axis = 0;
    const PlanKey* key = nullptr;
    std::vector<Value> values;
  };

  const SweepSpace* space_;
  std::vector<Alike> alike_;
};

}  // namespace stepcast
