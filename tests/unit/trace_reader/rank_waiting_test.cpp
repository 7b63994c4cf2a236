// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/rank_waiting.hpp"

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

// Rank 1 sends twice to rank 0, which is ready 25 us early for the first and 4 us late for the
// second, and rank 0 once to rank 2, of which there is no trace.
TEST_CASE("A transfer is one call of its sender and its receiver, whoever else is in the group",
          "[unit]") {
  const auto transfer = [](const std::string& end, int other, double start, double duration) {
    return span_event("kernel", "ncclDevKernel_SendRecv", 22, start, duration,
                      R"("Collective name": ")" + std::string(end == "Src" ? "recv" : "send") +
                          R"(", "In msg nelems": 50, "Out msg nelems": 50, "Group size": 3, )" +
                          R"("dtype": "BFloat16", "Process Group Name": "pp", )" +
                          R"("Process Group Ranks": "[0, 1, 2]", ")" + end +
                          " Rank\": " + std::to_string(other));
  };
  const auto of_rank = [](std::int64_t rank, const std::string& text) {
    TraceRecording recording = recording_of(text);
    recording.head.rank = rank;
    return measured_step(recording, "trace.json");
  };
  std::vector<MeasuredStep> steps = {
      of_rank(0, trace_text(transfer("Src", 1, 0, 35), transfer("Dst", 2, 40, 9),
                            transfer("Src", 1, 60, 10))),
      of_rank(1, trace_text(transfer("Dst", 0, 500, 10), transfer("Dst", 0, 530, 14)))};
  const RankWaiting waiting = rank_waiting(steps, {"a.json", "b.json"});
  REQUIRE(waiting.collectives.size() == 1);
  CHECK(waiting.collectives[0].category == StepCategory::kSendRecv);
  CHECK(waiting.collectives[0].calls == 2);
  CHECK(ranks_of(*waiting.collectives[0].shape) == 2);
  CHECK(microseconds(waiting.collectives[0].transfer) == Approx(20));
  CHECK(microseconds(waiting.ranks[0].waits_for[1]) == Approx(25));
  CHECK(microseconds(waiting.ranks[1].waits_for[0]) == Approx(4));
  CHECK(waiting.ranks[0].waits_for[0] == Seconds{});
  CHECK(waiting.alone == 1);
}

TEST_CASE("A transfer of a trace that does not say its rank is nobody's partner", "[unit]") {
  std::vector<MeasuredStep> steps;
  for (int i = 0; i < 2; ++i) {
    TraceRecording recording = recording_of(trace_text(
        span_event("kernel", "ncclDevKernel_SendRecv", 22, 0, 9,
                   R"("Collective name": "send", "In msg nelems": 50, "Out msg nelems": 50, )"
                   R"("Process Group Name": "pp", "Dst Rank": 1)")));
    recording.head.rank = -1;
    steps.push_back(measured_step(recording, "trace.json"));
  }
  CHECK(rank_waiting(steps, {"a.json", "b.json"}).collectives.empty());
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
