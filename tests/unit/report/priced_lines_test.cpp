// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/priced_lines.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/api/chosen_backends.hpp"

namespace stepcast::priced_lines_test {
namespace {

LinePricing pricing(Detail detail) {
  return {cost_model_of(std::vector<Assignment>{}, test::data_root()),
          fabric_of(test::shipped_gpu("h100_sxm")), std::nullopt, detail};
}

const std::string kLines =
    R"({"kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "note": "a, b"})"
    "\n"
    R"({"kind": "collective", "op": "all_reduce", "bytes": 1048576, "ranks": 8})"
    "\n";

std::vector<std::string> rows_of(const std::string& text) {
  std::vector<std::string> rows;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    rows.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return rows;
}

TEST_CASE("priced lines as CSV have a column for every key of any line", "[unit]") {
  const std::vector<std::string> rows =
      rows_of(priced_csv(kLines, "lines", pricing(Detail::kDuration)));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].starts_with("kind,m,n,k,note,predicted_s,clock_mhz,bound,category"));
  CHECK_THAT(rows[0], test::contains_text(",op,bytes,ranks"));
  CHECK(rows[1].starts_with("gemm,4096,4096,4096,\"a, b\","));
  CHECK(rows[2].starts_with("collective,,,,,"));
}

TEST_CASE("a cell is what the line of JSON has", "[unit]") {
  const LinePricing with_terms = pricing(Detail::kTerms);
  const std::string line = kLines.substr(0, kLines.find('\n') + 1);
  const auto json = nlohmann::ordered_json::parse(priced_lines(line, "lines", with_terms));
  const std::vector<std::string> rows = rows_of(priced_csv(line, "lines", with_terms));
  CHECK_THAT(rows[0], test::contains_text(",tiling.rows,"));
  CHECK_THAT(rows[1], test::contains_text("\"a, b\"," + json.at("predicted_s").dump() + ","));
}

TEST_CASE("no lines are no table", "[unit]") {
  CHECK(priced_csv("", "lines", pricing(Detail::kDuration)).empty());
}

}  // namespace
}  // namespace stepcast::priced_lines_test
