// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/peak_moments.hpp"

#include "catch.hpp"

namespace stepcast::peak_moments_test {
namespace {

const PeakMoment* find(const PeakMoments& moments, bool backward) {
  for (const PeakMoment& moment : moments.moments) {
    if (moment.backward == backward) {
      return &moment;
    }
  }
  return nullptr;
}

TEST_CASE("rank r of 1F1B holds p - r micro-batches, and few of its moments are kept", "[unit]") {
  const PipelineShape shape{4, 1, 64};
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    CAPTURE(rank);
    const PeakMoments moments =
        peak_moments(pipeline_order(Schedule::kOneFOneB, shape, rank), {1, shape.ranks});
    CHECK(moments.most_in_flight == 4 - rank);
    CHECK(moments.repeats);
    CHECK(moments.moments.size() <= 4);
    const PeakMoment* backward = find(moments, true);
    REQUIRE(backward != nullptr);
    CHECK(backward->in_flight.front() == 4 - rank);
    // The last of them: all forwards have run, and there are gradients.
    CHECK(backward->has_gradients.front() == 1);
    CHECK(backward->late);
  }
}

TEST_CASE("weight gradients that are put off are counted until they run", "[unit]") {
  // F F B B W W of one chunk: both are put off when the first of them runs.
  using enum TaskKind;
  const RankOrder order = {{kForward, 0, 0},        {kForward, 0, 1},
                           {kInputGradient, 0, 0},  {kInputGradient, 0, 1},
                           {kWeightGradient, 0, 0}, {kWeightGradient, 0, 1}};
  const PeakMoments moments = peak_moments(order, {1, 2});
  const PeakMoment* backward = find(moments, true);
  REQUIRE(backward != nullptr);
  CHECK(backward->deferred == std::vector<std::int32_t>{2});
  CHECK(find(moments, false)->deferred == std::vector<std::int32_t>{0});
}

TEST_CASE("GPipe holds every micro-batch, and its order does not repeat", "[unit]") {
  const PipelineShape shape{4, 1, 16};
  const PeakMoments moments =
      peak_moments(pipeline_order(Schedule::kGpipe, shape, 2), {1, shape.ranks});
  CHECK(moments.most_in_flight == 16);
  CHECK_FALSE(moments.repeats);
}

// F F ... B B ...: 10 more micro-batches are 10 more in flight, and 10 more forwards before.
TEST_CASE("with more micro-batches GPipe has the same moments with more in flight", "[unit]") {
  const auto of = [](std::int64_t micro_batches) {
    return peak_moments(pipeline_order(Schedule::kGpipe, {4, 1, micro_batches}, 1), {1, 4});
  };
  const PeakMoments shorter = of(16);
  const PeakMoments longer = of(26);
  CHECK(shorter.piles_up);
  CHECK_FALSE(peak_moments(pipeline_order(Schedule::kOneFOneB, {4, 1, 16}, 1), {1, 4}).piles_up);
  CHECK(longer.most_in_flight == shorter.most_in_flight + 10);
  REQUIRE(shorter.moments.size() == longer.moments.size());
  for (std::size_t i = 0; i < shorter.moments.size(); ++i) {
    CHECK(longer.moments[i].in_flight.front() == shorter.moments[i].in_flight.front() + 10);
    CHECK(longer.moments[i].forwards.front() == shorter.moments[i].forwards.front() + 10);
    CHECK(longer.moments[i].has_gradients == shorter.moments[i].has_gradients);
    CHECK(longer.moments[i].deferred == shorter.moments[i].deferred);
  }
}

TEST_CASE("a longer steady state has the same moments with more forwards", "[unit]") {
  for (const Schedule schedule :
       {Schedule::kOneFOneB, Schedule::kZbH2, Schedule::kZbV, Schedule::kDualPipe}) {
    const std::int64_t chunks = chunks_per_rank(schedule, {8, 2, 1});
    const std::int64_t rank_chunks = placement_of(schedule) == StagePlacement::kLoop ? 1 : chunks;
    const std::int64_t model_chunks = placement_of(schedule) == StagePlacement::kV ? 2 : 1;
    for (std::int64_t rank = 0; rank < 8; ++rank) {
      CAPTURE(name(schedule), rank);
      const auto of = [&](std::int64_t micro_batches) {
        return peak_moments(pipeline_order(schedule, {8, model_chunks, micro_batches}, rank),
                            {rank_chunks, 8});
      };
      const PeakMoments shorter = of(64);
      const PeakMoments longer = of(96);
      REQUIRE(shorter.moments.size() == longer.moments.size());
      const std::int32_t more = placement_of(schedule) == StagePlacement::kBidirectional ? 16 : 32;
      for (std::size_t i = 0; i < shorter.moments.size(); ++i) {
        CHECK(shorter.moments[i].in_flight == longer.moments[i].in_flight);
        CHECK(shorter.moments[i].has_gradients == longer.moments[i].has_gradients);
        const std::int32_t difference =
            longer.moments[i].forwards.front() - shorter.moments[i].forwards.front();
        CHECK(difference == (shorter.moments[i].late ? more : 0));
      }
    }
  }
}

}  // namespace
}  // namespace stepcast::peak_moments_test
