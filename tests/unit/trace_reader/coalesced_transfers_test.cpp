// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/launch_join.hpp"

#include "catch.hpp"
#include "trace_reader/rank_waiting.hpp"
#include "trace_text.hpp"

namespace stepcast::coalesced_transfers_test {
using namespace stepcast::test;

namespace {

// A call of the host that sends ("Dst") to another rank or receives ("Src") from it.
std::string called(const std::string& end, int other, double start, long long elements = 50) {
  const std::string count = std::to_string(elements);
  return span_event("cpu_op", "record_param_comms", 1, start, 2,
                    R"("Collective name": ")" + std::string(end == "Src" ? "recv" : "send") +
                        R"(", "In msg nelems": )" + count + R"(, "Out msg nelems": )" + count +
                        R"(, "Group size": 2, "dtype": "BFloat16", "Process Group Name": "0", )" +
                        R"("Process Group Ranks": "[0, 1]", ")" + end +
                        " Rank\": " + std::to_string(other));
}
std::string batch_ends(double start, double duration) {
  return span_event("user_annotation", "nccl:coalesced", 1, start, duration);
}
std::string transfer(int correlation, double start, double duration) {
  return span_event("kernel", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 17, start,
                    duration, "\"correlation\": " + std::to_string(correlation));
}

const RecordedCollective* carried_by(const TraceRecording& recording, std::size_t call) {
  const std::int32_t place = recording.calls[call].collective;
  return place < 0 ? nullptr : &recording.collectives[static_cast<std::size_t>(place)];
}

}  // namespace

TEST_CASE("The kernel of a batch carries what its thread called since the batch before", "[unit]") {
  const TraceRecording recording = recording_of(
      trace_text(called("Dst", 1, 0), batch_ends(5, 10), launch(7, 8), transfer(7, 30, 4),
                 called("Src", 1, 20), batch_ends(25, 10), launch(8, 28), transfer(8, 40, 6)));
  REQUIRE(recording.calls.size() == 2);
  REQUIRE(carried_by(recording, 0) != nullptr);
  CHECK(carried_by(recording, 0)->destination == 1);
  CHECK(carried_by(recording, 0)->source == -1);
  CHECK(carried_by(recording, 0)->in_elements == 50);
  REQUIRE(carried_by(recording, 1) != nullptr);
  CHECK(carried_by(recording, 1)->source == 1);
}

TEST_CASE("A batch of several transfers has their size, where it is one, and no ranks", "[unit]") {
  for (const long long second : {50, 70}) {
    const TraceRecording recording =
        recording_of(trace_text(called("Dst", 1, 0), called("Src", 1, 3, second), batch_ends(6, 10),
                                launch(7, 8), transfer(7, 30, 4)));
    const RecordedCollective* carried = carried_by(recording, 0);
    REQUIRE((carried != nullptr) == (second == 50));
    if (carried != nullptr) {
      CHECK(carried->in_elements == 50);
      CHECK(carried->source == -1);
      CHECK(carried->destination == -1);
      CHECK(recording.texts.text(carried->group).empty());
    }
  }
}

TEST_CASE("What is launched outside of a batch, or before any call, carries nothing", "[unit]") {
  const TraceRecording recording = recording_of(
      trace_text(batch_ends(0, 5), launch(6, 2), transfer(6, 20, 4), called("Dst", 1, 10),
                 batch_ends(15, 5), launch(7, 30), transfer(7, 40, 4)));
  CHECK(carried_by(recording, 0) == nullptr);
  CHECK(carried_by(recording, 1) == nullptr);
}

// Threads that a broken trace takes for one: both batches begin at 5 us, after the call at 0.
TEST_CASE("Of batches that overlap the second carries nothing", "[unit]") {
  const TraceRecording recording =
      recording_of(trace_text(called("Dst", 1, 0), called("Src", 1, 7), batch_ends(5, 10),
                              batch_ends(5, 10), launch(7, 8), transfer(7, 30, 4)));
  CHECK(carried_by(recording, 0) == nullptr);
}

// Rank 0 sends, which takes it 4 us; rank 1, whose clock is another, was ready 16 us before.
TEST_CASE("Coalesced transfers of two ranks are one call of a sender and a receiver", "[unit]") {
  const auto step_of = [](std::int64_t rank, const std::string& text) {
    TraceRecording recording = recording_of(text);
    recording.head.rank = rank;
    return measured_step(recording, "trace.json");
  };
  std::vector<MeasuredStep> steps = {
      step_of(0,
              trace_text(called("Dst", 1, 0), batch_ends(5, 10), launch(7, 8), transfer(7, 30, 4))),
      step_of(1, trace_text(called("Src", 0, 900), batch_ends(905, 10), launch(7, 908),
                            transfer(7, 930, 20)))};
  const RankWaiting waiting = rank_waiting(steps, {"a.json", "b.json"});
  REQUIRE(waiting.collectives.size() == 1);
  CHECK(waiting.collectives[0].category == StepCategory::kSendRecv);
  CHECK(1e6 * waiting.collectives[0].transfer.value() == Approx(4));
  CHECK(1e6 * waiting.ranks[1].waits_for[0].value() == Approx(16));
}

}  // namespace stepcast::coalesced_transfers_test
