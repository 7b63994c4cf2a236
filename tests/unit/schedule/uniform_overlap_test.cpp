// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/stage_time.hpp"

#include "catch.hpp"

namespace stepcast::uniform_overlap_test {
namespace {

using test::nearly;

PassTotals pass(double compute, double tensor, double data) {
  PassTotals time;
  time.compute = Seconds(compute);
  time.communication[slot(Axis::kTensor)] = Seconds(tensor);
  time.communication[slot(Axis::kData)] = Seconds(data);
  return time;
}

UniformOverlap shares(double tensor, double data) {
  UniformOverlap overlap;
  overlap.hidden = {};
  overlap.hidden[slot(Axis::kTensor)] = tensor;
  overlap.hidden[slot(Axis::kData)] = data;
  return overlap;
}

OccupiedShares evenly(double share) {
  OccupiedShares occupied{};
  occupied.fill(share);
  return occupied;
}

TEST_CASE("communication is exposed by what its share does not hide", "[unit]") {
  const TimeBreakdown time = exposed(pass(10, 4, 5), shares(0.5, 0.8));
  CHECK(time.compute.value() == 10.0);
  CHECK(time.exposed[slot(Axis::kTensor)].value() == nearly(2.0));  // 4 - 0.5 * 4
  CHECK(time.exposed[slot(Axis::kData)].value() == nearly(1.0));    // 5 - 0.8 * 5
  CHECK(time.total().value() == nearly(13.0));
}

TEST_CASE("computation hides no more than there is of it", "[unit]") {
  // 3 of 10 s hide tensor parallelism, the other 7 s hide 7 of 0.9 * 20 s.
  const TimeBreakdown time = exposed(pass(10, 3, 20), shares(1.0, 0.9));
  CHECK(time.exposed[slot(Axis::kTensor)].value() == 0.0);
  CHECK(time.exposed[slot(Axis::kData)].value() == nearly(13.0));
}

TEST_CASE("without overlap everything is exposed", "[unit]") {
  CHECK(exposed(pass(10, 3, 20), shares(0.0, 0.0)).total().value() == nearly(33.0));
}

TEST_CASE("a pass takes at least the longer of its computation and what cannot hide",
          "[property]") {
  for (double share = 0.0; share <= 1.0; share += 0.125) {
    for (double data = 0.0; data <= 40.0; data += 2.5) {
      const double total = exposed(pass(10, 0, data), shares(0.0, share)).total().value();
      CHECK(total >= 10.0);
      CHECK(total >= data - 1e-12);
      CHECK(total <= 10.0 + data);
    }
  }
}

TEST_CASE("computation slows by the units that hidden communication holds", "[unit]") {
  // 8 of 10 s of computation run beside communication that holds a quarter of the units.
  const TimeBreakdown time = exposed(pass(10, 8, 0), shares(1.0, 0.0), evenly(0.25));
  CHECK(time.contention.value() == nearly(2.0));
  CHECK(time.total().value() == nearly(12.0));
  CHECK(exposed(pass(10, 8, 0), shares(0.0, 0.0), evenly(0.25)).contention == Seconds{});
}

TEST_CASE("each axis holds its own units while it is hidden", "[unit]") {
  // 4 s of tensor parallelism hold a quarter, 5 s of data parallelism a tenth.
  OccupiedShares occupied{};
  occupied[slot(Axis::kTensor)] = 0.25;
  occupied[slot(Axis::kData)] = 0.1;
  const TimeBreakdown time = exposed(pass(10, 4, 5), shares(1.0, 1.0), occupied);
  CHECK(time.contention.value() == nearly(1.5));
}

TEST_CASE("breakdowns add up and scale part by part", "[unit]") {
  TimeBreakdown a = exposed(pass(10, 4, 5), shares(0.0, 0.0));
  a.bubble = Seconds(1);
  a.optimizer = Seconds(2);
  a.host = Seconds(3);
  TimeBreakdown sum = a;
  sum += 2.0 * a;
  CHECK(sum.total().value() == nearly(3.0 * (10 + 4 + 5 + 1 + 2 + 3)));
  CHECK(sum.communication().value() == nearly(27.0));
}

}  // namespace
}  // namespace stepcast::uniform_overlap_test
