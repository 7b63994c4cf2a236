// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_stages.hpp"

#include "catch.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast::pipeline_stages_test {
namespace {

std::string stages_of(Schedule schedule, const PipelineShape& shape, std::int64_t rank) {
  std::string text;
  for (std::int64_t chunk = 0; chunk < chunks_per_rank(schedule, shape); ++chunk) {
    text += std::to_string(stage_on(schedule, shape, rank, chunk)) + " ";
  }
  return text;
}

TEST_CASE("virtual stages go round the ranks, V shapes turn, DualPipe comes from both ends",
          "[unit]") {
  CHECK(stages_of(Schedule::kOneFOneB, {4, 1, 8}, 3) == "3 ");
  CHECK(stages_of(Schedule::kInterleaved, {4, 3, 8}, 1) == "1 5 9 ");
  CHECK(stages_of(Schedule::kZbV, {4, 2, 8}, 0) == "0 7 ");
  CHECK(stages_of(Schedule::kVMin, {4, 2, 8}, 3) == "3 4 ");
  CHECK(stages_of(Schedule::kDualPipeV, {4, 2, 8}, 1) == "1 6 ");
  CHECK(stages_of(Schedule::kDualPipe, {4, 1, 8}, 1) == "1 2 ");
}

TEST_CASE("the directions of DualPipe share the micro-batches", "[unit]") {
  CHECK(micro_batches_through(Schedule::kDualPipe, {4, 1, 9}, 0) == 5);
  CHECK(micro_batches_through(Schedule::kDualPipe, {4, 1, 9}, 1) == 4);
  CHECK(micro_batches_through(Schedule::kDualPipeV, {4, 2, 9}, 1) == 9);
}

TEST_CASE("every micro-batch passes every stage on exactly one rank", "[property]") {
  for (const ScheduleInfo& info : schedule_infos()) {
    const std::int64_t chunks = chunks_for(info.schedule, 1);
    for (std::int64_t p = 2; p <= 8; p += 2) {
      const PipelineShape shape{p, chunks, 5};
      std::vector<std::int64_t> passing(static_cast<std::size_t>(stage_count(shape)), 0);
      for (std::int64_t rank = 0; rank < p; ++rank) {
        for (std::int64_t chunk = 0; chunk < chunks_per_rank(info.schedule, shape); ++chunk) {
          passing[static_cast<std::size_t>(stage_on(info.schedule, shape, rank, chunk))] +=
              micro_batches_through(info.schedule, shape, chunk);
        }
      }
      CAPTURE(name(info.schedule), p);
      CHECK(passing == std::vector<std::int64_t>(passing.size(), 5));
    }
  }
}

TEST_CASE("outputs stay on the rank at the turn of a V and at the end", "[unit]") {
  CHECK(crosses_ranks(Schedule::kZbV, {4, 2, 8}, 2));
  CHECK_FALSE(crosses_ranks(Schedule::kZbV, {4, 2, 8}, 3));
  CHECK(crosses_ranks(Schedule::kZbV, {4, 2, 8}, 4));
  CHECK_FALSE(crosses_ranks(Schedule::kZbV, {4, 2, 8}, 7));
  CHECK(crosses_ranks(Schedule::kInterleaved, {4, 2, 8}, 3));
  CHECK_FALSE(crosses_ranks(Schedule::kOneFOneB, {1, 1, 8}, 0));
}

TEST_CASE("a schedule says which pipelines it cannot run", "[unit]") {
  const auto only = [](Schedule schedule, std::int64_t pp, std::int64_t vpp) {
    const std::vector<Reason> reasons = schedule_reasons(schedule, pp, vpp);
    REQUIRE(reasons.size() == 1);
    return std::pair(reasons.front().text(), reasons.front().rule());
  };
  CHECK(only(Schedule::kDualPipe, 5, 1) ==
        std::pair<std::string, std::string>(
            "schedule dualpipe needs an even pp: micro-batches pass its 5 ranks from both ends",
            "schedule dualpipe needs an even pp: micro-batches pass its ranks from both ends"));
  CHECK(only(Schedule::kZbV, 4, 3) ==
        std::pair<std::string, std::string>("schedule zbv has two stages a rank: vpp = 3 must be 2",
                                            "schedule zbv has two stages a rank: vpp must be 2"));
  CHECK(only(Schedule::kGpipe, 4, 2).first ==
        "schedule gpipe has no virtual stages: vpp = 2 needs interleaved_1f1b");
  for (const ScheduleInfo& info : schedule_infos()) {
    CHECK(schedule_reasons(info.schedule, 4, chunks_for(info.schedule, 1)).empty());
  }
}

TEST_CASE("every schedule is described, in the order of its name", "[unit]") {
  REQUIRE(schedule_infos().size() == names_of<Schedule>().size());
  for (std::size_t i = 0; i < schedule_infos().size(); ++i) {
    CHECK(static_cast<std::size_t>(schedule_infos()[i].schedule) == i);
  }
}

}  // namespace
}  // namespace stepcast::pipeline_stages_test
