// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/exchange_spec.hpp"

namespace stepcast {

Dispatcher carried_by(const ExchangeSpec& spec) {
  return spec.collective_only ? Dispatcher::kAllToAll : spec.dispatcher;
}

Routing routing_of(const ExchangeSpec& spec, const MoeSpec& moe) {
  Routing routing;
  if (spec.routing) {
    routing = *spec.routing;
  } else if (moe.router.groups > 1) {
    routing.kind = RoutingKind::kGroupLimited;
  }
  if (routing.kind == RoutingKind::kGroupLimited && routing.groups <= 1) {
    routing.groups = moe.router.groups;
    routing.groups_per_token = moe.router.topk_groups;
  }
  return routing;
}

}  // namespace stepcast
