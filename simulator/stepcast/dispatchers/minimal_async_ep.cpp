// SPDX-License-Identifier: Apache-2.0
// torchtitan's MinimalAsyncEP: each (token, expert) row pushed to its final place on the peer by
// stores of compute units, with a barrier; no deduplication and no waiting of the host.
//
//   t = start_up + T K (W-1)/W b / (link_share B_up)
// The rate holds metadata, barriers and waiting for slower peers: it was derived from the time of
// all of a step's exchange kernels. Assumes that rows of other domains go over the network
// directly, which was not published.
//
// Rows are weighted, summed and activated by kernels of its own in Triton, compiled model or not;
// the activation stops at the last row that arrived.
//
// Ranks write into their peers' memory, so all of them are in one scale-up domain. The receive
// buffers, two of M rows H b, and counts of W E 8 bytes are shared by all layers: what arrived is
// overwritten, so the experts' forward pass is recomputed. A capacity factor counts as a share of
// T K rows.
#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/dispatchers/exchange_kernel.hpp"
#include "stepcast/layer/expert_expansion.hpp"

namespace stepcast {
namespace {

// Rows arrive in slots by expert; the k rows of a token are summed at its own rank, with their
// weights in forward and as they are in backward (reduce_topk_slots_kernel of torchtitan's
// distributed/minimal_async_ep).
void minimal_async_operators(ExpertLayer& layer) {
  const std::int64_t choices = layer.shape().tokens * layer.shape().topk;
  layer.index(choices);
  layer.sum_gradients(choices);
  layer.dispatch();
  layer.experts();
  layer.combine();
  layer.permute(OpId::kMoeWeightedSum, MemoryBoundKind::kUnpermute, choices);
}

std::int64_t rows_of_choices(const LayerExchange& exchange) {
  return exchange.shape.tokens * exchange.shape.topk;
}

std::vector<Reason> minimal_async_refusals(const ParallelPlan& plan,
                                           const RecomputeSpec& recompute) {
  std::vector<Reason> reasons;
  if (!plan.exchanges_in_domain()) {
    reasons.push_back({"dispatcher minimal_async_ep writes into its peers' memory: ep",
                       of_plan(" = ", plan.ep), " must fit one scale-up domain"});
  }
  const bool recomputed =
      recompute.kind == RecomputeKind::kFull || recompute.recomputes(RecomputeModule::kMoe);
  if (!recomputed) {
    reasons.push_back(
        {"dispatcher minimal_async_ep overwrites what arrived: it needs recompute full, or "
         "selective with moe"});
  }
  return reasons;
}

std::vector<ExchangeBuffer> minimal_async_buffers(const LayerExchange& exchange) {
  constexpr std::int64_t kCount = 8;  // bytes
  const ExchangeShape& shape = exchange.shape;
  return {both_ways("receive", exchange.rows, shape),
          buffer_of("counts", shape.ranks * shape.experts * kCount)};
}

OpCost minimal_async_price(const ExpertExchange& op, const FabricContext& context,
                           const CollectiveModel& /*collectives*/) {
  const ClusterSpec& cluster = context.cluster;
  const std::int64_t units = units_of(op, constants_of(op, context).units, cluster.device);
  return kernel_price(op, expert_traffic(op, cluster.domain_size()), context, units);
}

}  // namespace

constinit const DispatcherModel dispatchers::minimal_async_ep = {
    .equation = "start_up + T K (W-1)/W rows pushed / rate of a pushing kernel",
    .assumptions = "no deduplication, no host; the rate holds barriers and waiting",
    .source = "torchtitan MinimalAsyncEP: profile of a step on 8 H100",
    .receives = {.worst_case = true, .capacity = true, .usual = ReceiveBuffer::kWorstCase},
    .skips_padding = true,
    .operators = minimal_async_operators,
    // The experts' input stays in the receive buffer, which is none of the activations.
    .kept_inputs = DispatcherModel::no_rows,
    .kept_results = rows_of_choices,
    .own_kernels = true,
    .buffers = minimal_async_buffers,
    .refusals = minimal_async_refusals,
    .price = minimal_async_price,
};

}  // namespace stepcast
