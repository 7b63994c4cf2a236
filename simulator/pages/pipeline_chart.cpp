// SPDX-License-Identifier: Apache-2.0
#include "pages/pipeline_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "stepcast/cost/power_level.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {
namespace {

// In the order of TaskKind, behind which comes the optimizer.
constexpr std::array<std::string_view, 6> kParts = {
    "forward",  "backward", "input gradient", "weight gradient", "forward and backward",
    "optimizer"};
constexpr std::size_t kOptimizer = 5;
static_assert(static_cast<std::size_t>(TaskKind::kOverlapped) + 1 == kOptimizer);

struct ChartBlock {
  std::size_t rank = 0;
  std::size_t part = 0;
  std::int64_t micro_batch = -1;
  std::int64_t stage = -1;
  Seconds start;
  Seconds end;
};

std::int64_t stage_of(const std::vector<RankStage>& stages, const PipelineTask& task) {
  return static_cast<std::int64_t>(stages[static_cast<std::size_t>(task.chunk)].stage);
}

std::vector<ChartBlock> blocks_of(const StepSchedule& schedule, const ParallelPlan& plan) {
  std::vector<ChartBlock> blocks;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const RankTimeline& timeline = schedule.ranks[rank];
    const std::vector<RankStage> stages = stages_of_rank(plan, static_cast<std::int64_t>(rank));
    for (const TaskSpan& span : timeline.spans) {
      blocks.push_back({rank, static_cast<std::size_t>(span.task.kind), span.task.micro_batch,
                        stage_of(stages, span.task), span.start, span.end});
    }
    const Seconds update = timeline.end + schedule.reductions[rank];
    blocks.push_back({rank, kOptimizer, -1, -1, update, update + schedule.updates[rank].total()});
  }
  return blocks;
}

}  // namespace

nlohmann::ordered_json pipeline_chart(const Experiment& experiment, const Projection& projection,
                                      const CostModel& cost) {
  if (!projection.priced) {
    return nullptr;
  }
  const CostModel paced = projection.clock_locked ? cost : within_level(cost);
  const ExpansionContext expansion{experiment.model, projection.plan, experiment.training,
                                   experiment.software};
  const StepContext context{expansion, experiment.cluster, paced, projection.clock};
  if (!can_be_placed(projection.plan)) {
    return {{"step_s", projection.time.step.value()},
            {"ranks", projection.plan.pp},
            {"blocks", 2 * forward_passes(projection.plan)},
            {"parts", kParts},
            {"trace", true}};
  }
  StepTimer timer(context);
  const StepSchedule schedule = timer.schedule(projection.clock);
  const std::vector<ChartBlock> blocks = blocks_of(schedule, projection.plan);
  nlohmann::ordered_json chart = {{"step_s", projection.time.step.value()},
                                  {"ranks", schedule.ranks.size()},
                                  {"blocks", blocks.size()},
                                  {"parts", kParts}};
  if (std::ssize(blocks) > kMostBlocks) {
    chart["trace"] = true;
    return chart;
  }
  const double scale = projection.time.step / timer.at(projection.clock).step;
  const auto microseconds = [scale](Seconds time) {
    return std::llround(scale * time.value() * 1e6);
  };
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ChartBlock& block : blocks) {
    rows.push_back({block.rank, block.part, block.micro_batch, block.stage,
                    microseconds(block.start), microseconds(block.end)});
  }
  chart["rows"] = std::move(rows);
  return chart;
}

}  // namespace stepcast
