// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/call_waiting.hpp"

#include "catch.hpp"

namespace stepcast::call_waiting_test {

namespace {

LoneCall gather(double bytes, double start, double duration) {
  return {StepCategory::kAllGather, "0 [0, 1]", bytes, start, start + duration};
}

std::vector<double> waiting(const std::vector<LoneCall>& calls, const BusyTimes& computing = {}) {
  std::vector<double> times;
  for (const CallTime& call : lone_waiting(calls, computing)) {
    times.push_back(call.waiting.value());
  }
  return times;
}

}  // namespace

TEST_CASE("A call waits for what it takes beyond the least of its like", "[unit]") {
  CHECK(waiting({gather(100, 0, 10), gather(100, 20, 14), gather(100, 40, 26)}) ==
        std::vector<double>{0, 4, 16});
}

TEST_CASE("A call of fewer bytes takes no longer than the least of more", "[unit]") {
  // 8 bytes once: 30 s, of which the 100 bytes of another call would take 10.
  const std::vector<LoneCall> calls = {gather(100, 0, 10), gather(8, 20, 30)};
  CHECK(waiting(calls) == std::vector<double>{0, 20});
  CHECK(lone_waiting(calls, {})[1].least == Seconds(10));
}

TEST_CASE("Calls that all wait take no longer than twice an all-reduce of as many bytes",
          "[unit]") {
  LoneCall counts = gather(8, 0, 30);
  counts.category = StepCategory::kAllToAll;
  LoneCall sum = gather(16, 50, 7);
  sum.category = StepCategory::kAllReduce;
  LoneCall smaller = gather(4, 70, 5);
  smaller.category = StepCategory::kAllReduce;
  CHECK(waiting({counts, sum, smaller}) == std::vector<double>{16, 0, 0});
}

TEST_CASE("Calls of other ranks, of other collectives or of no size say nothing", "[unit]") {
  LoneCall other = gather(100, 20, 30);
  other.group = "1 [0, 2]";
  LoneCall reduction = gather(100, 60, 30);
  reduction.category = StepCategory::kReduceScatter;
  CHECK(waiting({gather(100, 0, 10), other, reduction, gather(0, 100, 50)}) ==
        std::vector<double>{0, 0, 0, 0});
}

TEST_CASE("Beside computation a call may take 2.5 times the least before it is known to wait",
          "[unit]") {
  // 25 s beside a kernel move what 10 do alone; 40 s have waited for 15; of 20 s the last 10 lie
  // beside nothing, so that the first have waited.
  const std::vector<LoneCall> calls = {gather(100, 0, 10), gather(100, 100, 25),
                                       gather(100, 200, 40), gather(100, 300, 20)};
  const BusyTimes computing = {{100, 125}, {190, 260}, {290, 310}};
  CHECK(waiting(calls, computing)[1] == Approx(0).margin(1e-9));
  CHECK(waiting(calls, computing)[2] == Approx(15));
  CHECK(waiting(calls, computing)[3] == Approx(10));
  // 5 of the 10 s' worth move alone in the last 5 s, the others in 12.5 s beside the kernel.
  CHECK(waiting({gather(100, 0, 10), gather(100, 400, 30)}, {{395, 425}})[1] == Approx(12.5));
}

}  // namespace stepcast::call_waiting_test
