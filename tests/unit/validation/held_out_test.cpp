// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/held_out.hpp"

#include <fstream>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "importers/measurement_files.hpp"
#include "importers/published_names.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/report/validation_report.hpp"
#include "stepcast/validation/error_summary.hpp"
#include "stepcast/validation/validate.hpp"
#include "text_file.hpp"

namespace stepcast::held_out_test {
using stepcast::test::data_root;

namespace {

ValidationRow run(const std::string& id, double error, bool held_out, const std::string& gpu) {
  ValidationRow row;
  row.file = "runs.jsonl";
  row.id = id;
  row.gpu = gpu;
  row.group = "g";
  row.metric = Metric::kStepTime;
  row.measured = 1.0;
  row.predicted = 1.0 + error;
  row.held_out = held_out;
  row.traits = RunTraits{.gpu = gpu,
                         .architecture = "sm90",
                         .vendor = "nvidia",
                         .family = AccuracyFamily::kDense,
                         .software = "nemo",
                         .gpus = 8,
                         .source = "s"};
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
      run("c", 0.9, false, "h100_sxm"), run("d", 0.05, true, "h200_sxm")};
  rows.insert(rows.begin() + 1, rows[0]);
  rows[1].metric = Metric::kTokenRate;
  const std::string text = validation_to_accuracy(rows);
  const std::string runs = text.substr(text.find("  \"gpus\":"));
  // A step that takes 1.1 s instead of the measured 1 s has exp(0.095) too few tokens/s.
  CHECK(runs == R"(  "gpus": {
    "h100_sxm": {"architecture": "sm90", "vendor": "nvidia"},
    "h200_sxm": {"architecture": "sm90", "vendor": "nvidia"}
  },
  "runs": [
    {"gpu": "h100_sxm", "family": "dense", "dtype": "bf16", "software": "nemo", "stack": "tuned", )"
                R"("source": "s", "gpus": [8, 8], "errors": [0.095, -0.357]},
    {"gpu": "h200_sxm", "family": "dense", "dtype": "bf16", "software": "nemo", "stack": "tuned", )"
                R"("source": "s", "gpus": [8], "errors": [0.049]}
  ]
}
)");
}

TEST_CASE("The accuracy file is read with all of its problems at once", "[unit]") {
  const std::filesystem::path folder = test::scratch_path("held_out");
  std::filesystem::create_directories(folder / "hardware_profiles");
  const DataRoot root{folder};
  CHECK(load_accuracy(root).empty());
  std::ofstream(root.accuracy()) << validation_to_accuracy({run("a", 0.1, true, "h100_sxm")});
  const std::vector<HeldOutRun> known = load_accuracy(root);
  REQUIRE(known.size() == 1);
  CHECK(known[0].error == 0.095);
  CHECK(known[0].traits.architecture == "sm90");
  CHECK(known[0].traits.gpus == 8);
  CHECK(known[0].traits.source == "s");
  std::ofstream(root.accuracy())
      << R"({"source": "s", "gpus": {"h100_sxm": {"architecture": "sm90"}}, "runs": )"
         R"([{"gpu": "h200_sxm", "family": "cow", "dtype": "bf16", "gpus": [8, 0], )"
         R"("software": "nemo", "stack": "wild", "source": "s", "errors": [0.1]}]})";
  try {
    load_accuracy(root);
    FAIL("a wrong file was taken");
  } catch (const ConfigError& error) {
    CHECK(error.diagnostics().size() == 6);  // vendor, gpu, family, stack, gpus, errors
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("The shipped accuracy file names GPUs that have a profile", "[unit]") {
  const std::vector<std::string> gpus = names_in(data_root().gpus());
  const std::vector<HeldOutRun> known = load_accuracy(data_root());
  CHECK(known.size() > 100);
  for (const HeldOutRun& run : known) {
    CAPTURE(run.traits.gpu, run.traits.source);
    CHECK(std::find(gpus.begin(), gpus.end(), run.traits.gpu) != gpus.end());
    CHECK(run.traits.source != "SimuMax");  // all of its runs were in view
  }
}

TEST_CASE("Runs of one publisher are of one source, whichever release they are from", "[unit]") {
  for (const char* key : {"mlperf-training", "mlperf-training-v6.0"}) {
    CHECK(published_source(key).id == "training_results");
  }
  for (const char* key : {"torchtitan", "torchtitan-pr-deepep"}) {
    CHECK(published_source(key).id == "torchtitan");
  }
  CHECK(published_source("rocm-te-issues").id == "TransformerEngine");
  CHECK(published_source("pytorch-blog-nebius-b200").id == "pytorch.org");
  CHECK(published_source("simumax-b200").in_view);
  CHECK(published_source("somebody").id == "somebody");
  CHECK(published_source("").id.empty());
}

TEST_CASE("A record says of which source it is; without that its file is the source", "[unit]") {
  const std::string run =
      R"({"experiment": {"model": "llama3.1_8b", "cluster": {"gpu": "h100_sxm"},)"
      R"( "training": {"sequence_length": 4096, "global_batch_size": 8}, "plan": {}},)"
      R"( "measured": {"step_time_s": 1})";
  const test::TextFile file("sources", run + R"(, "source_id": "nemo"})" + "\n" + run + "}");
  const std::vector<ValidationRow> rows =
      validate_files({file.path()}, data_root(), default_cost_model(), all_importers());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].traits->source == "nemo");
  CHECK(rows[1].traits->source == file.path().filename());
}

TEST_CASE("Coverage counts the runs that lie inside what is stated of them", "[unit]") {
  std::vector<ValidationRow> rows;
  for (const double error : {0.0, 0.02, 0.11, -0.3}) {
    ValidationRow& row = rows.emplace_back(run(std::to_string(rows.size()), error, true, "b200"));
    row.expected_error.emplace().distribution = ErrorDistribution{.spread = 0.08, .degrees = 1e9};
  }
  rows.back().held_out = false;
  // exp(+-0.08 * 1.2816) = 0.903 to 1.108; 1 / 1.11 = 0.901 is outside, but inside of 90 %.
  const std::vector<IntervalCoverage> groups = interval_coverage(rows);
  REQUIRE(groups.size() == 4);
  CHECK(groups[0].group == "dense, GPU of other sources too");
  CHECK(groups[0].runs == 3);
  CHECK(groups[0].sources == 1);
  CHECK(groups[0].inside_80 == Approx(2.0 / 3.0));
  CHECK(groups[0].inside_90 == Approx(1.0));
  CHECK(groups[0].half_width_80 == Approx(0.1027).epsilon(0.001));
  // The width, and ten times what the third run lies outside: 1.11 - 1.10796 = 0.00204.
  CHECK(groups[0].score_80 == Approx(0.20541 + 10.0 * 0.00204 / 3.0).epsilon(0.001));
  CHECK(groups[1].group == "tuned by its makers");
  CHECK(groups[2].group == "all");
  CHECK(groups[3].runs == 4);
  CHECK(groups[3].inside_90 == Approx(0.75));
  CHECK(coverage_to_text({}).empty());
}

TEST_CASE("A record says whose stack ran; without that its software set does", "[unit]") {
  const std::string run =
      R"({"experiment": {"model": "llama3.1_8b", "cluster": {"gpu": "h100_sxm"},)"
      R"( "training": {"sequence_length": 4096, "global_batch_size": 8}, "plan": {},)"
      R"( "software": "nemo"}, "measured": {"step_time_s": 1})";
  const test::TextFile file("stacks", run + R"(, "stack": "as_it_comes"})" + "\n" + run + "}");
  const std::vector<ValidationRow> rows =
      validate_files({file.path()}, data_root(), default_cost_model(), all_importers());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].traits->stack == Stack::kAsItComes);
  CHECK(rows[1].traits->stack == Stack::kTuned);
}

TEST_CASE("Runs are counted by how sure to run they were told", "[unit]") {
  std::vector<ValidationRow> rows;
  for (const auto& [odds, ran] : {std::pair(0.96, 1.0), {0.97, 0.0}, {1.0, 1.0}, {0.05, 0.0}}) {
    ValidationRow& row = rows.emplace_back();
    row.metric = Metric::kFits;
    row.odds = odds;
    row.measured = ran;
  }
  const std::vector<ToldOdds> told = told_odds(rows);
  REQUIRE(told.size() == 3);
  CHECK(told[0].to == 0.1);
  CHECK(told[1].from == 0.95);
  CHECK(told[1].runs == 2);
  CHECK(told[1].told == Approx(0.965));
  CHECK(told[1].ran == 0.5);
  CHECK(told[2].ran == 1.0);
}

}  // namespace stepcast::held_out_test
