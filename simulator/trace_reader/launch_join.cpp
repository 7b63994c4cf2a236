// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/launch_join.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>

namespace stepcast {
namespace {

// A call whose operator is looked for at a time of a thread.
struct Query {
  double at = 0.0;
  std::size_t call = 0;
  auto operator<=>(const Query&) const = default;
};

// Finds the innermost operator of one thread at each of the times.
void find_operators(std::vector<std::int32_t>& places, std::vector<Query>& queries,
                    TraceRecording& recording) {
  std::deque<HostOperator>& all = recording.operators;
  const auto op = [&all](std::int32_t place) -> HostOperator& {
    return all[static_cast<std::size_t>(place)];
  };
  std::ranges::sort(places, {}, [&op](std::int32_t place) {
    return std::tuple(op(place).start, -op(place).end, place);
  });
  std::ranges::sort(queries);
  std::vector<std::int32_t> open;
  const auto close_until = [&](double time) {
    while (!open.empty() && op(open.back()).end <= time) {
      open.pop_back();
    }
  };
  std::size_t next = 0;
  const auto open_until = [&](double time) {
    for (; next < places.size() && op(places[next]).start <= time; ++next) {
      close_until(op(places[next]).start);
      op(places[next]).parent = open.empty() ? -1 : open.back();
      open.push_back(places[next]);
    }
  };
  for (const Query& query : queries) {
    open_until(query.at);
    close_until(query.at);
    recording.calls[query.call].op = open.empty() ? -1 : open.back();
  }
}

// By the number that the profiler gave the operator, where the launch is not known.
void find_by_external_id(TraceRecording& recording) {
  std::vector<std::pair<std::int64_t, std::int32_t>> ids;
  for (std::size_t i = 0; i < recording.operators.size(); ++i) {
    if (recording.operators[i].external > 0) {
      ids.emplace_back(recording.operators[i].external, static_cast<std::int32_t>(i));
    }
  }
  std::ranges::sort(ids);
  for (DeviceCall& call : recording.calls) {
    if (call.op >= 0 || call.in_graph || call.external <= 0) {
      continue;
    }
    const auto found = std::ranges::lower_bound(ids, std::pair(call.external, 0));
    if (found != ids.end() && found->first == call.external) {
      call.op = found->second;
    }
  }
}

// The transfers that are launched at a time: those called between the end of the batch before and
// the start of the one that is launched then. None if no batch is, or if both overlap, as in a
// trace whose times are wrong.
std::span<const CalledTransfer> called_before(const ThreadTransfers& thread, double launched) {
  const auto after =
      std::ranges::upper_bound(thread.launches, launched, {}, &CoalescedLaunch::start);
  if (after == thread.launches.begin() || std::prev(after)->end < launched) {
    return {};
  }
  const auto launch = std::prev(after);
  const double since = launch == thread.launches.begin() ? -std::numeric_limits<double>::infinity()
                                                         : std::prev(launch)->end;
  const auto from = [&](double time) {
    return std::ranges::lower_bound(thread.called, time, {}, &CalledTransfer::start);
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
  const bool same = std::ranges::all_of(calls, [&](const CalledTransfer& call) {
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

void join_launches(std::deque<TracedLaunch> launches,
                   std::vector<std::vector<std::int32_t>> threads, TraceRecording& recording) {
  std::ranges::sort(launches);
  std::vector<std::vector<Query>> queries(threads.size());
  for (std::size_t i = 0; i < recording.calls.size(); ++i) {
    DeviceCall& call = recording.calls[i];
    const auto launch =
        std::ranges::lower_bound(launches, call.correlation, {}, &TracedLaunch::correlation);
    if (call.correlation == 0 || launch == launches.end() ||
        launch->correlation != call.correlation) {
      continue;
    }
    call.launched = launch->start;
    call.thread = launch->thread;
    call.in_graph = launch->graph;
    if (!launch->graph) {
      queries[static_cast<std::size_t>(launch->thread)].push_back({launch->start, i});
    }
  }
  for (std::size_t thread = 0; thread < threads.size(); ++thread) {
    find_operators(threads[thread], queries[thread], recording);
  }
  find_by_external_id(recording);
}

void join_transfers(std::vector<ThreadTransfers> threads, TraceRecording& recording) {
  for (ThreadTransfers& thread : threads) {
    std::ranges::sort(thread.called);
    std::ranges::sort(thread.launches);
  }
  for (DeviceCall& call : recording.calls) {
    if (!call.launched || call.thread < 0 || call.collective >= 0 ||
        !recording.texts.text(call.name).starts_with("nccl")) {
      continue;
    }
    const ThreadTransfers& thread = threads[static_cast<std::size_t>(call.thread)];
    call.collective = carried(called_before(thread, *call.launched), recording);
    call.category = call.collective < 0 ? call.category : StepCategory::kSendRecv;
  }
}

}  // namespace stepcast
