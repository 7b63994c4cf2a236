// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/step_reports.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"

namespace stepcast::layer_report_test {
namespace {

using test::contains_text;

LayerPass pass(double seconds, double flops) {
  LayerPass made;
  made.time = Seconds(seconds);
  made.flops = Flops(flops);
  made.computation = Seconds(seconds);
  made.clock = Hertz(1.5e9);
  return made;
}

// 4 ranks: 10 and 20 ms; one GPU with a rank's tokens 8 and 22 ms, with all of them 32 and 60.
LayerStudy sample() {
  LayerStudy report;
  report.projection.model = "sample";
  report.projection.priced = true;
  report.layer = "MoE layer";
  report.tokens = 1000;
  report.ranks = 4;
  ExchangeWay way;
  way.primitive = ExchangePrimitive::kRankDedup;
  way.runs = true;
  way.received = Bytes(6e8);
  way.time = Seconds(1e-3);
  report.exchanges = {way};
  way.primitive = ExchangePrimitive::kNodeDedup;
  way.runs = false;
  way.skipped = "not here";
  report.exchanges.push_back(way);
  report.saved = {{TensorId::kExpertsInput, OpId::kMoeDispatch, Bytes(1024.0 * 1024.0 * 1024.0)},
                  {TensorId::kMoeRouterScores, OpId::kMoeRouter, Bytes(1024.0)}};
  report.passes = {pass(10e-3, 1e13), pass(20e-3, 2e13)};
  report.local = {{"own", 1000, 16, "", {pass(8e-3, 1e13), pass(22e-3, 2e13)}},
                  {"all", 4000, 16, "", {pass(32e-3, 4e13), pass(60e-3, 8e13)}}};
  return report;
}

TEST_CASE("the report of a layer says what its exchange, its passes and one GPU take", "[unit]") {
  const std::string text = to_text(sample());
  CHECK_THAT(text, contains_text("rank_dedup"));
  CHECK_THAT(text, contains_text("600.0 GB/s  runs"));
  CHECK_THAT(text, contains_text("not here"));
  CHECK_THAT(text, contains_text("1.000 GiB"));
  CHECK_THAT(text, contains_text("10.00 ms        1,000    4,000"));
  CHECK_THAT(text, contains_text("2.00 ms (20.0 %)"));    // 10 - 8
  CHECK_THAT(text, contains_text("-2.00 ms (-10.0 %)"));  // 20 - 22
  CHECK_THAT(text, contains_text("3.20 times one GPU with all tokens, efficiency 80.0 %"));
  CHECK_THAT(text, contains_text("3.00 times one GPU with all tokens, efficiency 75.0 %"));
}

TEST_CASE("the JSON of a layer has the keys of the interface", "[unit]") {
  const nlohmann::ordered_json json = to_json(sample());
  CHECK(json["forward_s"] == 10e-3);
  CHECK(json["backward_s"] == 20e-3);
  CHECK(json["tflops_per_gpu"]["forward"] == Approx(1000.0));
  CHECK(json["exchanges"][0]["bytes_per_s"] == Approx(6e11));
  CHECK(json["exchanges"][0]["runs"] == true);
  CHECK(json["exchanges"][1]["skipped"] == "not here");
  CHECK(json["saved"].size() == 2);
  CHECK(json["saved"][0]["bytes"] == 1073741824.0);
  CHECK(json["local"][1]["passes"]["forward"]["time_s"] == 32e-3);
  CHECK(json["exposed_s"]["backward"] == Approx(-2e-3));
  CHECK(json["scaling"]["speedup"]["forward"] == Approx(3.2));
  CHECK(json["scaling"]["efficiency"]["backward"] == Approx(0.75));
}

TEST_CASE("a layer of inference prints no backward and nothing that is kept", "[unit]") {
  LayerStudy report = sample();
  report.passes.backward.reset();
  for (LocalBaseline& local : report.local) {
    local.passes.backward.reset();
  }
  report.saved.clear();
  const std::string text = to_text(report);
  CHECK(text.find("backward") == std::string::npos);
  CHECK_FALSE(to_json(report).contains("backward_s"));
}

TEST_CASE("what the experts keep leaves the router's scores out", "[unit]") {
  CHECK(sample().saved_by_experts() == Bytes(1073741824.0));
}

}  // namespace
}  // namespace stepcast::layer_report_test
