// SPDX-License-Identifier: Apache-2.0
#include "traces/coalesced_transfers.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>

namespace stepcast {
namespace {

void sort_by_start(ThreadTransfers& thread) {
  std::sort(thread.called.begin(), thread.called.end(),
            [](const CalledTransfer& a, const CalledTransfer& b) {
              return std::tie(a.start, a.collective) < std::tie(b.start, b.collective);
            });
  std::sort(thread.launches.begin(), thread.launches.end(),
            [](const CoalescedLaunch& a, const CoalescedLaunch& b) {
              return std::tie(a.start, a.end) < std::tie(b.start, b.end);
            });
}

// The transfers that are launched at a time: those called between the end of the batch before and
// the start of the one that is launched then. None if no batch is, or if both overlap, as in a
// trace whose times are wrong.
std::span<const CalledTransfer> called_before(const ThreadTransfers& thread, double launched) {
  const auto after = std::upper_bound(
      thread.launches.begin(), thread.launches.end(), launched,
      [](double time, const CoalescedLaunch& launch) { return time < launch.start; });
  if (after == thread.launches.begin() || std::prev(after)->end < launched) {
    return {};
  }
  const auto launch = std::prev(after);
  const double since = launch == thread.launches.begin() ? -std::numeric_limits<double>::infinity()
                                                         : std::prev(launch)->end;
  const auto from = [&](double time) {
    return std::lower_bound(
        thread.called.begin(), thread.called.end(), time,
        [](const CalledTransfer& call, double wanted) { return call.start < wanted; });
  };
  return {from(std::min(since, launch->start)), from(launch->start)};
}

// What a kernel of these transfers carries; below 0: not known.
std::int32_t carried(std::span<const CalledTransfer> calls, TraceRecording& recording) {
  const auto called = [&recording](const CalledTransfer& call) -> const RecordedCollective& {
    return recording.collectives[static_cast<std::size_t>(call.collective)];
  };
  if (calls.size() <= 1) {
    return calls.empty() ? -1 : calls.front().collective;
  }
  RecordedCollective all = called(calls.front());
  const bool same = std::all_of(calls.begin(), calls.end(), [&](const CalledTransfer& call) {
    return called(call).in_elements == all.in_elements && called(call).dtype == all.dtype;
  });
  if (!same) {
    return -1;
  }
  all.group = kNoText;
  all.source = all.destination = -1;
  recording.collectives.push_back(all);
  return static_cast<std::int32_t>(recording.collectives.size()) - 1;
}

}  // namespace

void join_transfers(std::vector<ThreadTransfers> threads, TraceRecording& recording) {
  for (ThreadTransfers& thread : threads) {
    sort_by_start(thread);
  }
  for (DeviceCall& call : recording.calls) {
    if (call.thread < 0 || call.collective >= 0 ||
        !recording.texts.text(call.name).starts_with("nccl")) {
      continue;
    }
    const ThreadTransfers& thread = threads[static_cast<std::size_t>(call.thread)];
    call.collective = carried(called_before(thread, call.launched), recording);
    call.category = call.collective < 0 ? call.category : StepCategory::kSendRecv;
  }
}

}  // namespace stepcast
