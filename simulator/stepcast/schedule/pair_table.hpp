// SPDX-License-Identifier: Apache-2.0
// What the pairs of a step save (paired_passes.hpp), by the stages of their forward and backward.
#pragma once

#include <vector>

#include "stepcast/schedule/step_time.hpp"

namespace stepcast {

class PairTable {
 public:
  // Pairs of equal stages are solved once.
  PairTable(const StepWork& work, const StepTasks& tasks, const std::vector<StageTime>& stages,
            const std::vector<StagePair>& pairs, const SoftwareSpec& software);

  // Null where no pairs were given.
  [[nodiscard]] const TimeBreakdown* find(const StagePair& pair) const {
    return saved_.empty() ? nullptr : &saved_[pair.forward * stages_ + pair.backward];
  }
  [[nodiscard]] PairSavings totals() const;

 private:
  TimeBreakdown& at(const StagePair& pair) {
    return saved_[pair.forward * stages_ + pair.backward];
  }

  std::size_t stages_;
  std::vector<TimeBreakdown> saved_;  // forward-major
};

}  // namespace stepcast
