// SPDX-License-Identifier: Apache-2.0
// Pipelines of every schedule, of random shapes and durations.
#pragma once

#include <random>
#include <vector>

#include "stepcast/pipeline/pipeline_timeline.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast::test {

struct RandomPipeline {
  Schedule schedule = Schedule::kOneFOneB;
  PipelineShape shape;
  std::vector<StageDuration> stages;
  Seconds transfer;
};

class RandomPipelines {
 public:
  explicit RandomPipelines(std::uint64_t seed) : random_(seed) {}

  RandomPipeline next() {
    RandomPipeline result;
    const auto all = static_cast<std::int64_t>(schedule_infos().size());
    result.schedule = schedule_infos()[static_cast<std::size_t>(whole(0, all - 1))].schedule;
    PipelineShape& shape = result.shape;
    shape.ranks = whole(1, 16);
    if (result.schedule == Schedule::kDualPipe) {
      shape.ranks += shape.ranks % 2;
    }
    const bool loops = result.schedule == Schedule::kInterleaved;
    shape.chunks = loops ? whole(1, 4) : chunks_for(result.schedule, 1);
    shape.micro_batches = whole(1, whole(1, 4) == 1 ? 2 * shape.ranks + 3 : 12);
    for (std::int64_t i = 0; i < stage_count(shape); ++i) {
      StageDuration stage{time(), time()};
      stage.weight = 0.01 * static_cast<double>(whole(0, 100)) * stage.backward;
      if (whole(0, 1) == 1) {
        stage.overlapped = max(stage.forward, stage.backward);
      }
      result.stages.push_back(stage);
    }
    result.transfer = whole(0, 1) == 1 ? time() : Seconds{};
    return result;
  }

 private:
  std::int64_t whole(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  Seconds time() { return Seconds(std::uniform_real_distribution<double>(0.1, 3.0)(random_)); }

  std::mt19937_64 random_;
};

}  // namespace stepcast::test
