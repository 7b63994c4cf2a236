// SPDX-License-Identifier: Apache-2.0
#include "importers/measurement_files.hpp"

#include <fstream>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/project.hpp"
#include "text_file.hpp"
#include "trace_reader/predicted_categories.hpp"
#include "unit/trace_reader/made_database.hpp"

namespace stepcast::trace_rows_test {
using stepcast::test::data_root;

namespace {

const char* const kTrace = R"({"traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "nvjet_a", "ts": 0, "dur": 100000},
  {"ph": "X", "cat": "kernel", "name": "unheard of", "ts": 100000, "dur": 10}]})";
const char* const kSteps =
    R"({"case": "mine", "model": "m", "layers": 2, "seq": 4096, "mbs": 1, "mode": "local", "ac": "none",
        "world": 1, "step_s": 0.1, "arch": {"hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128,
        "ffn": 14336, "vocab": 128256}})";

class Folder {
 public:
  Folder() : path_(test::scratch_path("trace_rows")) {
    std::filesystem::create_directories(path_ / "traces");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::filesystem::path write(const char* name, std::string text) const {
    std::ofstream stream(path_ / name);
    for (char& c : text) {  // one line
      c = c == '\n' ? ' ' : c;
    }
    stream << text << "\n";
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("A trace is compared with the step that its file name names", "[unit]") {
  const Folder folder;
  const std::filesystem::path steps = folder.write("steps.jsonl", kSteps);
  const std::filesystem::path trace = folder.write("traces/mine.json", kTrace);
  ProfileCache profiles(data_root());
  const std::vector<ValidationRow> rows =
      trace_rows(trace, std::nullopt, profiles, default_cost_model());
  REQUIRE(rows.size() == 2);  // what the trace has not and what is not known is not compared
  CHECK(rows[0].metric == Metric::kStepTime);
  CHECK(rows[0].measured == Approx(0.10001));
  CHECK(rows[1].metric_text() == "category_s:gemm");
  CHECK(rows[1].measured == Approx(0.1));
  CHECK(rows[1].group == "h200_sxm trace dense");
  CHECK(rows[1].predicted.value_or(0.0) > 0.0);
}

TEST_CASE("A trace of an unknown step asks for the experiment", "[unit]") {
  const Folder folder;
  const std::filesystem::path trace = folder.write("traces/other.json", kTrace);
  const std::filesystem::path steps = folder.write("steps.jsonl", kSteps);
  ProfileCache profiles(data_root());
  CHECK_THROWS_WITH(trace_rows(trace, std::nullopt, profiles, default_cost_model()),
                    test::contains_text("give --experiment FILE"));
  const Experiment given = load_experiment(test::shipped_experiments().front(), {}, data_root());
  CHECK(trace_rows(trace, given, profiles, default_cost_model()).size() == 2);
}

TEST_CASE("A trace of another GPU is one row that is left out with its reason", "[unit]") {
  const Folder folder;
  const std::string devices =
      R"({"deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X OAM"}],)";
  const std::filesystem::path trace =
      folder.write("traces/mine.json", devices + std::string(kTrace).substr(1));
  const std::filesystem::path steps = folder.write("steps.jsonl", kSteps);
  ProfileCache profiles(data_root());
  const std::vector<ValidationRow> rows =
      trace_rows(trace, std::nullopt, profiles, default_cost_model());
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].skipped ==
        "the trace was taken on 'AMD Instinct MI300X OAM', which is mi300x; the experiment is on "
        "h200_sxm");
  CHECK_FALSE(rows[0].predicted);
  const std::string same = R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],)";
  const std::filesystem::path own =
      folder.write("traces/mine.json", same + std::string(kTrace).substr(1));
  CHECK(trace_rows(own, std::nullopt, profiles, default_cost_model()).size() == 2);
}

TEST_CASE("A step that others ran before is compared in the steady state, one without marks is not",
          "[unit]") {
  const Folder folder;
  const Experiment experiment = load_experiment(
      data_root().folder / "examples/12_llama3.1_405b_h100/experiment.yaml", {}, data_root());
  const CostModel cost = default_cost_model();
  ProfileCache profiles(data_root());
  const auto predicted = [&](const std::string& marks) {
    const std::string text = R"({"traceEvents": [)" + marks +
                             std::string(kTrace).substr(std::string(kTrace).find("{\"ph"));
    return trace_rows(folder.write("traces/mine.json", text), experiment, profiles, cost)
        .front()
        .predicted.value_or(0.0);
  };
  const auto state = [&](TraceState of) {
    return predicted_step(experiment, cost, of).step.value();
  };
  REQUIRE(state(TraceState::kAfterPause) < state(TraceState::kSteady));
  const std::string marks =
      R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "ts": 0, "dur": 90000},
         {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "ts": 90000, "dur": 90000},)";
  CHECK(predicted(marks) == Approx(state(TraceState::kSteady)));
  CHECK(predicted("") == Approx(state(TraceState::kAfterPause)));
}

// A database of rocprofv3 with one kernel of 2 us in a range that is called so, and one behind it.
std::string rocpd_bytes(const std::string& range) {
  return made_database_bytes(
      "CREATE TABLE rocpd_info_kernel_symbol_0(id INTEGER PRIMARY KEY, display_name);"
      "INSERT INTO rocpd_info_kernel_symbol_0 VALUES (1, 'Cijk_Alik');"
      "CREATE TABLE rocpd_event_0(id INTEGER PRIMARY KEY, stack_id, extdata);"
      "INSERT INTO rocpd_event_0 VALUES (1, 1, '{\"message\": \"" +
      range +
      "\"}');"
      "CREATE TABLE rocpd_region_0(id, start, \"end\", tid, event_id);"
      "INSERT INTO rocpd_region_0 VALUES (1, 0, 9000, 1, 1);"
      "CREATE TABLE rocpd_kernel_dispatch_0(id, start, \"end\", kernel_id);"
      "INSERT INTO rocpd_kernel_dispatch_0 VALUES (1, 1000, 3000, 1), (2, 20000, 25000, 1);");
}

TEST_CASE("A database of rocprofv3 is of the case that it is called by, and needs marked steps",
          "[unit]") {
  const Folder folder;
  const std::filesystem::path steps = folder.write("steps.jsonl", kSteps);
  const std::filesystem::path file = folder.write("traces/mine_results.db", "");
  ProfileCache profiles(data_root());
  const auto rows = [&](const std::string& range) {
    std::ofstream(file, std::ios::binary) << rocpd_bytes(range);
    return trace_rows(file, std::nullopt, profiles, default_cost_model());
  };
  const std::vector<ValidationRow> marked = rows("step 7");
  REQUIRE(marked.size() == 2);
  CHECK(marked[0].id == "mine");
  CHECK(marked[0].measured == Approx(2e-6));
  CHECK(marked[1].metric_text() == "category_s:gemm");
  const std::vector<ValidationRow> unmarked = rows("forward");
  REQUIRE(unmarked.size() == 1);
  CHECK(unmarked[0].skipped ==
        "no range is called a step with its number ('step 7'), so that it is not known which part "
        "of the recording is one");
}

TEST_CASE(
    "A step after a pause is not slower than in the steady state, and its categories are whole",
    "[unit]") {
  const Experiment experiment = load_experiment(
      data_root().folder / "examples/12_llama3.1_405b_h100/experiment.yaml", {}, data_root());
  const CostModel cost = default_cost_model();
  const PredictedStep after_pause = predicted_step(experiment, cost, TraceState::kAfterPause);
  const Projection steady = project(experiment, cost);
  REQUIRE(after_pause.priced);
  CHECK(after_pause.step <= steady.time.step);
  const BurstShare burst = burst_after_pause(experiment, cost);
  CHECK(burst.clock >= steady.clock);
  CHECK(burst.share > 0.0);
  CHECK(burst.share <= 1.0);
  Seconds all;
  for (const Seconds time : after_pause.device_time) {
    all += time;
  }
  CHECK(all > Seconds{});
}

}  // namespace stepcast::trace_rows_test
