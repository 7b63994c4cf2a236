// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_timeline.hpp"

#include <algorithm>
#include <ostream>
#include <string>

#include "catch.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast::pipeline_timeline_test {
namespace {

using test::nearly;

constexpr Seconds kForward{1.0};
constexpr Seconds kBackward{2.0};

Schedule schedule_for(const PipelineShape& shape) {
  return shape.chunks == 1 ? Schedule::kOneFOneB : Schedule::kInterleaved;
}

// Equal stages of F + B = 3 s and free transfers.
std::vector<RankTimeline> uniform_timeline(const PipelineShape& shape) {
  const std::vector<StageDuration> stages(static_cast<std::size_t>(shape.ranks * shape.chunks),
                                          {kForward, kBackward});
  return pipeline_timeline(schedule_for(shape), shape, stages, Seconds{});
}

double step_of(const std::vector<RankTimeline>& ranks) {
  double end = 0.0;
  for (const RankTimeline& rank : ranks) {
    end = std::max(end, rank.end.value());
  }
  return end;
}

// That of interleaved 1F1B, of equal stages of F + B = 3 s and transfers that take no time.
double looped_step(const PipelineShape& shape, PipelineTransfers order) {
  const std::vector<StageDuration> stages(static_cast<std::size_t>(stage_count(shape)),
                                          {kForward, kBackward});
  return step_of(pipeline_timeline(Schedule::kInterleaved, shape,
                                   pipeline_orders(Schedule::kInterleaved, shape), stages,
                                   Seconds{}, {}, order));
}

TEST_CASE("one rank runs without a gap", "[unit]") {
  const auto ranks = uniform_timeline({1, 1, 5});
  REQUIRE(ranks.size() == 1);
  CHECK(ranks[0].end.value() == 15.0);  // 5 (F + B)
  CHECK(ranks[0].bubble.value() == 0.0);
}

TEST_CASE("two ranks and two micro-batches by hand", "[unit]") {
  // rank 0  F0 F1 .. .. B0 B0 .. B1 B1      rank 1  .. F0 B0 B0 F1 B1 B1
  const auto ranks = uniform_timeline({2, 1, 2});
  const auto spans_text = [](const RankTimeline& rank) {
    std::string text;
    for (const TaskSpan& span : rank.spans) {
      text += std::to_string(static_cast<int>(span.start.value())) + "-" +
              std::to_string(static_cast<int>(span.end.value())) + " ";
    }
    return text;
  };
  CHECK(spans_text(ranks[0]) == "0-1 1-2 4-6 7-9 ");
  CHECK(spans_text(ranks[1]) == "1-2 2-4 4-5 5-7 ");
  CHECK(ranks[0].bubble.value() == 3.0);  // (p - 1)(F + B)
}

TEST_CASE("a transfer delays the consumer and not the producer", "[unit]") {
  const std::vector<StageDuration> stages(2, {kForward, kBackward});
  const auto ranks = pipeline_timeline(Schedule::kOneFOneB, {2, 1, 1}, stages, Seconds(0.5));
  // F 0-1, transfer to 1.5, F 1.5-2.5 and B 2.5-4.5, transfer to 5, B 5-7.
  CHECK(ranks[0].end.value() == 7.0);
  CHECK(ranks[0].transfer.value() == 0.5);
  CHECK(ranks[0].bubble.value() == 3.5);  // 1 to 4.5
  CHECK(ranks[1].spans[0].start.value() == 1.5);
}

// Two stages on each of two ranks, two micro-batches, F = 1, B = 2, stages 0 2 and 1 3:
//   free     rank 0  F0 F0 F2 F2 .. .. B2 B2 .  B2 B2 B0 B0 B0 B0       rank 1 ends at 13
//   stepped  rank 0  F0 F0 F2 F2 .. .. B2 B2 .. .. B2 B2 B0 B0 B0 B0: behind B2 of the first
// micro-batch, which ends at 8, both ranks meet, so rank 1 begins B3 of the second at 8 and not 7.
TEST_CASE("ranks that go step by step wait for each other behind each task", "[unit]") {
  const PipelineShape shape{2, 2, 2};
  CHECK(looped_step(shape, PipelineTransfers::kFree) == 15.0);
  CHECK(looped_step(shape, PipelineTransfers::kInOrder) == 15.0);
  CHECK(looped_step(shape, PipelineTransfers::kStepped) == 16.0);
}

// On four H100, PyTorch 2.11, Interleaved1F1B with two stages a rank and 8 micro-batches took 2,907
// ms where ranks computed for 2,019 ms on average: 1.44 times as long. Stages that wait for nothing
// but their inputs take 57 / 48 = 1.19 times as long, with transfers in order 67 / 48 = 1.40.
TEST_CASE("transfers in order hold up looped stages", "[case]") {
  const PipelineShape shape{4, 2, 8};
  CHECK(looped_step(shape, PipelineTransfers::kFree) == 57.0);
  CHECK(looped_step(shape, PipelineTransfers::kInOrder) == 67.0);
}

TEST_CASE("a pipeline needs one duration a stage", "[unit]") {
  CHECK_THROWS_AS(pipeline_timeline(Schedule::kOneFOneB, {2, 1, 1}, {}, Seconds{}), InternalError);
}

// Narayanan et al., section 2.2: bubble (p - 1)(F + B) of a step of (m + p - 1)(F + B).
TEST_CASE("the bubble of 1F1B is (p-1)/(m+p-1) of the step", "[case]") {
  for (std::int64_t p = 1; p <= 8; ++p) {
    for (std::int64_t m = 1; m <= 20; ++m) {
      CAPTURE(p, m);
      const auto ranks = uniform_timeline({p, 1, m});
      const double step = step_of(ranks);
      CHECK(step == 3.0 * static_cast<double>(m + p - 1));
      CHECK(ranks[0].bubble.value() / step ==
            nearly(static_cast<double>(p - 1) / static_cast<double>(m + p - 1)));
    }
  }
}

// With m a multiple of p: bubble (p - 1)(F + B) / v of a step in which each of the v chunks takes
// (F + B) / v; here a chunk takes F + B, so the step is (v m + p - 1)(F + B).
TEST_CASE("the interleaved bubble is (p-1)/(v m+p-1) of the step if p divides m", "[case]") {
  for (std::int64_t p = 1; p <= 8; ++p) {
    for (std::int64_t v = 2; v <= 4; ++v) {
      for (std::int64_t m = p; m <= 20; m += p) {
        CAPTURE(p, v, m);
        const auto ranks = uniform_timeline({p, v, m});
        const double step = step_of(ranks);
        const auto work = static_cast<double>(v * m);
        const auto wait = static_cast<double>(p - 1);
        CHECK(step == 3.0 * (work + wait));
        CHECK(ranks[0].bubble.value() / step == nearly(wait / (work + wait)));
      }
    }
  }
}

// One micro-batch takes v p (F + B) to pass through all stages and back; the m - 1 behind it follow
// at the pace of one stage.
TEST_CASE("with fewer micro-batches than ranks an interleaved step is v p + m - 1 stages long",
          "[case]") {
  for (std::int64_t p = 2; p <= 8; ++p) {
    for (std::int64_t v = 2; v <= 4; ++v) {
      for (std::int64_t m = 1; m < p; ++m) {
        CAPTURE(p, v, m);
        CHECK(step_of(uniform_timeline({p, v, m})) == 3.0 * static_cast<double>(v * p + m - 1));
      }
    }
  }
}

// No order is faster than v m + p - 1 stages: the last rank waits (p - 1) F, works, and its last
// result needs (p - 1) B. Filling the last group up with more micro-batches cannot be faster
// either.
TEST_CASE("an incomplete last group costs at most what a complete one costs", "[case]") {
  for (std::int64_t p = 2; p <= 8; ++p) {
    for (std::int64_t v = 2; v <= 4; ++v) {
      for (std::int64_t m = p + 1; m <= 20; ++m) {
        CAPTURE(p, v, m);
        const double step = step_of(uniform_timeline({p, v, m}));
        const std::int64_t filled = (m + p - 1) / p * p;
        CHECK(step >= 3.0 * static_cast<double>(v * m + p - 1));
        CHECK(step <= 3.0 * static_cast<double>(v * filled + p - 1));
      }
    }
  }
}

TEST_CASE("no schedule waits for itself, whatever the shape", "[property]") {
  for (std::int64_t p = 1; p <= 8; ++p) {
    for (std::int64_t v = 1; v <= 4; ++v) {
      for (std::int64_t m = 1; m <= 20; ++m) {
        std::string fault;
        try {
          uniform_timeline({p, v, m});
        } catch (const InternalError& error) {
          fault = error.what();
        }
        if (!fault.empty()) {
          CAPTURE(p, v, m);
          CHECK(fault == "");
        }
      }
    }
  }
  SUCCEED();
}

TEST_CASE("a slower transfer never makes a pipeline faster", "[property]") {
  for (std::int64_t v = 1; v <= 3; ++v) {
    const PipelineShape shape{4, v, 8};
    const std::vector<StageDuration> stages(static_cast<std::size_t>(4 * v), {kForward, kBackward});
    double before = 0.0;
    for (int tenths = 0; tenths <= 20; ++tenths) {
      const double step =
          step_of(pipeline_timeline(schedule_for(shape), shape, stages, Seconds(0.1 * tenths)));
      CAPTURE(v, tenths);
      CHECK(step >= before);
      before = step;
    }
  }
}

// F = B - W = W = 1000 for a micro-batch over a rank's share of the model.
constexpr double kUnit = 1000.0;

struct Outcome {
  double step = 0.0;
  double in_flight = 0.0;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome(Schedule schedule, std::int64_t p, std::int64_t m) {
  const std::int64_t chunks = chunks_for(schedule, 1);
  const Seconds unit(kUnit / static_cast<double>(chunks));
  const std::vector<StageDuration> stages(static_cast<std::size_t>(p * chunks),
                                          {unit, 2.0 * unit, unit});
  Outcome result;
  for (const RankTimeline& rank : pipeline_timeline(schedule, {p, chunks, m}, stages, Seconds{})) {
    result.step = std::max(result.step, rank.end.value());
    result.in_flight = std::max(result.in_flight, rank.in_flight);
  }
  return result;
}

std::ostream& operator<<(std::ostream& stream, const Outcome& value) {
  return stream << value.step << " with " << value.in_flight << " in flight";
}

// Step and activations of the published schedules as Primus' simulator has them for F = B = W;
// those of V-Half and V-Min at most.
TEST_CASE("published schedules take their published steps and memory", "[case]") {
  struct Published {
    std::int64_t p;
    std::int64_t m;
    Outcome one_f_one_b, zb1p, interleaved, zbv, v_half, v_min;
  };
  const std::vector<Published> table = {
      {8, 32, {117e3, 8}, {103e3, 8}, {106.5e3, 11.5}, {99.5e3, 8}, {104.5e3, 5}, {109e3, 4}},
      {16,
       64,
       {237e3, 16},
       {207e3, 16},
       {214.5e3, 23.5},
       {199.5e3, 16},
       {212.5e3, 9},
       {221.5e3, 6}},
      {4, 64, {201e3, 4}, {195e3, 4}, {196.5e3, 5.5}, {193.5e3, 4}, {194.5e3, 3}, {197.5e3, 2}}};
  for (const Published& row : table) {
    CAPTURE(row.p, row.m);
    CHECK(outcome(Schedule::kOneFOneB, row.p, row.m) == row.one_f_one_b);
    CHECK(outcome(Schedule::kZbH1, row.p, row.m) == row.zb1p);
    CHECK(outcome(Schedule::kInterleaved, row.p, row.m) == row.interleaved);
    CHECK(outcome(Schedule::kZbV, row.p, row.m) == row.zbv);
    CHECK(outcome(Schedule::kVHalf, row.p, row.m).step <= row.v_half.step);
    CHECK(outcome(Schedule::kVHalf, row.p, row.m).in_flight <= row.v_half.in_flight);
    CHECK(outcome(Schedule::kVMin, row.p, row.m).step <= row.v_min.step);
    CHECK(outcome(Schedule::kVMin, row.p, row.m).in_flight <= row.v_min.in_flight);
  }
}

TEST_CASE("bubbles are the closed forms", "[case]") {
  for (std::int64_t p = 2; p <= 16; p += 2) {
    for (const std::int64_t m : {2 * p, 2 * p + 2, 5 * p}) {
      CAPTURE(p, m);
      const auto ranks = static_cast<double>(p);
      const auto bubble = [&](Schedule schedule) {
        return (outcome(schedule, p, m).step - 3.0 * kUnit * static_cast<double>(m)) / kUnit;
      };
      CHECK(bubble(Schedule::kGpipe) == 3.0 * (ranks - 1.0));  // (p - 1)(F + B)
      CHECK(bubble(Schedule::kOneFOneB) == 3.0 * (ranks - 1.0));
      CHECK(bubble(Schedule::kZbH1) == ranks - 1.0);         // (p - 1)(F + B - 2 W)
      CHECK(bubble(Schedule::kZbH2) == ranks - 1.0);         // (p - 1) F: the fill
      CHECK(bubble(Schedule::kZbV) == 0.5 * (ranks - 1.0));  // (p - 1) F / 2: the fill
      if (m % p == 0) {
        // (p - 1)(F + B - 2 W) / v
        CHECK(bubble(Schedule::kInterleavedZeroBubble) == 0.5 * (ranks - 1.0));
      }
      CHECK(bubble(Schedule::kDualPipe) == ranks - 2.0);   // (p / 2 - 1)(F&B + B - 3 W)
      CHECK(bubble(Schedule::kDualPipeV) == ranks - 1.0);  // (p - 1)(F&B + B - 3 W) / 2
    }
  }
}

// What schedule_info.cpp says of the two, in F.
TEST_CASE("the bubbles of V-Half and V-Min depend on the remainders of p", "[case]") {
  const std::vector<double> v_min_offset = {7.0, 5.0, 9.0};
  for (std::int64_t p = 2; p <= 24; ++p) {
    for (const std::int64_t m : {2 * p, 4 * p}) {
      CAPTURE(p, m);
      const auto ranks = static_cast<double>(p);
      const double fill = 0.5 * (ranks - 1.0);
      const double work = 3.0 * kUnit * static_cast<double>(m);
      const double v_half = 0.5 * (3.0 * ranks - (p % 2 == 0 ? 7.0 : 4.0));
      const double v_min = 0.5 * (4.0 * ranks - v_min_offset[static_cast<std::size_t>(p % 3)]);
      CHECK(outcome(Schedule::kVHalf, p, m).step == work + kUnit * std::max(fill, v_half));
      CHECK(outcome(Schedule::kVMin, p, m).step == work + kUnit * std::max(fill, v_min));
    }
  }
}

// Llama-like times: the gradient of the input takes longer than the forward, that of the weights
// less. Every micro-batch of V-Half must not pay for it: W + 2 B >= 2 F and W + 2 F >= 2 B hold.
TEST_CASE("V-Half keeps its bubble where input gradients take longer", "[case]") {
  const std::vector<StageDuration> stages(16, {Seconds(0.5), Seconds(1.0), Seconds(0.4)});
  const auto bubble = [&stages](std::int64_t m) {
    return step_of(pipeline_timeline(Schedule::kVHalf, {8, 2, m}, stages, Seconds{})) -
           3.0 * static_cast<double>(m);
  };
  CHECK(bubble(128) == nearly(bubble(32)));
}

// Qi et al., section 2.2: the trapezoid becomes a parallelogram. Rank r starts after r forwards
// and then computes without a gap, so that nobody waits where an optimizer does not wait for all.
TEST_CASE("ZB-H2 leaves no gap between a rank's first and last task", "[case]") {
  const std::int64_t p = 8;
  const std::vector<StageDuration> stages(8, {Seconds(1.0), Seconds(2.0), Seconds(1.0)});
  const auto ranks = pipeline_timeline(Schedule::kZbH2, {p, 1, 32}, stages, Seconds{});
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    CHECK(ranks[rank].bubble == Seconds(static_cast<double>(rank)));
    CHECK(ranks[rank].end == Seconds(static_cast<double>(96 + rank)));  // m (F + B)
  }
  CHECK(ranks[0].in_flight == 15.0);  // 2 p - 1
}

// DeepSeek-V3, table 2, with pairs that take less than their parts: F&B = 2.5 of F + B = 3. The
// ranks in the middle, which run most of them, wait (p / 2 - 1)(F&B + B - 3 W) = 3 (2.5 + 2 - 3).
TEST_CASE("DualPipe's pairs shorten its step and its bubble", "[case]") {
  const std::vector<StageDuration> stages(8,
                                          {Seconds(1.0), Seconds(2.0), Seconds(1.0), Seconds(2.5)});
  const auto ranks = pipeline_timeline(Schedule::kDualPipe, {8, 1, 32}, stages, Seconds{});
  double most = 0.0;
  for (const RankTimeline& rank : ranks) {
    double waiting = step_of(ranks);
    for (const TaskSpan& span : rank.spans) {
      waiting -= (span.end - span.start).value();
    }
    most = std::max(most, waiting);
  }
  CHECK(most == 4.5);
  CHECK(step_of(ranks) < 96.0);      // 32 (F + B), without any bubble
  CHECK(ranks[0].in_flight == 9.0);  // p + 1
}

TEST_CASE("a V passes its turn without a transfer", "[unit]") {
  // Rank 0 holds stages 0 and 3, rank 1 stages 1 and 2; one micro-batch, transfers of 0.5:
  // F 0-1, F 1.5-2.5, F' 2.5-3.5, F' 4-5, B' 5-7, B' 7.5-9.5, B 9.5-11.5, B 12-14.
  const std::vector<StageDuration> stages(4, {kForward, kBackward});
  const auto ranks = pipeline_timeline(Schedule::kZbV, {2, 2, 1}, stages, Seconds(0.5));
  CHECK(step_of(ranks) == 14.0);
}

TEST_CASE("a pair of stages saves what the one that saves less does", "[unit]") {
  const StageDuration quick{Seconds(1.0), Seconds(2.0), Seconds(1.0), Seconds(2.0)};
  const StageDuration plain{Seconds(3.0), Seconds(6.0), Seconds(3.0), Seconds(8.5)};
  const PipelineTask pair{TaskKind::kOverlapped, 0, 0, 1, 0};
  CHECK(task_duration(pair, quick, quick) == Seconds(2.0));
  CHECK(task_duration(pair, quick, plain) == Seconds(6.5));  // 1 + 6 - 0.5
  CHECK(task_duration(pair, {Seconds(1.0), Seconds(2.0), Seconds{}}, plain) == Seconds(7.0));
}

}  // namespace
}  // namespace stepcast::pipeline_timeline_test
