// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/known_loads.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace stepcast {
namespace {

// A plan needs one or two: what is kept of a sweep stays small.
constexpr std::size_t kMostEntries = 32;

}  // namespace

KnownLoads::Entry& KnownLoads::entry(const Routing& routing, ExpertChoice choice) {
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.experts == choice.experts && entry.topk == choice.topk && entry.routing == routing;
  });
  if (known != entries_.end()) {
    return *known;
  }
  if (entries_.size() >= kMostEntries) {
    entries_.pop_front();
  }
  Routing own = routing;
  own.shared = {};  // or it would keep itself alive
  entries_.push_back({std::move(own), choice.experts, choice.topk,
                      WeightedChoice(weights_of(routing, choice), choice.topk)});
  return entries_.back();
}

PartLoads KnownLoads::part_loads(const Routing& routing, ExpertChoice choice, std::int64_t parts) {
  const std::scoped_lock lock(asked_);
  Entry& own = entry(routing, choice);
  const auto known = own.parts.find(parts);
  return known != own.parts.end()
             ? known->second
             : own.parts.emplace(parts, own.choice.part_loads(parts)).first->second;
}

std::vector<double> KnownLoads::included(const Routing& routing, ExpertChoice choice) {
  const std::scoped_lock lock(asked_);
  return entry(routing, choice).choice.included();
}

Routing with_shared_loads(Routing routing) {
  if (is_weighted(routing.kind)) {
    routing.shared.known = std::make_shared<KnownLoads>();
  }
  return routing;
}

}  // namespace stepcast
