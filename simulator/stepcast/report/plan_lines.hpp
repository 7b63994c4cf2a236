// SPDX-License-Identifier: Apache-2.0
// Plans as lines of JSON and of CSV: the index, the axes, the settled plan, the numbers; of a plan
// that cannot run the index, the axes and why.
//
// Keys and numbers are those of `project --format json`; numbers read back to the same bits. In CSV
// an axis has the last part of its name ("tp" of "plan.tp") unless two would be called the same,
// and a key of the plan that is swept stands there alone, as it was settled; what objects inside
// hold is "time.compute_s". CSV leaves the exchange of experts out where no model has any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/sweep/shown_plans.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// Whether a line tells the memory of the fullest pipeline rank by kind, which is found again.
enum class PlanDetail { kNumbers, kMemoryByKind };

// Any number of threads may use it.
class PlanLines {
 public:
  explicit PlanLines(const SweepSpace& space, PlanDetail detail = PlanDetail::kNumbers);

  // {"index":..,"axes":{..},"plan":{..},"tokens_per_second_per_gpu":..,..,"time":{..},..}, without
  // the end of the line. A key of an axis that a value does not set is null.
  [[nodiscard]] std::string json(const PlanNumbers& numbers) const;
  [[nodiscard]] std::string csv_header() const;
  [[nodiscard]] std::string csv(const PlanNumbers& numbers) const;
  // Of a plan that cannot run.
  [[nodiscard]] std::string json(const RefusedPlan& refused) const;
  [[nodiscard]] std::string csv(const RefusedPlan& refused) const;

 private:
  // A key of an axis of more than one value, with each value as it stands in a line.
  struct AxisKey {
    std::size_t axis = 0;
    std::string key;     // "plan.tp"
    std::string column;  // "tp"
    std::optional<std::size_t> plan_column;
    std::vector<std::string> json;
    std::vector<std::string> csv;
  };
  [[nodiscard]] std::vector<AxisKey> axis_keys() const;
  [[nodiscard]] bool is_swept(std::size_t plan_column) const;
  template <typename Writer>
  void write_axes(std::int64_t index, Writer& writer) const;
  template <typename Writer>
  void write_numbers(const PlanNumbers& numbers, const SettledRequest& settled,
                     Writer& writer) const;

  const SweepSpace* space_;
  PlanDetail detail_;
  bool experts_ = false;
  std::vector<std::string> plan_columns_;
  std::vector<AxisKey> keys_;
};

}  // namespace stepcast
