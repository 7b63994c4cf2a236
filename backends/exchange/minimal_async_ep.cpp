// SPDX-License-Identifier: Apache-2.0
// torchtitan's MinimalAsyncEP: each (token, expert) row pushed to its final place on the peer by
// stores of compute units, with a barrier; no deduplication and no waiting of the host.
//
//   t = start_up + T K (W-1)/W b / (link_share B_up)
// The rate holds metadata, barriers and waiting for slower peers: it was derived from the time of
// all of a step's exchange kernels. Assumes that rows of other domains go over the network
// directly, which was not published.
#include "backends/exchange/dispatchers.hpp"
#include "backends/exchange/exchange_kernel.hpp"

namespace stepcast {

OpCost minimal_async_ep_exchange(const ExpertExchange& op, const FabricContext& context) {
  const DispatcherConstants& constants = context.cluster.device.exchange.minimal_async_ep;
  const bool dispatch = op.phase == ExchangePhase::kDispatch;
  const ExchangeTraffic traffic = expert_traffic(op, context.cluster.domain_size());
  const TransferTime time =
      transfer_time(transfer_of(op, traffic), dispatch ? constants.dispatch : constants.combine,
                    exchange_links(op, context.cluster), constants.relay_share);
  return kernel_cost(time, units_of(op, constants.units, context.cluster.device), context.detail);
}

}  // namespace stepcast
