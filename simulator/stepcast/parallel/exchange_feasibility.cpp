// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/exchange_feasibility.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kDeepEpPeers = 8;

bool within_a_domain(const ParallelPlan& plan) {
  return plan.ep_in_domain == 0 || plan.ep <= plan.ep_in_domain;
}

// Primitives whose peers must reach each other's memory.
bool needs_peers(ExchangePrimitive primitive) {
  return primitive != ExchangePrimitive::kAuto && primitive != ExchangePrimitive::kNodeDedup;
}

std::vector<std::string> deepep_reasons(const ParallelPlan& plan) {
  std::vector<std::string> reasons;
  const std::int64_t ranks = plan.ep * plan.etp;
  if (ranks > kDeepEpPeers && ranks % kDeepEpPeers != 0) {
    reasons.push_back(
        "dispatcher deepep takes at most 8 ranks or a multiple of 8, but ep * etp = " +
        std::to_string(ranks));
  }
  if (receive_buffer_of(plan.exchange) == ReceiveBuffer::kWorstCase && !within_a_domain(plan)) {
    reasons.push_back(
        "dispatcher deepep has a worst_case receive buffer only within one scale-up "
        "domain, and ep = " +
        std::to_string(plan.ep) + " reaches beyond it");
  }
  return reasons;
}

std::vector<std::string> sonic_reasons(const ParallelPlan& plan) {
  std::vector<std::string> reasons;
  if (plan.etp > 1) {
    reasons.emplace_back("dispatcher sonic has no expert tensor parallelism: etp must be 1");
  }
  const bool peers =
      needs_peers(plan.exchange.dispatch_primitive) || needs_peers(plan.exchange.combine_primitive);
  if (peers && !within_a_domain(plan)) {
    reasons.push_back("dispatcher sonic beyond one scale-up domain (ep = " +
                      std::to_string(plan.ep) + ") has the primitive node_dedup only");
  }
  return reasons;
}

std::vector<std::string> minimal_async_reasons(const ParallelPlan& plan,
                                               const RecomputeSpec& recompute) {
  std::vector<std::string> reasons;
  if (!within_a_domain(plan)) {
    reasons.push_back("dispatcher minimal_async_ep writes into its peers' memory: ep = " +
                      std::to_string(plan.ep) + " must fit one scale-up domain");
  }
  const bool again =
      recompute.kind == RecomputeKind::kFull || recompute.recomputes(RecomputeModule::kMoe);
  if (!again) {
    reasons.emplace_back(
        "dispatcher minimal_async_ep overwrites what arrived: it needs recompute full, or "
        "selective with moe");
  }
  return reasons;
}

}  // namespace

std::vector<std::string> exchange_reasons(const ParallelPlan& plan,
                                          const RecomputeSpec& recompute) {
  switch (carried_by(plan.exchange)) {
    case Dispatcher::kDeepEp:
      return deepep_reasons(plan);
    case Dispatcher::kSonic:
      return sonic_reasons(plan);
    case Dispatcher::kMinimalAsyncEp:
      return minimal_async_reasons(plan, recompute);
    default:
      return {};
  }
}

}  // namespace stepcast
