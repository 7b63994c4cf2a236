// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pipeline_timeline.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <string>

#include "catch.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast {
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

// When a task's input is there, recomputed from the spans alone.
class Arrivals {
 public:
  Arrivals(const std::vector<RankTimeline>& ranks, const PipelineShape& shape, Seconds transfer)
      : ranks_(ranks), shape_(shape), transfer_(transfer) {}

  [[nodiscard]] Seconds of(std::int64_t rank, const PipelineTask& task) const {
    const std::int64_t stage = task.chunk * shape_.ranks + rank;
    if (task.kind == TaskKind::kForward) {
      return stage == 0 ? Seconds{} : sent(stage - 1, task);
    }
    const bool last = stage + 1 == shape_.ranks * shape_.chunks;
    return last ? end_of(stage, TaskKind::kForward, task.micro_batch) : sent(stage + 1, task);
  }

 private:
  [[nodiscard]] Seconds sent(std::int64_t stage, const PipelineTask& task) const {
    const Seconds end = end_of(stage, task.kind, task.micro_batch);
    return shape_.ranks > 1 ? end + transfer_ : end;
  }
  [[nodiscard]] Seconds end_of(std::int64_t stage, TaskKind kind, std::int32_t micro_batch) const {
    const PipelineTask wanted{kind, static_cast<std::int32_t>(stage / shape_.ranks), micro_batch};
    for (const TaskSpan& span : ranks_[static_cast<std::size_t>(stage % shape_.ranks)].spans) {
      if (span.task == wanted) {
        return span.end;
      }
    }
    throw InternalError("a task is missing");
  }

  const std::vector<RankTimeline>& ranks_;
  PipelineShape shape_;
  Seconds transfer_;
};

TEST_CASE("a task starts exactly when its rank is free and its input has arrived", "[property]") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> duration(0.1, 3.0);
  std::uniform_int_distribution<std::int64_t> ranks_of(1, 6);
  std::uniform_int_distribution<std::int64_t> chunks_of(1, 3);
  std::uniform_int_distribution<std::int64_t> micro_batches_of(1, 11);
  for (int round = 0; round < 60; ++round) {
    const PipelineShape shape{ranks_of(random), chunks_of(random), micro_batches_of(random)};
    CAPTURE(shape.ranks, shape.chunks, shape.micro_batches);
    std::vector<StageDuration> stages;
    for (std::int64_t i = 0; i < shape.ranks * shape.chunks; ++i) {
      stages.push_back({Seconds(duration(random)), Seconds(duration(random))});
    }
    const Seconds transfer(duration(random));
    const auto ranks = pipeline_timeline(schedule_for(shape), shape, stages, transfer);
    const Arrivals arrivals(ranks, shape, transfer);
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
      const RankTimeline& timeline = ranks[static_cast<std::size_t>(rank)];
      Seconds free;
      Seconds busy;
      for (const TaskSpan& span : timeline.spans) {
        REQUIRE(span.start == max(free, arrivals.of(rank, span.task)));  // so spans never overlap
        const auto stage = static_cast<std::size_t>(span.task.chunk * shape.ranks + rank);
        const bool forward = span.task.kind == TaskKind::kForward;
        const Seconds length = forward ? stages[stage].forward : stages[stage].backward;
        REQUIRE(span.end == span.start + length);
        free = span.end;
        busy += length;
      }
      REQUIRE(timeline.end == free);
      // A rank computes or waits; nothing else.
      REQUIRE((busy + timeline.bubble + timeline.transfer).value() ==
              Approx(timeline.end.value()).epsilon(1e-9));
    }
  }
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

}  // namespace
}  // namespace stepcast
