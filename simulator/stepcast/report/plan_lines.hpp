// SPDX-License-Identifier: Apache-2.0
// Plans as lines of JSON and of CSV: the index, the axes, the settled plan, the numbers; of a plan
// that cannot run the index, the axes and why.
//
// Keys and numbers are those of `project --format json`; numbers read back to the same bits. In CSV
// an axis has the last part of its name ("tp" of "plan.tp") unless two would be called the same,
// and a key of the plan that is swept stands there alone, as it was settled; what objects inside
// hold is "time.compute_s". CSV leaves the exchange of experts out where no model has any.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/sweep/shown_plans.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// Whether a line tells the memory of the fullest pipeline rank by kind, which is found again.
enum class PlanDetail { kNumbers, kMemoryByKind };

// Every number that is kept of a plan.
const Columns<PlanNumbers>& plan_number_columns();

// At the end of a line; a number as nlohmann writes it in every other report.
template <typename Number>
void append_value(std::string& line, Number value) {
  std::array<char, 64> digits{};
  if constexpr (std::is_same_v<Number, bool>) {
    line += value ? "true" : "false";
  } else if constexpr (std::is_integral_v<Number>) {
    line.append(digits.data(), std::to_chars(digits.data(), &digits.back(), value).ptr);
  } else {
    line.append(digits.data(),
                nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), value));
  }
}

// Whether the exchange of experts has columns.
enum class ExpertColumns { kLeftOut, kShown };

// The columns of a line of CSV, or its cells; those of objects inside as "object.key".
class CsvCells {
 public:
  enum class Part { kNames, kValues };
  CsvCells(Part part, ExpertColumns experts) : part_(part), experts_(experts) {}

  template <typename Value>
  void field(std::string_view key, const Value& value) {
    if (experts_ == ExpertColumns::kLeftOut && inner_ == "expert_exchange.") {
      return;
    }
    std::string& cell = cells_.emplace_back();
    if (part_ == Part::kNames) {
      cell = inner_ + std::string(key);
    } else if constexpr (std::is_arithmetic_v<Value>) {
      append_value(cell, value);
    } else {
      cell = csv_cell(std::string(value));
    }
  }
  void begin(std::string_view key) { inner_ = std::string(key) + "."; }
  void end() { inner_.clear(); }
  [[nodiscard]] const std::vector<std::string>& cells() const { return cells_; }

 private:
  Part part_;
  ExpertColumns experts_;
  std::string inner_;
  std::vector<std::string> cells_;
};

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
  void write_place(std::int64_t index, Writer& writer) const;
  template <typename Writer>
  void write_numbers(const PlanNumbers& numbers, const SettledRequest& settled,
                     Writer& writer) const;

  const SweepSpace* space_;
  PlanDetail detail_;
  ExpertColumns experts_ = ExpertColumns::kLeftOut;
  std::vector<std::string> plan_columns_;
  std::vector<AxisKey> keys_;
};

}  // namespace stepcast
