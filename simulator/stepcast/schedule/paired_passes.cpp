// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/paired_passes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace stepcast {
namespace {

constexpr Seconds kFarAhead{1e6};  // of the host

struct Turn {
  std::size_t unit = 0;
  bool again = false;
  bool operator==(const Turn&) const = default;
};

struct UnitPair {
  Turn forward;
  Turn backward;
  std::int64_t count = 0;
};

std::vector<UnitPair> pairs_of(const std::vector<UnitRun>& runs) {
  std::vector<Turn> turns;
  for (const UnitRun& run : runs) {
    turns.insert(turns.end(), static_cast<std::size_t>(run.count), {run.unit, run.again});
  }
  std::vector<UnitPair> pairs;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const Turn& mirrored = turns[turns.size() - 1 - i];
    const auto known = std::find_if(pairs.begin(), pairs.end(), [&](const UnitPair& pair) {
      return pair.forward == turns[i] && pair.backward == mirrored;
    });
    if (known == pairs.end()) {
      pairs.push_back({turns[i], mirrored, 1});
    } else {
      ++known->count;
    }
  }
  return pairs;
}

TimeBreakdown time_of(const UnitPair& pair, const StepTasks& tasks) {
  const UnitTasks& backward = tasks.units[pair.backward.unit];
  TaskList second;
  if (pair.backward.again) {
    second = backward.again;
  }
  second.insert(second.end(), backward.backward.begin(), backward.backward.end());
  RankStreams streams(kFarAhead);
  streams.run(tasks.units[pair.forward.unit].forward, second);
  TimeBreakdown spent = streams.totals().spent;
  spent.host += max(Seconds{}, streams.totals().launching - streams.totals().now);
  return spent;
}

}  // namespace

std::optional<TimeBreakdown> saved_by_pair(const StageProgram& program, const PassTime& forward,
                                           const PassTime& backward) {
  const TrafficRule& rule = program.rule;
  for (const Frequency often : {rule.forward_gather, rule.backward_gather, rule.reduce}) {
    if (often == Frequency::kEveryMicroBatch) {
      return std::nullopt;
    }
  }
  TimeBreakdown saved = forward.spent;
  saved += backward.spent;
  for (const UnitPair& pair : pairs_of(program.runs)) {
    saved = saved - static_cast<double>(pair.count) * time_of(pair, program.tasks);
  }
  return saved.total() > Seconds{} ? saved : TimeBreakdown{};
}

RankOrder paired_order(const RankOrder& order) {
  RankOrder pairs;
  pairs.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool pair = i + 1 < order.size() && order[i].kind == TaskKind::kBackward &&
                      order[i + 1].kind == TaskKind::kForward;
    if (!pair) {
      pairs.push_back(order[i]);
      continue;
    }
    PipelineTask both = order[i + 1];
    both.kind = TaskKind::kOverlapped;
    both.backward_chunk = order[i].chunk;
    both.backward_micro_batch = order[i].micro_batch;
    pairs.push_back(both);
    ++i;
  }
  return pairs;
}

}  // namespace stepcast
