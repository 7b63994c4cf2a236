// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/incumbents.hpp"

#include "catch.hpp"

namespace stepcast::incumbents_test {
namespace {

constexpr std::int64_t kGpus = 8;

PlanNumbers plan(std::int64_t index, double rate, double gigabytes) {
  PlanNumbers numbers;
  numbers.plan = index;
  numbers.tokens_per_second_per_gpu = rate;
  numbers.step = Seconds(1e4 / rate);
  numbers.peak_memory = Bytes(1e9 * gigabytes);
  return numbers;
}

// Of the two best plans and the Pareto set: 100 tokens/s in 40 GB, 90 in 30, 50 in 10.
Incumbents three() {
  Incumbents known({RankBy::kTokensPerSecondPerGpu, 2, true, false});
  known.add(plan(0, 100.0, 40.0), kGpus);
  known.add(plan(1, 90.0, 30.0), kGpus);
  known.add(plan(2, 50.0, 10.0), kGpus);
  return known;
}

}  // namespace

TEST_CASE("a plan has no place where as many are better and one is faster in less memory",
          "[unit]") {
  const Incumbents known = three();
  CHECK(known.leave_out(plan(9, 80.0, 30.0), kGpus));
  CHECK(known.leave_out(plan(9, 49.0, 10.0), kGpus));
  // It may be the second best.
  CHECK_FALSE(known.leave_out(plan(9, 91.0, 50.0), kGpus));
  // None is as fast in so little memory.
  CHECK_FALSE(known.leave_out(plan(9, 80.0, 29.0), kGpus));
  CHECK_FALSE(known.leave_out(plan(9, 1.0, 9.0), kGpus));
}

TEST_CASE("a plan that may be as good as another keeps its place", "[unit]") {
  const Incumbents known = three();
  CHECK_FALSE(known.leave_out(plan(9, 90.0, 60.0), kGpus));
  CHECK_FALSE(known.leave_out(plan(9, 50.0, 10.0), kGpus));
}

TEST_CASE("a plan that is added twice is one plan", "[unit]") {
  Incumbents known({RankBy::kTokensPerSecondPerGpu, 2, false, false});
  known.add(plan(0, 100.0, 40.0), kGpus);
  known.add(plan(0, 100.0, 40.0), kGpus);
  CHECK_FALSE(known.leave_out(plan(9, 60.0, 40.0), kGpus));
  known.add(plan(1, 70.0, 40.0), kGpus);
  CHECK(known.leave_out(plan(9, 60.0, 40.0), kGpus));
}

TEST_CASE("without a Pareto set memory does not matter", "[unit]") {
  Incumbents known({RankBy::kStepTime, 1, false, false});
  known.add(plan(0, 100.0, 40.0), kGpus);
  CHECK(known.leave_out(plan(9, 99.0, 1.0), kGpus));
  CHECK_FALSE(known.leave_out(plan(9, 101.0, 80.0), kGpus));
}

TEST_CASE("the memory from which on a plan has no place is that of the first faster one",
          "[unit]") {
  const Incumbents known = three();
  CHECK(known.too_much_memory(plan(9, 80.0, 5.0), kGpus) == Bytes(30e9));
  CHECK(known.too_much_memory(plan(9, 40.0, 5.0), kGpus) == Bytes(10e9));
  CHECK_FALSE(known.too_much_memory(plan(9, 95.0, 5.0), kGpus));
}

TEST_CASE("sizes of clusters are a Pareto set of their own", "[unit]") {
  Incumbents known({RankBy::kTokensPerSecondPerGpu, 1, true, true});
  known.add(plan(0, 100.0, 10.0), 16);
  CHECK_FALSE(known.leave_out(plan(9, 90.0, 20.0), 8));
  known.add(plan(1, 95.0, 10.0), 8);
  CHECK(known.leave_out(plan(9, 90.0, 20.0), 8));
}

TEST_CASE("power has no bound", "[unit]") {
  CHECK(can_be_bounded(RankBy::kMfu));
  CHECK_FALSE(can_be_bounded(RankBy::kPower));
  CHECK_FALSE(can_be_bounded(RankBy::kTokensPerJoule));
}

}  // namespace stepcast::incumbents_test
