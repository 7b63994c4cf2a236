// SPDX-License-Identifier: Apache-2.0
// Priced plans as lines of JSON and of CSV: the index, the axes, the settled plan, the numbers.
//
// Keys and numbers are those of `project --format json`; numbers read back to the same bits. In CSV
// an axis keeps its whole name ("plan.tp") and the settled plan has plain ones ("tp"); what objects
// inside hold is "time.compute_s". CSV leaves the exchange of experts out where no model has any.
#pragma once

#include <string>
#include <vector>

#include "stepcast/sweep/chunk_result.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// Any number of threads may use it.
class PlanLines {
 public:
  explicit PlanLines(const SweepSpace& space);

  // {"index":..,"axes":{..},"plan":{..},"tokens_per_second_per_gpu":..,..,"time":{..},..}, without
  // the end of the line. A key of an axis that a value does not set is null.
  [[nodiscard]] std::string json(const PlanNumbers& numbers) const;
  [[nodiscard]] std::string csv_header() const;
  [[nodiscard]] std::string csv(const PlanNumbers& numbers) const;

 private:
  // An axis of more than one value, with each value as it stands in a line.
  struct AxisText {
    std::size_t axis = 0;
    std::vector<std::string> json;
    std::vector<std::string> csv;
  };

  [[nodiscard]] ParallelPlan plan_of(std::int64_t index) const;

  const SweepSpace* space_;
  std::vector<AxisText> axes_;
  bool experts_ = false;
};

}  // namespace stepcast
