// SPDX-License-Identifier: Apache-2.0
#include "traces/rank_waiting.hpp"

#include "catch.hpp"
#include "trace_text.hpp"

namespace stepcast::rank_waiting_test {
using namespace stepcast::test;

namespace {

MeasuredStep step_of(const std::string& text) {
  return measured_step(recording_of(text), "trace.json");
}

double microseconds(Seconds time) { return 1e6 * time.value(); }

}  // namespace

TEST_CASE("The rank with the shortest time arrived last, and the others waited for it", "[unit]") {
  // Two gathers: 30 and 10 us on the first rank, 10 and 25 us on the second. The ranks' clocks
  // differ by an hour.
  std::vector<MeasuredStep> steps = {
      step_of(trace_text(kernel("nvjet_tst", 0, 0, 40),
                         collective("_allgather_base", 0, 30, 50, 100),
                         collective("_allgather_base", 50, 10, 50, 100))),
      step_of(trace_text(kernel("nvjet_tst", 0, 3.6e9, 40),
                         collective("_allgather_base", 3.6e9 + 20, 10, 50, 100),
                         collective("_allgather_base", 3.6e9 + 45, 25, 50, 100)))};
  const RankWaiting waiting = rank_waiting(steps, {"a.json", "b.json"});
  REQUIRE(waiting.collectives.size() == 1);
  const WaitedCollective& gather = waiting.collectives[0];
  CHECK(gather.calls == 2);
  CHECK(microseconds(gather.transfer) == Approx(20));
  CHECK(microseconds(gather.waiting[0]) == Approx(20));
  CHECK(microseconds(gather.waiting[1]) == Approx(15));
  CHECK(gather.last == std::vector<std::int64_t>{1, 1});
  REQUIRE(waiting.ranks.size() == 2);
  CHECK(microseconds(waiting.ranks[1].waited_for) == Approx(20));
  CHECK(microseconds(waiting.ranks[0].waited_for) == Approx(15));
  CHECK(microseconds(waiting.ranks[0].waiting) == Approx(20));
  CHECK(microseconds(waiting.ranks[0].communication) == Approx(40));
  CHECK(microseconds(waiting.ranks[0].computation) == Approx(40));
  CHECK(waiting.alone == 0);
  REQUIRE(waiting.calls.size() == 2);
  CHECK(microseconds(waiting.calls[1].start) == Approx(50));  // on the first rank
  CHECK(microseconds(waiting.calls[1].waiting) == Approx(15));
  CHECK(waiting.calls[1].last == 0);
  const auto gathers = static_cast<std::size_t>(StepCategory::kAllGather);
  CHECK(microseconds(steps[0].summary.waiting[gathers]) == Approx(20));
}

TEST_CASE("Calls of other groups are not taken for the same", "[unit]") {
  std::vector<MeasuredStep> steps = {
      step_of(trace_text(collective("allreduce", 0, 30, 50, 50, "[0, 1]"))),
      step_of(trace_text(collective("allreduce", 0, 10, 50, 50, "[2, 3]")))};
  const RankWaiting waiting = rank_waiting(steps, {"a.json", "b.json"});
  CHECK(waiting.collectives.empty());
  CHECK(waiting.alone == 2);
}

}  // namespace stepcast::rank_waiting_test
