// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/step_comparison.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.hpp"
#include "stepcast/report/trace_report.hpp"
#include "trace_text.hpp"

namespace stepcast::step_comparison_test {
using namespace stepcast::test;

namespace {

// A product of 100 us, one of 50 us that we do not have, a gather of 4,000,000 bytes in 60 us of
// which 20 lie beside no product, and a fused kernel of 10 us: 180 us.
MeasuredStep small_step() {
  const std::string text = trace_text(
      host_operator("aten::mm", 0, 10, "[[64, 16], [16, 32]]"), launch(1, 1),
      kernel("nvjet_tst", 1, 100, 100), host_operator("aten::mm", 10, 10, "[[64, 16], [16, 99]]"),
      launch(2, 11), kernel("nvjet_tst", 2, 200, 50),
      collective("_allgather_base", 210, 60, 1000000, 2000000), kernel("triton_a", 0, 270, 10));
  return measured_step(recording_of(text), "trace.json");
}

PredictedOperator predicted(const OpId id, OpWork work, double calls, double microseconds) {
  return {Op{.id = id, .work = std::move(work)}, calls, Seconds(microseconds * 1e-6)};
}

// The same product in 90 us, one of 5 us that the trace lacks, the gather 3 % larger.
PredictedStep small_prediction() {
  PredictedStep step;
  step.priced = true;
  step.step = Seconds(171e-6);
  step.exposed_communication = Seconds(16e-6);
  step.idle = Seconds(5e-6);
  step.operators = {
      predicted(OpId::kAttentionQ, Gemm{.m = 64, .n = 32, .k = 16}, 1, 60),
      predicted(OpId::kAttentionK, Gemm{.m = 32, .n = 64, .k = 16}, 1, 30),
      predicted(OpId::kMlpUp, Gemm{.m = 7, .n = 7, .k = 7}, 1, 5),
      predicted(OpId::kMlpActivation, MemoryBound{MemoryBoundKind::kCopy, 8, 8}, 1, 11),
      predicted(OpId::kAttentionTpIn,
                Collective{.op = CollectiveOp::kAllGather,
                           .bytes = Bytes(4.12e6),
                           .group = {.size = 2, .stride = 1}},
                1, 40)};
  step.device_time[static_cast<std::size_t>(StepCategory::kGemm)] = Seconds(95e-6);
  step.device_time[static_cast<std::size_t>(StepCategory::kAllGather)] = Seconds(40e-6);
  step.computing = Seconds(106e-6);
  step.communicating[static_cast<std::size_t>(Axis::kTensor)] = Seconds(40e-6);
  return step;
}

StepComparison small_comparison() {
  ComparisonInput input;
  input.file = "small.json";
  input.measured = small_step();
  input.predicted = small_prediction();
  input.projection.model = "small";
  input.projection.gpu = "h200_sxm";
  input.projection.priced = true;
  input.steady = Seconds(175e-6);
  input.notes = {"a note"};
  return compare(std::move(input));
}

double microseconds(Seconds time) { return 1e6 * time.value(); }

}  // namespace

TEST_CASE("Operators of one shape stand in one row, those of one side in lists", "[unit]") {
  const StepComparison comparison = small_comparison();
  REQUIRE(comparison.operators.size() == 2);
  const ComparedRow& gather = comparison.operators[0];  // 20 us apart, the products 10
  CHECK(gather.category == StepCategory::kAllGather);
  CHECK(bytes_of(*gather.shape) == 4e6);
  CHECK(microseconds(gather.difference()) == Approx(-20));
  const ComparedRow& product = comparison.operators[1];
  CHECK(product.ours == std::vector<std::string>{"attention.q", "attention.k"});
  CHECK(product.traced == std::vector<std::string>{"aten::mm"});
  CHECK(product.our_calls == 2);
  CHECK(product.traced_calls == 1);
  CHECK(microseconds(product.measured) == Approx(100));
  CHECK(microseconds(product.predicted) == Approx(90));
  REQUIRE(comparison.only_traced.size() == 1);
  CHECK(microseconds(comparison.only_traced[0].measured) == Approx(50));
  REQUIRE(comparison.only_ours.size() == 1);
  CHECK(comparison.only_ours[0].ours == std::vector<std::string>{"mlp.up"});
  CHECK(comparison.without_shape.size() == 2);
  // 100 us of the product and 60 us of the gather, of 210 us.
  CHECK(comparison.matched_share == Approx(160.0 / 210.0));
}

TEST_CASE("Wall time adds up to the step on both sides", "[unit]") {
  const StepComparison comparison = small_comparison();
  REQUIRE(comparison.wall.size() == 4);
  Seconds measured;
  Seconds ours;
  for (const WallTime& part : comparison.wall) {
    measured += part.measured;
    ours += part.predicted;
  }
  CHECK(microseconds(measured) == Approx(180));
  CHECK(microseconds(comparison.wall[1].measured) == Approx(20));
  CHECK(microseconds(ours) == Approx(171));
  CHECK(comparison.error().value() == Approx(171.0 / 180.0 - 1.0));
}

TEST_CASE("A step of which next to nothing is found in the projection has no error", "[unit]") {
  StepComparison comparison = small_comparison();
  CHECK(comparison.of_one_step());
  comparison.matched_share = 0.03;
  CHECK_FALSE(comparison.of_one_step());
  CHECK_FALSE(comparison.error());
}

TEST_CASE("A gather that is more than 5 % larger is another one", "[unit]") {
  ComparisonInput input;
  input.measured = small_step();
  input.predicted = small_prediction();
  std::get<Collective>(input.predicted.operators.back().op.work).bytes = Bytes(4.3e6);
  const StepComparison comparison = compare(std::move(input));
  CHECK(comparison.operators.size() == 1);
  CHECK(comparison.only_ours.size() == 2);
}

TEST_CASE("A grouped product joins one whose groups are padded, up to 32 rows each", "[unit]") {
  const auto rows = [](const char* dims) {
    ComparisonInput input;
    input.measured =
        measured_step(recording_of(trace_text(host_operator("aten::_grouped_mm", 0, 10, dims),
                                              launch(1, 1), kernel("grouped_gemm", 1, 100, 100))),
                      "trace.json");
    input.predicted.priced = true;
    input.predicted.operators = {predicted(
        OpId::kExpertsUp, GroupedGemm{.groups = 4, .m_total = 64, .n = 24, .k = 16}, 1, 90)};
    return compare(std::move(input)).operators.size();
  };
  CHECK(rows("[[64, 16], [4, 16, 24], [4]]") == 1);
  CHECK(rows("[[96, 16], [4, 16, 24], [4]]") == 1);
  CHECK(rows("[[192, 16], [4, 16, 24], [4]]") == 1);
  CHECK(rows("[[200, 16], [4, 16, 24], [4]]") == 0);  // 34 of each
  CHECK(rows("[[56, 16], [4, 16, 24], [4]]") == 0);
  CHECK(rows("[[96, 16], [8, 16, 24], [8]]") == 0);
}

TEST_CASE("The projection is compared with what is measured without waiting", "[unit]") {
  // Two gathers of 60 and of 100 us, beside no kernel: 40 us wait.
  ComparisonInput input;
  input.measured = measured_step(
      recording_of(trace_text(kernel("nvjet_tst", 0, 0, 10),
                              collective("_allgather_base", 20, 60, 1000000, 2000000),
                              collective("_allgather_base", 100, 100, 1000000, 2000000))),
      "trace.json");
  input.predicted = small_prediction();
  const StepComparison comparison = compare(std::move(input));
  REQUIRE(comparison.operators.size() == 1);
  CHECK(microseconds(comparison.operators[0].measured) == Approx(160));
  CHECK(microseconds(comparison.operators[0].waiting) == Approx(40));
  CHECK(microseconds(comparison.operators[0].difference()) == Approx(40 - 120));
  const nlohmann::ordered_json json = to_json(comparison);
  CHECK(json.at("operators")[0].at("error").get<double>() == Approx(40.0 / 120.0 - 1.0));
}

TEST_CASE("A step that cannot be projected is reported as measured", "[unit]") {
  ComparisonInput input;
  input.measured = small_step();
  input.projection.reasons = {"tp does not divide heads"};
  const StepComparison comparison = compare(std::move(input));
  CHECK_FALSE(comparison.error());
  CHECK(comparison.operators.empty());
  const std::string text = to_text(comparison);
  CHECK(text.find("step measured") != std::string::npos);
  CHECK(text.find("step projected") == std::string::npos);
  CHECK(text.find("tp does not divide heads") != std::string::npos);
}

TEST_CASE("The text fits 100 columns and names the error first", "[unit]") {
  std::istringstream text(to_text(small_comparison()));
  std::string line;
  std::string all;
  while (std::getline(text, line)) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
    all += line + "\n";
  }
  CHECK(all.find("0.17 ms  -5.0 %, the first step after a pause") != std::string::npos);
  CHECK(all.find("attention.q, attention.k") == std::string::npos);  // wider than the column
  CHECK(all.find("attention.q +1") != std::string::npos);
  CHECK(all.find("a note") != std::string::npos);
  CHECK(all.find("Where the difference is") < all.find("Device time by category"));
}

TEST_CASE("JSON and CSV have every row", "[unit]") {
  const StepComparison comparison = small_comparison();
  const nlohmann::ordered_json json = to_json(comparison);
  CHECK(json.at("schema_version") == 1);
  CHECK(json.at("trace").at("rank") == 1);
  CHECK(json.at("trace").at("gpu") == "NVIDIA H200");
  CHECK(json.at("trace").at("calls") == 4);
  CHECK(json.at("trace").at("calls_with_operator") == 2);
  CHECK(json.at("state") == "after_pause");
  CHECK(json.at("step").at("measured_s").get<double>() == Approx(180e-6));
  CHECK(json.at("operators").size() == 2);
  CHECK(json.at("operators")[1].at("shape") == "64 x 32 x 16");
  CHECK(json.at("streams").at("projected").size() == 2);
  CHECK_FALSE(json.contains("ranks"));
  const std::string csv = to_csv(comparison);
  // A header, 4 of time, 3 categories, 2 operators, 1 and 1 of one side, 2 without a shape.
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 14);
  CHECK(csv.find("operator,gemm,64 x 32 x 16,attention.q + attention.k,aten::mm,1,2,") !=
        std::string::npos);
}

}  // namespace stepcast::step_comparison_test
