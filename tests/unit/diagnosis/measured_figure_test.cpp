// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/measured_figure.hpp"

#include <cmath>

#include "catch.hpp"

namespace stepcast::measured_figure_test {
namespace {

void check(std::string_view text, Metric metric, double value) {
  CAPTURE(text);
  const std::optional<Figure> figure = parse_figure(text);
  REQUIRE(figure);
  CHECK(figure->metric == metric);
  CHECK(figure->value == Approx(value));
}

TEST_CASE("a figure is told by its unit", "[unit]") {
  check("200tok/s", Metric::kTokenRate, 200.0);
  check("200.5 tokens/s/GPU", Metric::kTokenRate, 200.5);
  check("13s", Metric::kStepTime, 13.0);
  check("980 ms", Metric::kStepTime, 0.98);
  check("120TFLOP/s", Metric::kModelRate, 120.0);
  check("9.8%", Metric::kModelShare, 0.098);
  check("43.5GiB", Metric::kPeakMemory, 43.5 * 1024 * 1024 * 1024);
  check("43.5 GiB reserved", Metric::kPeakReservedMemory, 43.5 * 1024 * 1024 * 1024);
}

TEST_CASE("what has no unit, another one or no amount is no figure", "[unit]") {
  for (const char* text : {"", "13", "tok/s", "13 sheep", "-3s", "0s", "nan tok/s", "inf%", "120%",
                           "200tok/s per node", "0x10s", "1e400s", "12 req/s"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_figure(text));
  }
}

TEST_CASE("a figure of one metric takes its own unit, and of TFLOP/s and MFU none", "[unit]") {
  CHECK(parse_figure("120", Metric::kModelRate)->value == 120.0);
  CHECK(parse_figure("9.8", Metric::kModelShare)->value == Approx(0.098));
  CHECK(parse_figure("13s", Metric::kStepTime)->value == 13.0);
  CHECK(parse_figure("2GiB reserved", Metric::kPeakMemory)->metric == Metric::kPeakReservedMemory);
  CHECK_FALSE(parse_figure("13", Metric::kStepTime));
  CHECK_FALSE(parse_figure("13s", Metric::kTokenRate));
  CHECK_FALSE(parse_figure("200", Metric::kModelShare));
}

TEST_CASE("each example of a figure is one", "[unit]") {
  for (const Metric metric : {Metric::kTokenRate, Metric::kStepTime, Metric::kModelRate,
                              Metric::kModelShare, Metric::kPeakMemory}) {
    CAPTURE(key_of(metric));
    CHECK(parse_figure(figure_example(metric), metric));
  }
}

TEST_CASE("half the rate and twice the step are the same excess", "[unit]") {
  CHECK(log_excess({Metric::kTokenRate, 100.0}, {Metric::kTokenRate, 200.0}) ==
        Approx(std::log(2.0)));
  CHECK(log_excess({Metric::kStepTime, 2.0}, {Metric::kStepTime, 1.0}) == Approx(std::log(2.0)));
  CHECK(log_excess({Metric::kPeakMemory, 1.0}, {Metric::kPeakMemory, 2.0}) ==
        Approx(-std::log(2.0)));
}

}  // namespace
}  // namespace stepcast::measured_figure_test
