// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/rank_waiting.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "stepcast/base/sum.hpp"

namespace stepcast {
namespace {

// One rank's part in a call.
struct Part {
  std::size_t rank = 0;  // place among the traces
  TracedCollective* call = nullptr;
};

// Group, source, destination, order.
using CallKey = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;

std::map<CallKey, std::vector<Part>> same_calls(std::vector<MeasuredStep>& steps) {
  std::map<CallKey, std::vector<Part>> calls;
  for (std::size_t rank = 0; rank < steps.size(); ++rank) {
    for (TracedCollective& call : steps[rank].collectives) {
      if (!call.group.empty()) {
        calls[{call.group, call.source, call.destination, call.order}].push_back({rank, &call});
      }
    }
  }
  return calls;
}

bool agree(const std::vector<Part>& parts) {
  return std::ranges::all_of(parts, [&parts](const Part& part) {
    return part.call->category == parts.front().call->category;
  });
}

class Waiting {
 public:
  explicit Waiting(std::size_t ranks) : ranks_(ranks) {}

  // Of one call that several traces have.
  void add(const std::vector<Part>& parts, RankWaiting& result) {
    const auto last =
        std::ranges::min_element(parts, {}, [](const Part& part) { return part.call->time; });
    WaitedCollective& row = row_of(*parts.front().call, result);
    const Seconds transfer = last->call->time;
    ++row.calls;
    ++row.last[last->rank];
    ++result.ranks[last->rank].last;
    row.transfer += transfer;
    WaitedCall& call = result.calls.emplace_back();
    call.category = row.category;
    call.shape = row.shape;
    call.start = parts.front().call->start;
    call.transfer = transfer;
    call.last = last->rank;
    for (const Part& part : parts) {
      part.call->waiting = part.call->time - transfer;
      call.waiting += part.call->waiting;
      row.waiting[part.rank] += part.call->waiting;
      result.ranks[last->rank].waited_for += part.call->waiting;
      result.ranks[part.rank].waits_for[last->rank] += part.call->waiting;
    }
  }

 private:
  WaitedCollective& row_of(const TracedCollective& call, RankWaiting& result) {
    const auto [known, is_new] =
        rows_.try_emplace(std::pair(call.category, call.shape), result.collectives.size());
    if (is_new) {
      WaitedCollective& row = result.collectives.emplace_back();
      row.category = call.category;
      row.shape = call.shape;
      row.waiting.resize(ranks_);
      row.last.resize(ranks_);
    }
    return result.collectives[known->second];
  }

  std::size_t ranks_;
  std::map<std::pair<StepCategory, std::optional<WorkShape>>, std::size_t> rows_;
};

RankTotals totals_of(const MeasuredStep& step, const std::string& file) {
  RankTotals totals;
  totals.file = file;
  totals.rank = step.head.rank;
  totals.step = step.summary.step;
  totals.exposed = step.summary.exposed_communication;
  totals.idle = step.summary.idle;
  for (std::size_t i = 0; i < kStepCategories; ++i) {
    const bool communicates = is_communication(static_cast<StepCategory>(i));
    (communicates ? totals.communication : totals.computation) += step.summary.device_time[i];
  }
  return totals;
}

Seconds total_waiting(const WaitedCollective& row) { return sum_over(row.waiting); }

}  // namespace

RankWaiting rank_waiting(std::vector<MeasuredStep>& steps, const std::vector<std::string>& files) {
  RankWaiting result;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    result.ranks.push_back(totals_of(steps[i], files[i]));
    result.ranks.back().waits_for.resize(steps.size());
  }
  Waiting waiting(steps.size());
  for (const auto& [key, parts] : same_calls(steps)) {
    if (parts.size() > 1 && agree(parts)) {
      waiting.add(parts, result);
    } else {
      result.alone += parts.size();
    }
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    sum_waiting(steps[i]);
    for (const Seconds of_category : steps[i].summary.waiting) {
      result.ranks[i].waiting += of_category;
    }
  }
  std::ranges::stable_sort(result.calls, {}, &WaitedCall::start);
  std::ranges::stable_sort(result.collectives, std::ranges::greater{}, &total_waiting);
  return result;
}

}  // namespace stepcast
