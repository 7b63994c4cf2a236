// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/comparison.hpp"

#include "catch.hpp"

namespace stepcast::compared_column_test {
namespace {

ComparedColumn column(std::vector<std::pair<std::string, std::string>> options) {
  ComparedColumn result;
  result.options = std::move(options);
  result.projection.gpu = "part";
  return result;
}

}  // namespace

TEST_CASE("Columns are called by what they do not have alike", "[unit]") {
  const ColumnLabels labels = labels_apart({column({{"gpu", "mi300x"}, {"nodes", "128"}}),
                                            column({{"gpu", "h200_sxm"}, {"nodes", "128"}})});
  CHECK(labels.own == std::vector<std::string>{"mi300x", "h200_sxm"});
  CHECK(labels.shared == "128 nodes");
}

TEST_CASE("An option that one column lacks tells it apart", "[unit]") {
  const ColumnLabels labels = labels_apart(
      {column({{"gpu", "mi300x"}}), column({{"gpu", "mi300x"}, {"gpu_clock_mhz", "1200"}})});
  CHECK(labels.own == std::vector<std::string>{"part", "1200 MHz"});
  CHECK(labels.shared == "mi300x");
}

TEST_CASE("A lone column has its own label", "[unit]") {
  const ColumnLabels labels = labels_apart({column({{"gpu", "mi300x"}, {"nodes", "2"}})});
  CHECK(labels.own == std::vector<std::string>{"mi300x, 2 nodes"});
  CHECK(labels.shared.empty());
  CHECK(labels_apart({column({})}).own == std::vector<std::string>{"part"});
}

}  // namespace stepcast::compared_column_test
