// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pair_table.hpp"

#include <algorithm>

namespace stepcast {

PairTable::PairTable(const StepWork& work, const StepTasks& tasks,
                     const std::vector<StageTime>& stages, const std::vector<StagePair>& pairs,
                     const SoftwareSpec& software)
    : stages_(stages.size()) {
  if (pairs.empty()) {
    return;
  }
  saved_.resize(stages_ * stages_);
  for (auto pair = pairs.begin(); pair != pairs.end(); ++pair) {
    const auto same = std::find_if(pairs.begin(), pair, [&](const StagePair& earlier) {
      return work.stages[earlier.forward] == work.stages[pair->forward] &&
             work.stages[earlier.backward] == work.stages[pair->backward];
    });
    if (same != pair) {
      at(*pair) = at(*same);
      continue;
    }
    const StageProgram forward{tasks, work.stages[pair->forward], work.rule, software};
    const StageProgram backward{tasks, work.stages[pair->backward], work.rule, software};
    at(*pair) = saved_by_pair(forward, stages[pair->forward].forward, backward,
                              stages[pair->backward].backward)
                    .value_or(TimeBreakdown{});
  }
}

PairSavings PairTable::totals() const {
  PairSavings totals;
  totals.reserve(saved_.size());
  for (const TimeBreakdown& saved : saved_) {
    totals.push_back(saved.total());
  }
  return totals;
}

}  // namespace stepcast
