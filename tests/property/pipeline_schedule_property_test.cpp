// SPDX-License-Identifier: Apache-2.0
// Every schedule, whatever the pipeline and the durations, held against the rules of a pipeline
// alone.
#include "catch.hpp"
#include "property/draws.hpp"
#include "property/random_pipelines.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast::pipeline_schedule_property_test {
namespace {

using Case = test::RandomPipeline;

// When each stage ended each part of each micro-batch, and where, from the spans alone.
class EndTimes {
 public:
  struct End {
    Seconds time{-1.0};
    std::int64_t rank = -1;
  };

  explicit EndTimes(const Case& c)
      : case_(c), ends_(3 * c.stages.size() * static_cast<std::size_t>(c.shape.micro_batches)) {}

  // Notes the parts of `span`; false if one is there already.
  bool add(std::int64_t rank, const TaskSpan& span) {
    const PipelineTask& task = span.task;
    const End end{span.end, rank};
    const auto set = [&](std::size_t part, std::int32_t chunk, std::int32_t micro_batch) {
      End& entry = at(part, stage(rank, chunk), micro_batch);
      const bool fresh = entry.rank < 0;
      entry = end;
      ++count_;
      return fresh;
    };
    switch (task.kind) {
      case TaskKind::kForward:
        return set(kForward, task.chunk, task.micro_batch);
      case TaskKind::kInputGradient:
        return set(kInput, task.chunk, task.micro_batch);
      case TaskKind::kWeightGradient:
        return set(kWeight, task.chunk, task.micro_batch);
      case TaskKind::kBackward:
        return set(kInput, task.chunk, task.micro_batch) &&
               set(kWeight, task.chunk, task.micro_batch);
      case TaskKind::kOverlapped:
        break;
    }
    return set(kForward, task.chunk, task.micro_batch) &&
           set(kInput, task.backward_chunk, task.backward_micro_batch) &&
           set(kWeight, task.backward_chunk, task.backward_micro_batch);
  }
  [[nodiscard]] bool complete() const { return count_ == ends_.size(); }

  // When everything that `task` of `rank` needs has arrived.
  Seconds arrival(std::int64_t rank, const PipelineTask& task) {
    switch (task.kind) {
      case TaskKind::kForward:
        return forward_arrival(rank, task.chunk, task.micro_batch);
      case TaskKind::kBackward:
      case TaskKind::kInputGradient:
        return backward_arrival(rank, task.chunk, task.micro_batch);
      case TaskKind::kWeightGradient:
        return at(kInput, stage(rank, task.chunk), task.micro_batch).time;
      case TaskKind::kOverlapped:
        break;
    }
    return max(forward_arrival(rank, task.chunk, task.micro_batch),
               backward_arrival(rank, task.backward_chunk, task.backward_micro_batch));
  }

  [[nodiscard]] std::size_t stage(std::int64_t rank, std::int32_t chunk) const {
    return static_cast<std::size_t>(stage_on(case_.schedule, case_.shape, rank, chunk));
  }

 private:
  static constexpr std::size_t kForward = 0;
  static constexpr std::size_t kInput = 1;
  static constexpr std::size_t kWeight = 2;

  End& at(std::size_t part, std::size_t stage, std::int32_t micro_batch) {
    return ends_[(part * case_.stages.size() + stage) *
                     static_cast<std::size_t>(case_.shape.micro_batches) +
                 static_cast<std::size_t>(micro_batch)];
  }
  [[nodiscard]] Seconds sent(const End& end, std::int64_t rank) const {
    return end.rank == rank ? end.time : end.time + case_.transfer;
  }
  Seconds forward_arrival(std::int64_t rank, std::int32_t chunk, std::int32_t micro_batch) {
    const std::size_t own = stage(rank, chunk);
    return own == 0 ? Seconds{} : sent(at(kForward, own - 1, micro_batch), rank);
  }
  Seconds backward_arrival(std::int64_t rank, std::int32_t chunk, std::int32_t micro_batch) {
    const std::size_t own = stage(rank, chunk);
    const Seconds forward = at(kForward, own, micro_batch).time;
    return own + 1 == case_.stages.size()
               ? forward
               : max(forward, sent(at(kInput, own + 1, micro_batch), rank));
  }

  const Case& case_;
  std::vector<End> ends_;
  std::size_t count_ = 0;
};

// Breaks of the rules on one rank; empty if there is none.
std::string fault_of_rank(const Case& c, std::int64_t rank, const RankTimeline& timeline,
                          EndTimes& ends) {
  Seconds free;
  Seconds busy;
  for (const TaskSpan& span : timeline.spans) {
    // So spans never overlap, and none starts later than its last cause.
    if (span.start != max(free, ends.arrival(rank, span.task))) {
      return "a task does not start when its rank is free and its input has arrived";
    }
    const PipelineTask& task = span.task;
    const std::size_t back =
        ends.stage(rank, task.kind == TaskKind::kOverlapped ? task.backward_chunk : task.chunk);
    const Seconds length =
        task_duration(task, c.stages[ends.stage(rank, task.chunk)], c.stages[back]);
    if (span.end != span.start + length) {
      return "a task does not take its time";
    }
    free = span.end;
    busy += length;
  }
  const double idle = (timeline.end - busy - timeline.bubble - timeline.transfer).value();
  const bool adds_up = std::abs(idle) <= 1e-9 * timeline.end.value();
  return timeline.end == free && adds_up ? "" : "a rank neither computes nor waits";
}

std::string fault_of(const Case& c) {
  std::vector<RankTimeline> ranks;
  try {
    ranks = pipeline_timeline(c.schedule, c.shape, c.stages, c.transfer);
  } catch (const InternalError& error) {
    return error.what();
  }
  EndTimes ends(c);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const TaskSpan& span : ranks[rank].spans) {
      if (!ends.add(static_cast<std::int64_t>(rank), span)) {
        return "a task runs twice";
      }
    }
  }
  if (!ends.complete()) {
    return "a task is missing";
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string fault = fault_of_rank(c, static_cast<std::int64_t>(rank), ranks[rank], ends);
    if (!fault.empty()) {
      return fault;
    }
  }
  return "";
}

TEST_CASE("no schedule waits for itself, and every task runs once, as soon as it can",
          "[property]") {
  test::RandomPipelines random(11);
  const int kRounds = test::draws(10'000);
  for (int round = 0; round < kRounds; ++round) {
    const Case c = random.next();
    const std::string fault = fault_of(c);
    if (!fault.empty()) {
      CAPTURE(round, name(c.schedule), c.shape.ranks, c.shape.chunks, c.shape.micro_batches);
      REQUIRE(fault == "");
    }
  }
  SUCCEED();
}

// Megatron's users have as many micro-batches as ranks.
TEST_CASE("every schedule runs with as many micro-batches as ranks", "[property]") {
  for (const ScheduleInfo& info : schedule_infos()) {
    for (std::int64_t p = 2; p <= 16; p += 2) {
      const PipelineShape shape{p, chunks_for(info.schedule, 1), p};
      const std::vector<StageDuration> stages(static_cast<std::size_t>(stage_count(shape)),
                                              {Seconds(1.0), Seconds(2.0), Seconds(1.0)});
      CAPTURE(name(info.schedule), p);
      CHECK(fault_of({info.schedule, shape, stages, Seconds(0.25)}) == "");
    }
  }
}

}  // namespace
}  // namespace stepcast::pipeline_schedule_property_test
