// SPDX-License-Identifier: Apache-2.0
#include "traces/launch_join.hpp"

#include <algorithm>

namespace stepcast {
namespace {

// A call whose operator is looked for at a time of a thread.
struct Query {
  double at = 0.0;
  std::size_t call = 0;
};

// Finds the innermost operator of one thread at each of the times.
void find_operators(std::vector<std::int32_t>& places, std::vector<Query>& queries,
                    TraceRecording& recording) {
  std::deque<HostOperator>& all = recording.operators;
  const auto op = [&all](std::int32_t place) -> HostOperator& {
    return all[static_cast<std::size_t>(place)];
  };
  std::sort(places.begin(), places.end(), [&op](std::int32_t a, std::int32_t b) {
    return std::tuple(op(a).start, -op(a).end, a) < std::tuple(op(b).start, -op(b).end, b);
  });
  std::sort(queries.begin(), queries.end(), [](const Query& a, const Query& b) {
    return std::pair(a.at, a.call) < std::pair(b.at, b.call);
  });
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
  std::sort(ids.begin(), ids.end());
  for (DeviceCall& call : recording.calls) {
    if (call.op >= 0 || call.in_graph || call.external <= 0) {
      continue;
    }
    const auto found = std::lower_bound(ids.begin(), ids.end(), std::pair(call.external, 0));
    if (found != ids.end() && found->first == call.external) {
      call.op = found->second;
    }
  }
}

}  // namespace

void join_launches(std::deque<TracedLaunch> launches,
                   std::vector<std::vector<std::int32_t>> threads, TraceRecording& recording) {
  std::sort(launches.begin(), launches.end(), [](const TracedLaunch& a, const TracedLaunch& b) {
    return std::tuple(a.correlation, a.start, a.thread) <
           std::tuple(b.correlation, b.start, b.thread);
  });
  std::vector<std::vector<Query>> queries(threads.size());
  for (std::size_t i = 0; i < recording.calls.size(); ++i) {
    DeviceCall& call = recording.calls[i];
    const auto launch = std::lower_bound(launches.begin(), launches.end(), call.correlation,
                                         [](const TracedLaunch& a, std::int64_t correlation) {
                                           return a.correlation < correlation;
                                         });
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

}  // namespace stepcast
