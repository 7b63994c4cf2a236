// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/comparison_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/plan_fields.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/time_rows.hpp"
#include "stepcast/report/training_run_report.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

Json options_json(const ComparedColumn& column) {
  Json options = Json::object();
  for (const auto& [option, value] : column.options) {
    options[option] = value;
  }
  return options;
}

Json searched_json(const SearchedPlans& searched) {
  Json refused = Json::object();
  for (const auto& [reason, plans] : searched.refused) {
    refused[reason] = plans;
  }
  Json settings = Json::object();
  for (const auto& [key, value] : searched.settings) {
    settings[key] = value;
  }
  return {{"plans", searched.plans},
          {"priced", searched.priced},
          {"bounded", searched.bounded},
          {"refused", refused},
          {"settings", settings}};
}

std::string number(std::optional<double> value) { return value ? shortest_text(*value) : ""; }

// The values of a plan, each after a comma; or the names of its columns.
class CsvPlan {
 public:
  explicit CsvPlan(bool header) : header_(header) {}
  void field(std::string_view key, std::int64_t value) { add(key, std::to_string(value)); }
  void field(std::string_view key, bool value) { add(key, value ? "true" : "false"); }
  void field(std::string_view key, std::string_view value) { add(key, std::string(value)); }
  // The exchange of experts is left out, but for its dispatcher.
  void begin(std::string_view) { inside_ = true; }
  void end() { inside_ = false; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t fields() const { return fields_; }

 private:
  void add(std::string_view key, const std::string& value) {
    if (!inside_) {
      text_ += "," + (header_ ? std::string(key) : csv_cell(value));
      ++fields_;
    }
  }

  bool header_;
  bool inside_ = false;
  std::size_t fields_ = 0;
  std::string text_;
};

// The plan of a column, and how many were looked at where it was searched.
std::string plan_cells(const ComparedColumn& column) {
  const Projection& p = column.projection;
  CsvPlan plan(false);
  write_plan(p.plan, plan);
  plan.field("micro_batch_size", p.training.micro_batch_size);
  plan.field("recompute", name(p.training.recompute.kind));
  const std::string cells = column.has_plan() ? plan.text() : std::string(plan.fields(), ',');
  return column.searched ? cells + "," + std::to_string(column.searched->plans) + "," +
                               std::to_string(column.searched->priced)
                         : cells;
}

std::string plan_titles(bool searched) {
  CsvPlan plan(true);
  write_plan(ParallelPlan{}, plan);
  return plan.text() + ",micro_batch_size,recompute" +
         (searched ? ",plans_searched,plans_priced" : "");
}

constexpr std::string_view kInput = "model gpu gpus software feasible tokens_per_second_per_gpu";
constexpr std::string_view kStep =
    "step_time_s model_tflops_per_gpu mfu clock_mhz power_w peak_memory_bytes";
constexpr std::string_view kIntervals = STEPCAST_INTERVAL_COLUMNS;
constexpr std::string_view kLast = "price_per_gpu_hour currency network reasons";

std::string csv_line(const ComparedColumn& column, const ComparedColumn* reference) {
  const Projection& p = column.projection;
  const Columns<Projection>& numbers = projection_columns();
  std::string text = csv_cell(column.label()) + "," + numbers.csv_cells(kInput, p) + "," +
                     (p.priced ? shortest_text(ratio(p, reference->projection)) : "") + "," +
                     numbers.csv_cells(kStep, p) + "," + number(column.price_per_million_tokens()) +
                     "," + numbers.csv_cells(kIntervals, p);
  for_each_time_key([&](const TimeRow& row) {
    text += ",";
    text += p.priced ? shortest_text(time_of_key(p.time.breakdown, row.key).value()) : "";
  });
  return text + plan_cells(column) + (asks_for_run(p) ? "," + training_run_cells(p) : "") + "," +
         numbers.csv_cells(kLast, p) + "\n";
}

bool any_feasible(const std::vector<ComparedColumn>& columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [](const ComparedColumn& column) { return column.projection.feasible; });
}

}  // namespace

nlohmann::ordered_json comparison_to_json(const std::vector<ComparedColumn>& columns,
                                          const std::string& version) {
  Json json = {{"schema_version", kJsonSchemaVersion},
               {"context", {{"program", "stepcast"}}},
               {"feasible", any_feasible(columns)},
               {"comparison", Json::array()},
               {"columns", Json::array()}};
  const ComparedColumn* reference = reference_of(columns);
  for (const ComparedColumn& column : columns) {
    Json row = {{"label", column.label()}, {"options", options_json(column)}};
    if (column.projection.priced) {
      row["ratio"] = ratio(column.projection, reference->projection);
      if (&column != reference) {
        row["told_apart"] = can_be_told_apart(column.projection, reference->projection);
      }
    }
    if (const std::optional<double> price = column.price_per_million_tokens()) {
      row["price_per_gpu_hour"] = column.projection.gpu_hour->price;
      row["price_per_million_tokens"] = *price;
    }
    json["comparison"].push_back(std::move(row));
    Json whole = to_json(column.projection);
    whole["context"]["version"] = version;
    if (column.searched) {
      whole["searched"] = searched_json(*column.searched);
    }
    if (!column.has_plan()) {
      whole["context"]["input"].erase("plan");
    }
    json["columns"].push_back(std::move(whole));
  }
  return json;
}

std::string comparison_to_csv(const std::vector<ComparedColumn>& columns) {
  std::string text = "column," + Columns<Projection>::csv_titles(kInput) + ",ratio," +
                     Columns<Projection>::csv_titles(kStep) + ",price_per_million_tokens," +
                     Columns<Projection>::csv_titles(kIntervals);
  for_each_time_key([&text](const TimeRow& row) { text += "," + std::string(row.key); });
  text += plan_titles(columns.front().searched.has_value());
  text += asks_for_run(columns.front().projection)
              ? "," + Columns<Projection>::csv_titles(kRunColumns)
              : "";
  text += "," + Columns<Projection>::csv_titles(kLast) + "\n";
  const ComparedColumn* reference = reference_of(columns);
  for (const ComparedColumn& column : columns) {
    text += csv_line(column, reference);
  }
  return text;
}

}  // namespace stepcast
