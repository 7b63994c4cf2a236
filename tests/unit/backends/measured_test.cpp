// SPDX-License-Identifier: Apache-2.0
// Tables of measurements: exact rows, rows between, nothing near, and files that are wrong.
#include <cmath>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "importers/measurement_files.hpp"
#include "sample_specs.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/experiment/explain.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/operator_lines/operator_line.hpp"
#include "stepcast/report/step_reports.hpp"
#include "text_file.hpp"

namespace stepcast::measured_test {
namespace {

using test::config_error;
using test::data_root;
using test::nearly;
using test::TextFile;

constexpr Hertz kClock(1.5e9);

const ClusterSpec& h200() {
  static const ClusterSpec machine = fabric_of(test::shipped_gpu("h200_sxm"));
  return machine;
}

MeasuredOperators operators_in(const std::filesystem::path& file) {
  ProfileCache profiles(data_root());
  return measured_operators(file, all_importers(), profiles);
}

// The default backends with the table `text` for `role`.
CostModel model_of(const std::string& role, const std::string& text) {
  const TextFile file("table", text);
  CostModel model = default_cost_model();
  use_backend(model, *find_backend(role, "measured"), operators_in(file.path()));
  return model;
}

OperatorLine line_of(const OpWork& work, ClockState state = {PowerState::kLocked, kClock}) {
  return {{.work = work}, Dtype::kBf16, state, Launch::kStream};
}

OpCost cost_of(const OpWork& work, const CostModel& model) {
  return price(line_of(work), model, h200(), Detail::kTerms).cost;
}

double modelled(const OpWork& work) { return cost_of(work, default_cost_model()).duration.value(); }

// A row of a product that took `ratio` times what the model says at 1.5 GHz.
std::string row(const Gemm& op, double ratio, const std::string& gpu = "h200_sxm") {
  return R"({"kind": "gemm", "m": )" + std::to_string(op.m) + R"(, "n": )" + std::to_string(op.n) +
         R"(, "k": )" + std::to_string(op.k) + R"(, "gpu": ")" + gpu +
         R"(", "state": {"locked_mhz": 1500}, "s": )" + shortest_text(ratio * modelled(op)) + "}\n";
}

TEST_CASE("an operator of the table takes its measured time and says so", "[unit]") {
  const Gemm op{4096, 4096, 4096};
  const CostModel model = model_of("gemm", row(op, 1.25));
  const OpCost cost = cost_of(op, model);
  CHECK(cost.duration.value() == nearly(1.25 * modelled(op)));
  CHECK(cost.origin == Origin::kMeasured);
  CHECK(cost_of(op, default_cost_model()).origin == Origin::kModel);
}

TEST_CASE("a row at a power state gives its time at that state again", "[unit]") {
  const Gemm op{16384, 8192, 8192};
  for (const PowerState power : {PowerState::kWarm, PowerState::kCool}) {
    const char* state = power == PowerState::kWarm ? "warm" : "cool";
    for (const double seconds : {3.0e-3, 4.5e-3}) {
      const CostModel model = model_of(
          "gemm", R"({"kind": "gemm", "m": 16384, "n": 8192, "k": 8192, "gpu": "h200_sxm", "s": )" +
                      shortest_text(seconds) + R"(, "state": ")" + state + "\"}");
      const PricedOp priced = price(line_of(op, {power, {}}), model, h200());
      CAPTURE(state, seconds);
      CHECK(priced.cost.duration.value() == Approx(seconds).epsilon(2e-4));
    }
  }
}

TEST_CASE("rows of one operator count by their geometric mean", "[unit]") {
  const Gemm op{4096, 4096, 4096};
  const CostModel model = model_of("gemm", row(op, 0.8) + row(op, 1.25));
  CHECK(cost_of(op, model).duration.value() == nearly(modelled(op)));
}

TEST_CASE("between rows the ratio is their mean in logarithms by inverse distance", "[unit]") {
  const Gemm op{4096, 4096, 4096};
  // One octave away, and one octave in each of two sizes: weights 1 and 1 / sqrt(2).
  const CostModel model =
      model_of("gemm", row({2048, 4096, 4096}, 1.2) + row({4096, 8192, 8192}, 0.9));
  const OpCost cost = cost_of(op, model);
  CHECK(cost.origin == Origin::kInterpolated);
  const double ratio =
      std::exp((std::log(1.2) + std::sqrt(0.5) * std::log(0.9)) / (1.0 + std::sqrt(0.5)));
  CHECK(cost.duration.value() == nearly(ratio * modelled(op)));
}

TEST_CASE("no more than the nearest eight rows have a say", "[unit]") {
  std::string rows = row({2048, 4096, 4096}, 3.0);
  for (const std::int64_t m : {3800, 3900, 4000, 4050, 4150, 4200, 4300, 4400}) {
    rows += row({m, 4096, 4096}, 1.1);
  }
  const Gemm op{4096, 4096, 4096};
  CHECK(cost_of(op, model_of("gemm", rows)).duration.value() == nearly(1.1 * modelled(op)));
}

TEST_CASE("without a row near the model is left as it is", "[unit]") {
  const CostModel model = model_of("gemm", row({4096, 4096, 4096}, 2.0));
  Gemm other_dtype{4096, 4096, 4096};
  other_dtype.dtype = Dtype::kFp8;
  Gemm other_pass{4096, 4096, 4096};
  other_pass.pass = GemmPass::kWgrad;
  const GroupedGemm grouped{.groups = 1, .m_total = 4096, .n = 4096, .k = 4096};
  for (const OpWork& work : {OpWork(Gemm{8193, 4096, 4096}), OpWork(Gemm{4096, 2047, 4096}),
                             OpWork(other_dtype), OpWork(other_pass), OpWork(grouped)}) {
    const OpCost cost = cost_of(work, model);
    CHECK(cost.origin == Origin::kFallback);
    CHECK(cost.duration.value() == modelled(work));
  }
  CHECK(cost_of(Gemm{8192, 4096, 4096}, model).origin == Origin::kInterpolated);
}

TEST_CASE("rows of another GPU are ignored", "[unit]") {
  const Gemm op{4096, 4096, 4096};
  const CostModel model = model_of("gemm", row(op, 2.0, "mi300x") + row({64, 64, 64}, 2.0));
  CHECK(cost_of(op, model).origin == Origin::kFallback);
  const ClusterSpec mi300x = fabric_of(test::shipped_gpu("mi300x"));
  CHECK(price(line_of(op), model, mi300x).cost.origin == Origin::kMeasured);
}

TEST_CASE("a measured operator still answers to the clock", "[unit]") {
  const Gemm op{8192, 8192, 8192};
  const CostModel model = model_of("gemm", row(op, 1.5));
  const auto at = [&](const CostModel& priced_with, double hertz) {
    return price_at_clock(line_of(op), priced_with, h200(), Hertz(hertz)).duration.value();
  };
  CHECK(at(model, 1.0e9) == nearly(1.5 * at(default_cost_model(), 1.0e9)));
  CHECK(at(model, 1.0e9) > at(model, 1.5e9));
}

TEST_CASE("the terms of a measured operator add up to its time", "[unit]") {
  const Gemm op{4096, 4096, 4096};
  const OpCost cost = cost_of(op, model_of("gemm", row(op, 1.37)));
  Seconds sum;
  for (const CostTerm& term : cost.terms) {
    sum += term.duration;
  }
  REQUIRE_FALSE(cost.terms.empty());
  CHECK(sum.value() == Approx(cost.duration.value()).epsilon(1e-9));
}

TEST_CASE("what only a step knows of an operator leaves it interpolated", "[unit]") {
  Gemm op{4096, 4096, 4096};
  const CostModel model = model_of("gemm", row(op, 1.2));
  op.accumulate = true;
  const OpCost cost = cost_of(op, model);
  CHECK(cost.origin == Origin::kInterpolated);
  CHECK(cost.duration.value() == nearly(1.2 * modelled(op)));
}

TEST_CASE("every role has a table", "[unit]") {
  const MemoryBound norm{MemoryBoundKind::kNorm, 4096, 4096};
  OpCost cost = cost_of(
      norm, model_of("memory_bound",
                     R"({"kind": "memory_bound", "op": "rms_norm", "rows": 4096, "cols": 4096,)"
                     R"( "gpu": "h200_sxm", "state": {"locked_mhz": 1500}, "s": 2e-4})"));
  CHECK(cost.origin == Origin::kMeasured);
  CHECK(cost.duration.value() == nearly(2e-4));
  Attention attention{1, 4096, 4096, 32, 8, 128, 128};
  attention.kernel = AttentionKernel::kCudnn;
  cost =
      cost_of(attention,
              model_of("attention", R"({"kind": "attention", "batch": 1, "seq": 4096, "heads": 32,)"
                                    R"( "kv_heads": 8, "d_qk": 128, "gpu": "h200_sxm",)"
                                    R"( "state": {"locked_mhz": 1500}, "s": 7e-4})"));
  CHECK(cost.origin == Origin::kMeasured);
  CHECK(cost.duration.value() == nearly(7e-4));
  const Collective reduce{CollectiveOp::kAllReduce, Bytes(1e8), {8, 1}, Axis::kTensor};
  cost = cost_of(reduce,
                 model_of("collective", R"({"kind": "collective", "op": "all_reduce", "ranks": 8,)"
                                        R"( "bytes": 100000000, "gpu": "h200_sxm", "s": 1e-3})"));
  CHECK(cost.origin == Origin::kMeasured);
  CHECK(cost.duration.value() == nearly(1e-3));
}

TEST_CASE("a table that is wrong is refused with its place", "[unit]") {
  const auto fault = [](const std::string& role, const std::string& text) {
    return config_error([&] { model_of(role, text); });
  };
  CHECK_THAT(fault("gemm", row({64, 64, 64}, 1.0) + R"({"kind": "gemm", "m": 0, "n": 64, "k": 64,)"
                                                    R"( "gpu": "h200_sxm", "s": 1e-5})"),
             test::contains_text("table:2:"));
  CHECK_THAT(fault("gemm", "no table\n"), test::contains_text("unknown format"));
  CHECK_THAT(fault("attention", row({64, 64, 64}, 1.0)),
             test::contains_text("no rows for the role 'attention'"));
  CHECK_THAT(config_error([] { operators_in("no/such/table.jsonl"); }),
             test::contains_text("no/such/table.jsonl"));
}

TEST_CASE("the file of an experiment's backend lies beside the experiment", "[unit]") {
  const ConfigNode root = parse_config(
      "model: llama3.1_8b\ncluster: {gpu: h200_sxm}\n"
      "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 64}\n"
      "backends: {gemm: 'measured:../tables/mine.jsonl', attention: roofline}\n",
      "experiment");
  const Experiment experiment = read_experiment(root, "some/folder", data_root());
  CHECK(experiment.backends.at("gemm") == "measured:some/tables/mine.jsonl");
  CHECK(experiment.backends.at("attention") == "roofline");
}

TEST_CASE("a backend reads several files, which commas part", "[unit]") {
  const BackendChoice choice = parse_backend_choice("measured:one.jsonl,two.csv");
  CHECK(choice.name == "measured");
  CHECK(choice.files == std::vector<std::string>{"one.jsonl", "two.csv"});
  CHECK(parse_backend_choice("tile").files.empty());
  CHECK(written_choice(choice, [](const std::string& file) { return "in/" + file; }) ==
        "measured:in/one.jsonl,in/two.csv");
  CHECK(written_choice(parse_backend_choice("tile"),
                       [](const std::string& file) { return "in/" + file; }) == "tile");
}

// A row that took what the experiment's own constants say is worth a ratio of 1 beside them, and
// not beside the part's.
TEST_CASE("rows are compared with the constants of kernels that the experiment brings", "[unit]") {
  std::string text = read_file(data_root().kernels() / "gh100.yaml", 1U << 20U);
  const std::string key = "  start_up: {value: ";
  const std::size_t at = text.find(key) + key.size();
  text.replace(at, text.find(" us", at) - at, "50");
  const TextFile kernels("kernels", text);
  const ConfigNode root = parse_config(
      "model: llama3.1_8b\ncluster: {gpu: h200_sxm, kernels: " + kernels.path().string() +
          "}\ntraining: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 64}\n",
      "experiment");
  Experiment experiment = read_experiment(root, "", data_root());
  REQUIRE(experiment.own_kernels);
  const Gemm op{4096, 4096, 4096};
  const ClusterSpec own = fabric_of(experiment.cluster.device);
  const double seconds =
      price(line_of(op), default_cost_model(), own, Detail::kTerms).cost.duration.value();
  CHECK(seconds > modelled(op) + 30e-6);
  const TextFile table("table",
                       R"({"kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "gpu": "h200_sxm",)"
                       R"( "state": {"locked_mhz": 1500}, "s": )" +
                           shortest_text(seconds) + "}\n");
  experiment.backends["gemm"] = "measured:" + table.path().string();
  const CostModel model = cost_model_of(experiment, data_root());
  const Gemm near{4096, 4096, 5000};
  const double plain =
      price(line_of(near), default_cost_model(), own, Detail::kTerms).cost.duration.value();
  CHECK(price(line_of(near), model, own, Detail::kTerms).cost.duration.value() == nearly(plain));
}

TEST_CASE("reports say how far a table reaches, and nothing without one", "[unit]") {
  const ConfigNode root = parse_config(
      "model: llama3.1_8b\ncluster: {gpu: h200_sxm}\n"
      "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 64}\n",
      "experiment");
  Experiment experiment = read_experiment(root, "", data_root());
  const Explanation plain = explain(experiment, default_cost_model());
  const std::size_t notes = plain.projection.notes.size();
  CHECK(to_text(plain, Detail::kDuration).find("origin") == std::string::npos);
  CHECK(to_csv(plain, Detail::kDuration).find("origin") == std::string::npos);

  experiment.backends["gemm"] = "measured:table";
  const CostModel model = model_of("gemm", row({4096, 4096, 4096}, 1.5));
  const Explanation explained = explain(experiment, model);
  REQUIRE(explained.projection.notes.size() == notes + 1);
  CHECK_THAT(explained.projection.notes.back(), test::contains_text("measured ("));
  CHECK_THAT(to_text(explained, Detail::kDuration), test::contains_text("fallback"));
  CHECK_THAT(to_csv(explained, Detail::kDuration), test::contains_text(",roofline_share,origin\n"));
}

}  // namespace
}  // namespace stepcast::measured_test
