// SPDX-License-Identifier: Apache-2.0
#include "backends/exchange/exchange.hpp"

#include <array>

#include "backends/exchange/dispatchers.hpp"

namespace stepcast {
namespace {

constexpr std::array kInfos = {
    DispatcherInfo{Dispatcher::kAllGather,
                   "the backend's all-gather (dispatch) or reduce-scatter (combine) of W T rows",
                   "all tokens go to all ranks; local maps and sums are other operators",
                   "Megatron-LM, moe_token_dispatcher_type allgather"},
    DispatcherInfo{
        Dispatcher::kAllToAll,
        "the backend's all-to-all of T K rows; dispatch + all-to-all of counts + host_sync",
        "no deduplication; permutations are other operators; the most loaded rank sets the pace",
        "Megatron-LM, moe_token_dispatcher_type alltoall"},
    DispatcherInfo{Dispatcher::kDeepEp,
                   "start_up + max((T token + R row time) / units + R row_interval, scale-up bytes "
                   "/ link rate, scale-out bytes / NIC rate); one row a node, then one a rank",
                   "the three overlap fully; the host's waiting for counts is in start_up",
                   "DeepEP V1 normal kernels: published tables, and its times on 8 GPUs by units"},
    DispatcherInfo{Dispatcher::kDeepEpV2,
                   "as deepep, with units = 1.25 x unit copies / link time, even, at least 4",
                   "200 GB/s read and 50 GB/s written a unit decide on the units",
                   "DeepEP V2: published tables, and its choice of units"},
    DispatcherInfo{Dispatcher::kDeepEpLowLatency,
                   "start_up + max(scale-up bytes / link rate, scale-out bytes / NIC rate) of T K "
                   "rows with a header of 16 bytes at dispatch",
                   "no deduplication; no units are held while rows are on their way",
                   "DeepEP low-latency kernels: published table"},
    DispatcherInfo{Dispatcher::kHybridEp,
                   "as deepep + permutation over HBM; dispatch + all-gather and scan of the "
                   "routing map + host_sync",
                   "a byte of map for each token and expert; nothing overlaps",
                   "HybridEP: published tables of its Python interface and of its kernels"},
    DispatcherInfo{Dispatcher::kSonic,
                   "start_up + bytes over links / rate; combine of rs and dedup + local_combine "
                   "over HBM; auto: the fastest primitive",
                   "tokens are in symmetric memory; no overlap",
                   "SonicMoE expert parallelism: published table of 4 GPUs"},
    DispatcherInfo{Dispatcher::kMinimalAsyncEp,
                   "start_up + T K (W-1)/W rows pushed / rate of a pushing kernel",
                   "no deduplication, no host; the rate holds barriers and waiting",
                   "torchtitan MinimalAsyncEP: profile of a step on 8 H100"},
};

}  // namespace

OpCost exchange_cost(const ExpertExchange& op, const FabricContext& context,
                     const CollectiveModel& collectives) {
  if (op.group.size <= 1) {
    return {};
  }
  switch (op.dispatcher) {
    case Dispatcher::kAllGather:
      return allgather_exchange(op, context, collectives);
    case Dispatcher::kAllToAll:
      return alltoall_exchange(op, context, collectives);
    case Dispatcher::kDeepEp:
      return deepep_exchange(op, context);
    case Dispatcher::kDeepEpV2:
      return deepep_v2_exchange(op, context);
    case Dispatcher::kDeepEpLowLatency:
      return low_latency_exchange(op, context);
    case Dispatcher::kHybridEp:
      return hybridep_exchange(op, context, collectives);
    case Dispatcher::kSonic:
      return sonic_exchange(op, context);
    case Dispatcher::kMinimalAsyncEp:
      return minimal_async_ep_exchange(op, context);
  }
  return {};
}

std::span<const DispatcherInfo> dispatcher_infos() { return kInfos; }

}  // namespace stepcast
