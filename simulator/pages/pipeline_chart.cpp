// SPDX-License-Identifier: Apache-2.0
#include "pages/pipeline_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "stepcast/cost/power_state.hpp"
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

class BlockList : public StepListener {
 public:
  explicit BlockList(const ParallelPlan& plan) : plan_(plan) {}

  void task(const TimedTask& timed) override {
    const std::size_t rank = timed.place.rank;
    const PipelineTask& task = timed.span.task;
    const std::int64_t stage = stage_on(plan_.schedule, pipeline_shape(plan_),
                                        static_cast<std::int64_t>(rank), task.chunk);
    blocks_.push_back({rank, static_cast<std::size_t>(task.kind), task.micro_batch, stage,
                       timed.span.start, timed.span.end});
  }
  void rank_end(const RankEnd& end) override {
    blocks_.push_back({end.rank, kOptimizer, -1, -1, end.reduced(), end.end()});
  }

  // Rank after rank.
  std::vector<ChartBlock> take() {
    std::stable_sort(blocks_.begin(), blocks_.end(),
                     [](const ChartBlock& a, const ChartBlock& b) { return a.rank < b.rank; });
    return std::move(blocks_);
  }

 private:
  const ParallelPlan& plan_;
  std::vector<ChartBlock> blocks_;
};

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
  BlockList list(projection.plan);
  const Seconds step = StepTimer(context).at(projection.clock, &list).step;
  const std::vector<ChartBlock> blocks = list.take();
  nlohmann::ordered_json chart = {{"step_s", projection.time.step.value()},
                                  {"ranks", projection.plan.pp},
                                  {"blocks", blocks.size()},
                                  {"parts", kParts}};
  if (std::ssize(blocks) > kMostBlocks) {
    chart["trace"] = true;
    return chart;
  }
  const double scale = projection.time.step / step;
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
