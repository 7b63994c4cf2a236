// SPDX-License-Identifier: Apache-2.0
// The shipped measurements stay within their error budgets (tests/validation/budgets.yaml).
#include <cstdlib>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/validation/validate.hpp"

using namespace stepcast;
using stepcast::test::data_root;

namespace {

std::vector<ValidationRow> shipped_rows() {
  const std::filesystem::path folder = data_root().folder / "tests/validation";
  return validate_files({folder / "training_runs.jsonl", folder / "h200_steps.jsonl"}, data_root(),
                        default_cost_model());
}

}  // namespace

TEST_CASE("Every group of the shipped measurements is within its error budget", "[validation]") {
  const ConfigNode budgets = load_config(data_root().folder / "tests/validation/budgets.yaml");
  for (const ErrorSummary& summary : summarize(shipped_rows())) {
    if (summary.group == "all") {
      continue;
    }
    INFO(summary.group << " " << summary.metric);
    const ConfigNode* metric = budgets.find(summary.metric);
    REQUIRE(metric != nullptr);
    const ConfigNode* budget = metric->find(summary.group);
    REQUIRE(budget != nullptr);
    CHECK(100.0 * summary.median_abs_error <= std::strtod(budget->text.c_str(), nullptr));
  }
}

TEST_CASE("Every shipped measurement is predicted", "[validation]") {
  for (const ValidationRow& row : shipped_rows()) {
    INFO(row.id << ": " << row.skipped);
    CHECK(row.predicted.has_value());
  }
}

TEST_CASE("Of the whole set of published runs at least 95 % of grades A and B are predicted",
          "[.shared]") {
  const std::filesystem::path file =
      data_root().folder.parent_path() / "shared/measured/published/training_runs.jsonl";
  std::size_t predicted = 0;
  std::size_t all = 0;
  std::vector<double> errors_of_a;
  std::string last;
  for (const ValidationRow& row : validate_files({file}, data_root(), default_cost_model())) {
    const bool other_task = row.skipped.starts_with("feature unsupported: the task");
    if (row.group.ends_with(" C") || other_task || row.id == last ||
        row.metric == "peak_memory_bytes") {
      continue;
    }
    last = row.id;
    ++all;
    predicted += row.predicted ? 1 : 0;
    if (row.predicted && row.group.ends_with(" A")) {
      errors_of_a.push_back(std::abs(row.error()));
    }
  }
  CHECK(all > 400);
  CHECK(static_cast<double>(predicted) >= 0.95 * static_cast<double>(all));
  CHECK(quantile(errors_of_a, 0.5) <= 0.25);
}
