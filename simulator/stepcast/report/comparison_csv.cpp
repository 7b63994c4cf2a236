// SPDX-License-Identifier: Apache-2.0
// A comparison as CSV: a line each column.
#include "stepcast/experiment/plan_fields.hpp"
#include "stepcast/plan/plan_text.hpp"
#include "stepcast/report/comparison_report.hpp"
#include "stepcast/report/plan_lines.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/related_columns.hpp"
#include "stepcast/report/step_rows.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kSearched = "plans:plans_searched priced:plans_priced";

// The plan of a column but for the exchange of experts, and how many were looked at where it was
// searched; or the titles of these cells.
std::string plan_cells(const ComparedColumn& column, CsvCells::Part part) {
  const Projection& p = column.projection;
  CsvCells plan(part, ExpertColumns::kLeftOut);
  write_plan(p.plan, plan);
  plan.field("micro_batch_size", p.training.micro_batch_size);
  plan.field("recompute", name(p.training.recompute.kind));
  std::string text;
  for (const std::string& cell : plan.cells()) {
    const bool empty = part == CsvCells::Part::kValues && !column.has_plan();
    text += "," + (empty ? "" : cell);
  }
  if (column.searched) {
    text += "," + (part == CsvCells::Part::kNames
                       ? Columns<SearchedPlans>::csv_titles(kSearched)
                       : searched_columns().csv_cells(kSearched, *column.searched));
  }
  return text;
}

constexpr std::string_view kInput = "model gpu gpus software feasible tokens_per_second_per_gpu";
constexpr std::string_view kStep =
    "step_time_s model_tflops_per_gpu mfu clock_mhz power_w peak_memory_bytes";
constexpr std::string_view kIntervals = STEPCAST_INTERVAL_COLUMNS;
constexpr std::string_view kLast = "price_per_gpu_hour currency network reasons";
// Of what relates the columns; behind all that was there before it.
constexpr std::string_view kAtEnd = "time_per_token_gpu_s";

std::string csv_line(const ComparedColumn& column, const ComparedColumn* reference) {
  const Projection& p = column.projection;
  const Columns<Projection>& numbers = projection_columns();
  const RelatedColumn related{column, reference};
  std::string text =
      related_columns().csv_cells("label", related) + "," + numbers.csv_cells(kInput, p) + "," +
      related_columns().csv_cells("ratio", related) + "," + numbers.csv_cells(kStep, p) + "," +
      related_columns().csv_cells("price_per_million_tokens", related) + "," +
      numbers.csv_cells(kIntervals, p);
  for_each_time_key([&](const TimeRow& row) {
    text += ",";
    text += p.priced ? shortest_text(time_of_key(p.time.breakdown, row.key).value()) : "";
  });
  return text + plan_cells(column, CsvCells::Part::kValues) +
         (asks_for_run(p) ? "," + training_run_cells(p) : "") + "," + numbers.csv_cells(kLast, p) +
         "," + related_columns().csv_cells(kAtEnd, related) + "\n";
}

}  // namespace

std::string comparison_to_csv(const std::vector<ComparedColumn>& columns) {
  std::string text = "column," + Columns<Projection>::csv_titles(kInput) + ",ratio," +
                     Columns<Projection>::csv_titles(kStep) + ",price_per_million_tokens," +
                     Columns<Projection>::csv_titles(kIntervals);
  for_each_time_key([&text](const TimeRow& row) { text += "," + std::string(row.key); });
  text += plan_cells(columns.front(), CsvCells::Part::kNames);
  text += asks_for_run(columns.front().projection)
              ? "," + Columns<Projection>::csv_titles(kRunColumns)
              : "";
  text += "," + Columns<Projection>::csv_titles(kLast) + "," +
          Columns<RelatedColumn>::csv_titles(kAtEnd) + "\n";
  const ComparedColumn* reference = reference_of(columns);
  for (const ComparedColumn& column : columns) {
    text += csv_line(column, reference);
  }
  return text;
}

}  // namespace stepcast
