// SPDX-License-Identifier: Apache-2.0
#include "traces/exposed_waiting.hpp"

#include <algorithm>

#include "traces/measured_step.hpp"

namespace stepcast {
namespace {

struct Edge {
  double at = 0.0;
  int working = 0;  // change in how many compute or transfer
  int waiting = 0;
};

}  // namespace

Seconds exposed_waiting(const BusyTimes& computing, const std::vector<TracedCollective>& calls) {
  std::vector<Edge> edges;
  for (const auto& [start, end] : computing) {
    edges.push_back({start, 1, 0});
    edges.push_back({end, -1, 0});
  }
  for (const TracedCollective& call : calls) {
    const double start = call.start.value();
    const double transfers = start + call.waiting.value();
    edges.push_back({start, 0, 1});
    edges.push_back({transfers, 1, -1});
    edges.push_back({start + call.time.value(), -1, 0});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  double exposed = 0.0;
  double last = 0.0;
  int working = 0;
  int waiting = 0;
  for (const Edge& edge : edges) {
    exposed += working == 0 && waiting > 0 ? edge.at - last : 0.0;
    working += edge.working;
    waiting += edge.waiting;
    last = edge.at;
  }
  return Seconds(exposed);
}

}  // namespace stepcast
