// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/paired_passes.hpp"

#include <algorithm>

#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast {
namespace {

constexpr Seconds kFarAhead{1e6};  // of the host

// A layer of the forward pass and the one of the backward pass that runs at the same time; one of
// them is empty where only the other pass has layers left.
struct LayerPair {
  std::optional<LayerInOrder> forward;
  std::optional<LayerInOrder> backward;
  std::int64_t count = 0;
};

std::optional<LayerInOrder> at(const std::vector<LayerInOrder>& layers, std::size_t i) {
  return i < layers.size() ? std::optional(layers[i]) : std::nullopt;
}

std::vector<LayerPair> pairs_of(const StageProgram& forward_stage,
                                const StageProgram& backward_stage) {
  const std::vector<LayerInOrder> forward = layers_in_order(forward_stage.runs);
  std::vector<LayerInOrder> backward = layers_in_order(backward_stage.runs);
  std::reverse(backward.begin(), backward.end());
  std::vector<LayerPair> pairs;
  for (std::size_t i = 0; i < std::max(forward.size(), backward.size()); ++i) {
    const auto known = std::ranges::find_if(pairs, [&](const LayerPair& pair) {
      return pair.forward == at(forward, i) && pair.backward == at(backward, i);
    });
    if (known == pairs.end()) {
      pairs.push_back({at(forward, i), at(backward, i), 1});
    } else {
      ++known->count;
    }
  }
  return pairs;
}

TimeBreakdown time_of(const LayerPair& pair, const StepTasks& tasks,
                      std::vector<StreamSpan>* record = nullptr) {
  TaskList first;
  if (pair.forward) {
    first = tasks.layers[pair.forward->layer].forward;
  }
  TaskList second;
  if (pair.backward) {
    const LayerTasks& layer = tasks.layers[pair.backward->layer];
    second = pair.backward->recomputed ? layer.full_recompute : TaskList{};
    second.insert(second.end(), layer.backward.begin(), layer.backward.end());
  }
  RankStreams streams(kFarAhead, record);
  streams.run(first, second);
  TimeBreakdown spent = streams.totals().spent;
  spent.host += max(Seconds{}, streams.totals().launching - streams.totals().now);
  return spent;
}

bool moves_parameters_every_time(const TrafficRule& rule) {
  const auto rules = {rule.forward_gather, rule.backward_gather, rule.reduce};
  return std::find(rules.begin(), rules.end(), Frequency::kEveryMicroBatch) != rules.end();
}

}  // namespace

bool pairs_passes(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  if (plan.uniform || !context.model.moe) {
    return false;
  }
  return info(plan.schedule).pairs == PairRule::kByItself ||
         pass_order(plan, context.model, context.software) == PassOrder::kPaired;
}

std::optional<PairSpans> spans_of_pair(const StageProgram& forward_stage,
                                       const StageProgram& backward_stage) {
  if (moves_parameters_every_time(forward_stage.rule)) {
    return std::nullopt;
  }
  const std::vector<LayerInOrder> forward = layers_in_order(forward_stage.runs);
  std::vector<LayerInOrder> backward = layers_in_order(backward_stage.runs);
  std::reverse(backward.begin(), backward.end());
  PairSpans pair;
  for (std::size_t i = 0; i < std::max(forward.size(), backward.size()); ++i) {
    std::vector<StreamSpan> spans;
    const TimeBreakdown spent =
        time_of({at(forward, i), at(backward, i), 1}, forward_stage.tasks, &spans);
    for (StreamSpan& span : spans) {
      span.start += pair.duration;
      span.end += pair.duration;
      span.cause += pair.duration;
      pair.spans.push_back(span);
    }
    pair.duration += spent.total();
  }
  return pair;
}

std::optional<TimeBreakdown> saved_by_pair(const StageProgram& forward_stage,
                                           const PassTime& forward,
                                           const StageProgram& backward_stage,
                                           const PassTime& backward) {
  if (moves_parameters_every_time(forward_stage.rule)) {
    return std::nullopt;
  }
  TimeBreakdown saved = forward.spent;
  saved += backward.spent;
  for (const LayerPair& pair : pairs_of(forward_stage, backward_stage)) {
    saved = saved - static_cast<double>(pair.count) * time_of(pair, forward_stage.tasks);
  }
  return saved.total() > Seconds{} ? saved : TimeBreakdown{};
}

}  // namespace stepcast
