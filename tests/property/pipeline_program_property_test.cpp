// SPDX-License-Identifier: Apache-2.0
// A program gives what the tasks give when they are run one by one.
#include <algorithm>
#include <cmath>
#include <random>

#include "catch.hpp"
#include "property/draws.hpp"
#include "property/random_pipelines.hpp"
#include "stepcast/pipeline/pipeline_program.hpp"

namespace stepcast::pipeline_program_property_test {
namespace {

bool near(Seconds a, Seconds b, Seconds scale) {
  return std::abs((a - b).value()) <= 1e-11 * scale.value();
}

std::vector<RankTimeline> timeline_of(const test::RandomPipeline& c, PipelineTransfers order) {
  return pipeline_timeline(c.schedule, c.shape, pipeline_orders(c.schedule, c.shape), c.stages,
                           c.transfer, {}, order);
}

std::string difference(const test::RandomPipeline& c, const PipelineProgram& program,
                       PipelineScratch& scratch,
                       PipelineTransfers order = PipelineTransfers::kFree) {
  const std::vector<RankTimeline> one_by_one = timeline_of(c, order);
  const PipelineEnds ends = program.run({c.stages, c.transfer}, scratch);
  Seconds step;
  for (const RankTimeline& rank : one_by_one) {
    step = max(step, rank.end);
  }
  for (std::size_t rank = 0; rank < one_by_one.size(); ++rank) {
    const RankTimeline& expected = one_by_one[rank];
    const RankEnds& found = ends.ranks[rank];
    const bool same = near(expected.end, found.end, step) &&
                      near(expected.bubble, found.bubble, step) &&
                      near(expected.transfer, found.transfer, step) &&
                      near(expected.parameters, found.parameters, step);
    if (!same) {
      return "rank " + std::to_string(rank) + " ends otherwise";
    }
    for (std::size_t chunk = 0; chunk < expected.chunk_end.size(); ++chunk) {
      if (!near(expected.chunk_end[chunk], ends.chunk_end[rank * expected.chunk_end.size() + chunk],
                step)) {
        return "chunk " + std::to_string(chunk) + " of rank " + std::to_string(rank) +
               " ends otherwise";
      }
    }
  }
  return "";
}

PipelineProgram program_of(const test::RandomPipeline& c) {
  return {c.schedule, c.shape, pipeline_orders(c.schedule, c.shape)};
}

TEST_CASE("a program ends every rank when its tasks do, one by one", "[property]") {
  test::RandomPipelines random(23);
  PipelineScratch scratch;
  std::int64_t with_rounds = 0;
  for (int round = 0; round < 4'000; ++round) {
    test::RandomPipeline c = random.next();
    if (round % 3 == 0) {
      c.shape.micro_batches *= 8;
    }
    if (round % 5 == 0) {
      // Parameters that come late, and passes at the ends that take longer.
      for (StageDuration& stage : c.stages) {
        stage.ready = 0.7 * stage.backward;
        stage.first_extra = 0.3 * stage.forward;
        stage.last_extra = 0.4 * stage.forward;
      }
    }
    const PipelineProgram program = program_of(c);
    with_rounds += program.rounds() > 0 ? 1 : 0;
    const std::string found = difference(c, program, scratch);
    if (!found.empty()) {
      CAPTURE(round, name(c.schedule), c.shape.ranks, c.shape.chunks, c.shape.micro_batches);
      REQUIRE(found == "");
    }
  }
  CHECK(with_rounds > 1'000);
}

TEST_CASE("a program with transfers in order ends every rank when its tasks do", "[property]") {
  test::RandomPipelines random(41);
  PipelineScratch scratch;
  for (int round = 0; round < 2'000; ++round) {
    const test::RandomPipeline c = random.next();
    const PipelineTransfers order =
        round % 2 == 0 ? PipelineTransfers::kInOrder : PipelineTransfers::kStepped;
    const PipelineProgram program(c.schedule, c.shape, pipeline_orders(c.schedule, c.shape), order);
    const std::string found = difference(c, program, scratch, order);
    CAPTURE(round, name(c.schedule), c.shape.ranks, c.shape.chunks, c.shape.micro_batches);
    REQUIRE(found == "");
  }
}

TEST_CASE("no order of transfers makes a rank end sooner than free ones", "[property]") {
  test::RandomPipelines random(43);
  for (int round = 0; round < 1'000; ++round) {
    const test::RandomPipeline c = random.next();
    const std::vector<RankTimeline> free = timeline_of(c, PipelineTransfers::kFree);
    for (const PipelineTransfers order :
         {PipelineTransfers::kInOrder, PipelineTransfers::kStepped}) {
      const std::vector<RankTimeline> ordered = timeline_of(c, order);
      CAPTURE(round, name(c.schedule), c.shape.ranks, c.shape.chunks, c.shape.micro_batches);
      for (std::size_t rank = 0; rank < free.size(); ++rank) {
        REQUIRE(ordered[rank].end.value() >= (1.0 - 1e-12) * free[rank].end.value());
      }
    }
  }
}

// A program for fewer micro-batches, run with more rounds, and after another run: to the last bit.
TEST_CASE("a program is the same for more rounds, and after other runs", "[property]") {
  test::RandomPipelines random(29);
  PipelineScratch scratch;
  int compared = 0;
  while (compared < test::draws(300)) {
    test::RandomPipeline c = random.next();
    const std::int64_t directions =
        placement_of(c.schedule) == StagePlacement::kBidirectional ? 2 : 1;
    c.shape.micro_batches = 8 * c.shape.ranks;
    const PipelineProgram shortened = program_of(c);
    if (shortened.rounds() == 0) {
      continue;
    }
    ++compared;
    c.shape.micro_batches += 4 * c.shape.ranks;
    const std::int64_t more = 4 * c.shape.ranks / directions / shortened.micro_batches_of_round();
    const PipelineTimes own{c.stages, c.transfer};
    PipelineTimes other = own;
    for (StageDuration& stage : other.stages) {
      stage.forward = 1.3 * stage.forward;
    }
    const PipelineEnds expected = program_of(c).run(own, scratch);
    const PipelineEnds found = shortened.run(own, scratch, more);
    const PipelineEnds between = shortened.run(other, scratch, more);
    CHECK(between.ranks.size() == found.ranks.size());
    const PipelineEnds again = shortened.run(own, scratch, more);
    CAPTURE(name(c.schedule), c.shape.ranks, c.shape.chunks);
    for (std::size_t rank = 0; rank < expected.ranks.size(); ++rank) {
      const RankEnds& own_ends = found.ranks[rank];
      CHECK(own_ends.end.value() == Approx(expected.ranks[rank].end.value()).epsilon(1e-11));
      CHECK(own_ends.transfer.value() ==
            Approx(expected.ranks[rank].transfer.value()).epsilon(1e-9).margin(1e-9));
      CHECK(again.ranks[rank].end == own_ends.end);
      CHECK(again.ranks[rank].bubble == own_ends.bubble);
      CHECK(again.ranks[rank].transfer == own_ends.transfer);
    }
    CHECK(again.chunk_end == found.chunk_end);
  }
}

// Times in 64ths of a second, whose sums are exact in whatever order they are made.
Seconds whole_64ths(Seconds time) { return Seconds(std::round(64.0 * time.value()) / 64.0); }

// A pipeline with many rounds: stages that are unlike or all but alike, transfers from none to many
// times a stage, parameters that come late.
test::RandomPipeline long_pipeline(test::RandomPipelines& random, int round) {
  test::RandomPipeline c = random.next();
  c.shape.micro_batches = 1 + (round * 7) % (30 * c.shape.ranks);
  c.transfer = static_cast<double>(round % 4 == 0 ? 2 * c.shape.ranks : 1) * c.transfer;
  for (StageDuration& stage : c.stages) {
    if (round % 3 == 0) {
      stage.forward = Seconds(1.0) + 0.02 * stage.forward;
      stage.backward = Seconds(2.0) + 0.02 * stage.backward;
      stage.weight = Seconds(1.0);
    }
    if (round % 5 == 0) {
      stage.ready = 30.0 * stage.backward;
      stage.first_extra = 9.0 * stage.forward;
      stage.last_extra = 0.4 * stage.forward;
    }
    for (Seconds* time : {&stage.forward, &stage.backward, &stage.weight, &stage.ready,
                          &stage.first_extra, &stage.last_extra}) {
      *time = whole_64ths(*time);
    }
    if (stage.overlapped) {
      stage.overlapped = max(stage.forward, stage.backward);
    }
  }
  c.transfer = whole_64ths(c.transfer);
  return c;
}

bool same_bits(const std::vector<RankTimeline>& one_by_one, const PipelineEnds& ends) {
  for (std::size_t rank = 0; rank < one_by_one.size(); ++rank) {
    const RankTimeline& expected = one_by_one[rank];
    const RankEnds& found = ends.ranks[rank];
    const auto chunks = std::ssize(expected.chunk_end);
    if (found.end != expected.end || found.bubble != expected.bubble ||
        found.transfer != expected.transfer || found.parameters != expected.parameters ||
        !std::equal(expected.chunk_end.begin(), expected.chunk_end.end(),
                    ends.chunk_end.begin() + static_cast<std::ptrdiff_t>(rank) * chunks)) {
      return false;
    }
  }
  return true;
}

TEST_CASE("rounds that are left out change no bit of any schedule", "[property]") {
  test::RandomPipelines random(31);
  PipelineScratch scratch;
  for (int round = 0; round < test::draws(600); ++round) {
    const test::RandomPipeline c = long_pipeline(random, round);
    const std::vector<RankTimeline> one_by_one =
        pipeline_timeline(c.schedule, c.shape, c.stages, c.transfer);
    CAPTURE(round, name(c.schedule), c.shape.ranks, c.shape.chunks, c.shape.micro_batches);
    const PipelineTimes times{c.stages, c.transfer};
    REQUIRE(same_bits(one_by_one, program_of(c).run(times, scratch)));
    // The program of fewer micro-batches, as many rounds longer.
    const std::int64_t group = 2 * c.shape.ranks;
    test::RandomPipeline shortened = c;
    shortened.shape.micro_batches = 4 * group + c.shape.micro_batches % group;
    const std::int64_t left_out = c.shape.micro_batches - shortened.shape.micro_batches;
    if (left_out <= 0) {
      continue;
    }
    const PipelineProgram program = program_of(shortened);
    if (program.rounds() > 0) {
      const bool both_ways = placement_of(c.schedule) == StagePlacement::kBidirectional;
      const std::int64_t more = left_out / (both_ways ? 2 : 1) / program.micro_batches_of_round();
      REQUIRE(same_bits(one_by_one, program.run(times, scratch, more)));
    }
  }
}

// Outputs that are kept tell how many rounds were run.
TEST_CASE("the rounds that are run are few however many a step has", "[property]") {
  test::RandomPipelines random(37);
  for (int round = 0; round < test::draws(300); ++round) {
    test::RandomPipeline c = long_pipeline(random, round);
    c.shape.micro_batches = 8 * c.shape.ranks;
    const PipelineProgram program = program_of(c);
    CAPTURE(round, name(c.schedule), c.shape.ranks, c.shape.chunks);
    REQUIRE(program.rounds() > 0);
    PipelineScratch scratch;
    (void)program.run({c.stages, c.transfer}, scratch, 100'000'000);
    const std::int64_t of_round = 2 * stage_count(c.shape) * program.micro_batches_of_round();
    CHECK(std::ssize(scratch.outputs) / of_round < 2'000);
  }
}

TEST_CASE("a long steady state is as short a program as a brief one", "[property]") {
  for (const Schedule schedule :
       {Schedule::kGpipe, Schedule::kOneFOneB, Schedule::kZbH1, Schedule::kZbV, Schedule::kVHalf,
        Schedule::kDualPipe, Schedule::kDualPipeV}) {
    CAPTURE(name(schedule));
    const std::int64_t chunks = chunks_for(schedule, 1);
    const auto tasks = [&](std::int64_t micro_batches) {
      const PipelineShape shape{8, chunks, micro_batches};
      return PipelineProgram(schedule, shape, pipeline_orders(schedule, shape)).tasks_kept();
    };
    CHECK(tasks(128) == tasks(256));
  }
  const auto interleaved = [](std::int64_t micro_batches) {
    const PipelineShape shape{8, 4, micro_batches};
    return PipelineProgram(Schedule::kInterleaved, shape,
                           pipeline_orders(Schedule::kInterleaved, shape))
        .tasks_kept();
  };
  CHECK(interleaved(256) == interleaved(512));
}

}  // namespace
}  // namespace stepcast::pipeline_program_property_test
