// SPDX-License-Identifier: Apache-2.0
#include "pages/page_charts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "stepcast/base/each_of.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/experiment/explain.hpp"
#include "stepcast/report/step_reports.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// --- the roofline -------------------------------------------------------------------------------

// The dtype of a matrix product; nothing of other operators.
std::optional<Dtype> product_dtype(const Op& op) {
  return std::visit(
      [](const auto& work) -> std::optional<Dtype> {
        using Work = std::decay_t<decltype(work)>;
        if constexpr (std::is_same_v<Work, MemoryBound> || kIsCommunication<Work>) {
          return std::nullopt;
        } else {
          return work.dtype;
        }
      },
      op.work);
}

// The dense peak of each format that the products of a step have, at the step's clock.
Json peaks_of(const Explanation& explanation, const DeviceSpec& device) {
  std::vector<Dtype> seen;
  Json peaks = Json::array();
  for (const ExplainedOp& entry : explanation.operators) {
    const std::optional<Dtype> dtype = product_dtype(entry.counted.op);
    if (!dtype || std::ranges::find(seen, *dtype) != seen.end()) {
      continue;
    }
    seen.push_back(*dtype);
    const std::optional<FlopsPerSecond> peak =
        device.matrix_peak(*dtype, explanation.projection.clock);
    if (peak) {
      peaks.push_back({{"dtype", name(*dtype)}, {"flop_per_s", peak->value()}});
    }
  }
  return peaks;
}

// --- the pipeline -------------------------------------------------------------------------------

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
    std::ranges::stable_sort(blocks_, {}, &ChartBlock::rank);
    return std::move(blocks_);
  }

 private:
  const ParallelPlan& plan_;
  std::vector<ChartBlock> blocks_;
};

}  // namespace

nlohmann::ordered_json operator_chart(const Experiment& experiment,
                                      const Explanation& explanation) {
  if (!explanation.projection.priced) {
    return nullptr;
  }
  const DeviceSpec& device = experiment.cluster.device;
  nlohmann::ordered_json operators = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < explanation.operators.size(); ++i) {
    const Op& op = explanation.operators[i].counted.op;
    const double work = flops(op).value();
    const double bytes = compulsory_bytes(op).value();
    if (work > 0.0 && bytes > 0.0) {
      operators.push_back({{"operator", i}, {"flops", work}, {"bytes", bytes}});
    }
  }
  return {{"memory_bytes_per_s", device.hbm.peak.value()},
          {"clock_mhz", explanation.projection.clock.value() / 1e6},
          {"peaks", peaks_of(explanation, device)},
          {"operators", std::move(operators)}};
}

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

nlohmann::ordered_json projection_charts(const Experiment& experiment, const Projection& projection,
                                         const CostModel& cost) {
  if (!projection.priced) {
    return nullptr;
  }
  const Explanation explanation = explain(experiment, cost);
  const nlohmann::ordered_json whole = to_json(explanation, Detail::kDuration);
  nlohmann::ordered_json charts = explanation_charts(experiment, explanation, cost);
  for (const char* key : {"bound_by", "sensitivities", "operators"}) {
    charts["explanation"][key] = whole.at(key);
  }
  return charts;
}

nlohmann::ordered_json explanation_charts(const Experiment& experiment,
                                          const Explanation& explanation, const CostModel& cost) {
  if (!explanation.projection.priced) {
    return nullptr;
  }
  return {{"capacity_bytes", explanation.projection.memory_capacity.value()},
          {"pipeline", pipeline_chart(experiment, explanation.projection, cost)},
          {"roofline", operator_chart(experiment, explanation)}};
}

nlohmann::ordered_json comparison_charts(const std::vector<ComparedColumn>& columns) {
  return {{"capacity_bytes", each_of(columns,
                                     [](const ComparedColumn& column) {
                                       return column.projection.memory_capacity.value();
                                     })},
          {"labels", labels_apart(columns).own}};
}

}  // namespace stepcast
