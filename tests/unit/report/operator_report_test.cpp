// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/step_reports.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "stepcast/operator_lines/op_text.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast::operator_report_test {
namespace {

using test::nearly;

// 10 products of 1 ms with a tile, 5 norms of 2 ms without one, one collective of 4 ms.
Explanation sample() {
  Explanation e;
  e.projection.model = "sample";
  e.projection.priced = true;
  e.projection.clock = Hertz(1.5e9);
  OpCost product{Seconds(1e-3), Bound::kCompute};
  product.terms = {{"k_loop", Seconds(0.9e-3)}, {"launch", Seconds(0.1e-3)}};
  product.tiling = {256, 128, 2, 1, 37.5};
  const Gemm gemm{1000, 2000, 3000, 1, Dtype::kBf16, GemmPass::kWgrad};
  e.operators.push_back(
      {{{OpId::kMlpUp, gemm}, StepPass::kBackward, 10}, product, Seconds(0.75e-3)});
  const MemoryBound norm{MemoryBoundKind::kNorm, 1000, 1000};
  const OpCost read{Seconds(2e-3), Bound::kMemory};
  e.operators.push_back({{{OpId::kMlpNorm, norm}, StepPass::kForward, 5}, read, Seconds(1e-3)});
  const Collective reduce{CollectiveOp::kAllReduce, Bytes(1e9), {8, 1}, Axis::kData};
  const OpCost transfer{Seconds(4e-3), Bound::kBandwidth};
  e.operators.push_back(
      {{{OpId::kDpReduce, reduce}, StepPass::kOnce, 1}, transfer, {}, {}, {}, Bytes(1e9)});
  return e;
}

// The line of `text` that starts with `start`, single blanks between its words.
std::string squeezed_line(const std::string& text, const std::string& start) {
  const std::size_t begin = text.find("\n  " + start);
  REQUIRE(begin != std::string::npos);
  std::istringstream words(text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1));
  std::string line;
  for (std::string word; words >> word;) {
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

TEST_CASE("an operator's line says its shape, tile, time, share, rate, bound and roofline",
          "[unit]") {
  const std::string text = to_text(sample(), Detail::kDuration);
  // 2 * 1000 * 2000 * 3000 FLOPs in 1 ms; 10 ms of 20 ms; 0.75 of 1 ms.
  CHECK(squeezed_line(text, "mlp.up") ==
        "mlp.up wgrad 10 1000 x 2000 x 3000 256x128/2 37.5 1.000 ms 50.0 % 12.0 TFLOP/s compute "
        "75 %");
  // 2 passes over 2 MB in 2 ms.
  CHECK(squeezed_line(text, "mlp.norm") ==
        "mlp.norm fwd 5 1000 x 1000 - - 2.000 ms 50.0 % 2.00 GB/s memory 50 %");
  CHECK(squeezed_line(text, "dp.reduce") ==
        "dp.reduce once 1 all_reduce 953.7 MiB / 8 - - 4.000 ms 20.0 % 250 GB/s bandwidth -");
  CHECK(squeezed_line(text, "all computation") == "all computation 20.00 ms 100.0 %");
  CHECK(squeezed_line(text, "all communication") == "all communication 4.000 ms 20.0 %");
  CHECK(text.find("k_loop") == std::string::npos);
}

TEST_CASE("terms stand below their operator when asked for", "[unit]") {
  CHECK(to_text(sample(), Detail::kTerms).find("\n      k_loop 900.0 us + launch 100.0 us\n") !=
        std::string::npos);
}

TEST_CASE("JSON has numbers with their unit in the key", "[unit]") {
  const nlohmann::ordered_json json = to_json(sample(), Detail::kTerms);
  CHECK(json.at("computation_s").get<double>() == nearly(0.020));
  CHECK(json.at("communication_s").get<double>() == nearly(0.004));
  REQUIRE(json.at("operators").size() == 3);
  const auto& product = json.at("operators")[0];
  CHECK(product.at("name") == "mlp.up");
  CHECK(product.at("pass") == "backward");
  CHECK(product.at("shape").at("pass") == "wgrad");
  CHECK(product.at("shape").at("k") == 3000);
  CHECK(product.at("count") == 10);
  CHECK(product.at("time_s").get<double>() == nearly(1e-3));
  CHECK(product.at("total_time_s").get<double>() == nearly(1e-2));
  CHECK(product.at("rate_flop_per_s").get<double>() == nearly(12e12));
  CHECK(product.at("roofline_share").get<double>() == nearly(0.75));
  CHECK(product.at("tile").at("waves") == 37.5);
  CHECK(product.at("terms").size() == 2);
  const auto& norm = json.at("operators")[1];
  CHECK(norm.at("tile").is_null());
  CHECK(norm.at("rate_bytes_per_s").get<double>() == nearly(2e9));
  CHECK_FALSE(json.at("operators")[2].contains("roofline_share"));
  CHECK_FALSE(to_json(sample(), Detail::kDuration).at("operators")[0].contains("terms"));
}

TEST_CASE("every CSV line has as many cells as the header", "[unit]") {
  for (const Detail detail : {Detail::kDuration, Detail::kTerms}) {
    std::istringstream lines(to_csv(sample(), detail));
    std::string line;
    std::getline(lines, line);
    const auto commas = std::count(line.begin(), line.end(), ',');
    CHECK(commas == (detail == Detail::kTerms ? 18 : 17));
    int rows = 0;
    for (; std::getline(lines, line); ++rows) {
      CHECK(std::count(line.begin(), line.end(), ',') == commas);
    }
    CHECK(rows == 3);
  }
}

TEST_CASE("shapes read as the report's legend says", "[unit]") {
  const auto text = [](const OpWork& work) { return shape_text({.work = work}); };
  CHECK(text(Gemm{1, 2, 3, 4}) == "4 of 1 x 2 x 3");
  CHECK(text(GroupedGemm{4, 32768, 4096, 7168}) == "32768 x 4096 x 7168 in 4");
  Attention attention{1, 2048, 8192, 64, 8, 192, 128};
  CHECK(text(attention) == "1 x 2048/8192 x 64/8 x 192/128");
  attention.window = 128;
  CHECK(text(attention) == "1 x 2048/8192 x 64/8 x 192/128 w128");
}

TEST_CASE("a table's columns are as wide as their widest cell", "[unit]") {
  TextTable table({{"name"}, {"count", Align::kRight}});
  table.add_row({"a", "1"}, "why");
  table.add_row({"longer"});
  CHECK(table.text() == "  name    count\n  a           1\n      why\n  longer\n");
}

TEST_CASE("A cell with line feeds takes several lines of its row", "[unit]") {
  TextTable table({{"name"}, {"value", Align::kRight}});
  table.add_row({"a\nlong", "1"});
  table.add_row({"b", "22\n3"});
  CHECK(table.text() == "  name  value\n  a         1\n  long\n  b        22\n            3\n");
}

}  // namespace
}  // namespace stepcast::operator_report_test
