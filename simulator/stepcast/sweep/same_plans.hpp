// SPDX-License-Identifier: Apache-2.0
// Indices that stand for the same plan: where a key makes no difference to a plan, only the first
// value of its axis is kept.
//
//   sequence_parallel   without tensor parallelism
//   cp_algorithm        without context parallelism
//   fsdp_reshard        where parameters are not sharded
//   zero 0, 1, 2        where there is one replica
//   dispatcher          where one rank has all experts, unless its kernels run there, too
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// Any number of threads may use it.
class SamePlans {
 public:
  explicit SamePlans(const SweepSpace& space);
  // Whether an index before `index` is settled to the same plan, which is `plan`.
  [[nodiscard]] bool repeats(std::int64_t index, const ParallelPlan& plan) const;

 private:
  // What an axis sets, if it can make no difference.
  struct Axis {
    std::size_t place = 0;
    bool sequence_parallel = false;
    bool cp_algorithm = false;
    bool reshard = false;
    std::vector<std::size_t> unsharded;  // of an axis over zero: values 0 to 2
    // Of an axis over dispatchers: those that do nothing where one rank has all experts.
    std::vector<std::size_t> between_ranks;
  };

  const SweepSpace* space_;
  std::vector<Axis> axes_;
};

}  // namespace stepcast
