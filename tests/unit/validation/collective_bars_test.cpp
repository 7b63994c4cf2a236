// SPDX-License-Identifier: Apache-2.0
// What the model of collectives must reach on measured and published curves.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "importers/measurement_files.hpp"
#include "sample_specs.hpp"
#include "stepcast/validation/validate.hpp"

namespace stepcast::collective_bars_test {
using stepcast::test::data_root;

namespace {

std::vector<ValidationRow> validated(const std::filesystem::path& file) {
  return validate_files({file}, data_root(), default_cost_model(), all_importers());
}

std::vector<ValidationRow> shipped(const std::string& name) {
  return validated(data_root().folder / "tests/validation" / name);
}

// Rows of a curve come by growing size. A single call that took more than 1.5 times as long as both
// of its neighbours was disturbed.
std::vector<double> errors_without_outliers(const std::vector<ValidationRow>& curve) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double limit = curve[i].measured / 1.5;
    const bool above_last = i == 0 || curve[i - 1].measured < limit;
    const bool above_next = i + 1 < curve.size() && curve[i + 1].measured < limit;
    if (!(above_last && above_next)) {
      errors.push_back(std::abs(curve[i].error()));
    }
  }
  return errors;
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

double percent_off(const std::vector<ValidationRow>& rows, const std::string& group) {
  std::vector<double> errors;
  for (const ValidationRow& row : rows) {
    if (row.group == group) {
      REQUIRE(row.predicted.has_value());
      errors.push_back(std::abs(row.error()));
    }
  }
  INFO(group);
  REQUIRE_FALSE(errors.empty());
  return 100.0 * mean(errors);
}

}  // namespace

TEST_CASE("NCCL under PyTorch on four H200 is predicted, but for single disturbed calls",
          "[validation]") {
  std::map<std::string, std::vector<ValidationRow>> curves;
  for (const ValidationRow& row : shipped("h200/collectives.jsonl")) {
    const std::size_t end = std::min(row.group.find(" below"), row.group.find(" bound"));
    curves[row.group.substr(0, end)].push_back(row);
  }
  std::vector<double> large;
  std::vector<double> small;
  std::size_t outliers = 0;
  for (const auto& [name, curve] : curves) {
    // Below 4 MiB and above are judged apart, but a curve's neighbours are its neighbours.
    const std::vector<double> errors = errors_without_outliers(curve);
    outliers += curve.size() - errors.size();
    const std::size_t large_rows = 9;
    REQUIRE(errors.size() > large_rows);
    large.insert(large.end(), errors.end() - large_rows, errors.end());
    small.insert(small.end(), errors.begin(), errors.end() - large_rows);
  }
  CHECK(curves.size() == 5);
  CHECK(outliers == 4);
  CHECK(mean(large) <= 0.08);
  CHECK(mean(small) <= 0.10);
}

TEST_CASE("the library's choice of protocol follows the measured curves", "[validation]") {
  const std::vector<ValidationRow> rows = shipped("h200/collective_protocols.jsonl");
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"}) {
    CHECK(percent_off(rows, std::string("h200_sxm ") + op + " auto") <= 8.0);
  }
  for (const char* op : {"all_reduce", "all_gather"}) {
    CHECK(percent_off(rows, std::string("h200_sxm ") + op + " ring ll128") <= 8.0);
    CHECK(percent_off(rows, std::string("h200_sxm ") + op + " ring simple") <= 8.0);
  }
}

TEST_CASE("all-reduce on MI300X is predicted at every size from 64 KiB and on two nodes",
          "[validation]") {
  const std::vector<ValidationRow> rows = shipped("published_collectives.jsonl");
  std::size_t seen = 0;
  for (const ValidationRow& row : rows) {
    INFO(row.group << ", row " << row.id);
    const bool node = row.group == "mi300x all_reduce x8" || row.group == "mi300x all_reduce x2";
    if (node || row.group.starts_with("mi300x all_reduce 2 nodes")) {
      ++seen;
      CHECK((std::abs(row.error()) <= 0.10 || row.group.ends_with("untuned")));
    }
  }
  CHECK(seen == 20);
  CHECK(percent_off(rows, "mi325x all_reduce") <= 5.0);
  CHECK(percent_off(rows, "mi300x expected 2 nodes") <= 6.0);
  CHECK(percent_off(rows, "nvidia 32 GPUs") <= 5.0);
}

TEST_CASE("NCCL's curves on A100 to GB300 are predicted", "[.shared]") {
  const std::vector<ValidationRow> rows =
      validated(data_root().folder.parent_path() / "shared/measured/published/nccl_points.csv");
  std::set<std::string> groups;
  for (const ValidationRow& row : rows) {
    groups.insert(row.group);
  }
  std::size_t large = 0;
  for (const std::string& group : groups) {
    const bool below = group.ends_with(" below 1 MiB");
    large += below ? 0U : 1U;
    CHECK(percent_off(rows, group) <= (below ? 30.0 : 8.0));
  }
  CHECK(large == 23);
}

}  // namespace stepcast::collective_bars_test
