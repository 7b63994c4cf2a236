// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/held_out.hpp"

#include <fstream>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/validation/validate.hpp"

namespace stepcast::held_out_test {
using stepcast::test::data_root;

namespace {

ValidationRow run(const std::string& id, double error, bool held_out, const std::string& gpu) {
  ValidationRow row;
  row.file = "runs.jsonl";
  row.id = id;
  row.gpu = gpu;
  row.group = "g";
  row.metric = "step_time_s";
  row.measured = 1.0;
  row.predicted = 1.0 + error;
  row.family = "dense";
  row.held_out = held_out;
  row.at_unit_rate = 1.0;
  return row;
}

}  // namespace

TEST_CASE("About half of all keys are held out, and always the same", "[unit]") {
  // Fixed for good: another half would be another set of measurements.
  CHECK(is_held_out("a") == true);
  CHECK(is_held_out("b") == false);
  CHECK(is_held_out("") == false);
  CHECK(is_held_out("simumax") == true);
  int held = 0;
  for (int i = 0; i < 1000; ++i) {
    held += is_held_out("run " + std::to_string(i)) ? 1 : 0;
  }
  CHECK(held > 400);
  CHECK(held < 600);
}

TEST_CASE("The accuracy file has the errors of held-out runs alone, each run once", "[unit]") {
  std::vector<ValidationRow> rows = {
      run("a", 0.1, true, "h100_sxm"), run("b", -0.3, true, "h100_sxm"),
      run("c", 0.9, false, "h100_sxm"), run("d", 0.05, true, "b200")};
  rows.insert(rows.begin() + 1, rows[0]);
  rows[1].metric = "tokens_per_second_per_gpu";
  const std::string text = validation_to_accuracy(rows);
  CHECK(text.find("h100_sxm:\n    dense: {runs: 2, median: 0.20, p90: 0.28}") != std::string::npos);
  CHECK(text.find("b200:\n    dense: {runs: 1, median: 0.050, p90: 0.050}") != std::string::npos);
}

TEST_CASE("A projection's error is that of held-out runs on its GPU and of its family", "[unit]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "stepcast_held_out_test";
  std::filesystem::create_directories(folder / "hardware_profiles");
  const DataRoot root{folder};
  CHECK(load_accuracy(root).empty());
  std::ofstream(root.accuracy())
      << "source: s\ngpus:\n  h100_sxm:\n    dense: {runs: 23, median: 0.09, p90: 0.21}\n";
  const std::vector<ExpectedError> known = load_accuracy(root);
  REQUIRE(known.size() == 1);
  Experiment experiment;
  experiment.cluster.device.name = "h100_sxm";
  const ExpectedError dense = expected_error(known, experiment);
  CHECK(dense.runs == 23);
  CHECK(expected_error_text(dense) ==
        "+-9.0 % (median of 23 held-out runs on h100_sxm, dense; 90 % of them within 21 %)");
  experiment.model.moe = MoeSpec{};
  const ExpectedError moe = expected_error(known, experiment);
  CHECK(moe.runs == 0);
  CHECK(expected_error_text(moe) == "not known: no measured run of h100_sxm, moe was held out");
  std::ofstream(root.accuracy()) << "source: s\ngpus:\n  h100_sxm:\n    dense: {runs: 0, median: "
                                    "-1, p90: 0.2}\n    moe: {runs: 3}\n";
  try {
    load_accuracy(root);
    FAIL("a wrong file was taken");
  } catch (const ConfigError& error) {
    CHECK(error.diagnostics().size() == 4);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("The shipped accuracy file names GPUs that have a profile", "[unit]") {
  const std::vector<std::string> gpus = names_in(data_root().gpus());
  const std::vector<ExpectedError> known = load_accuracy(data_root());
  CHECK(known.size() > 10);
  for (const ExpectedError& entry : known) {
    CHECK(std::find(gpus.begin(), gpus.end(), entry.gpu) != gpus.end());
    CHECK(entry.runs > 0);
    CHECK(entry.median <= entry.p90);
  }
}

}  // namespace stepcast::held_out_test
