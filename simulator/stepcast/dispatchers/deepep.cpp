// SPDX-License-Identifier: Apache-2.0
// DeepEP's normal kernels, version 1.
//
//   t = as exchange_kernel.hpp, with one row a node over the network and one a rank inside
//
// The waiting of the host for the counts of rows lies in the start-up. Dispatch in backward has a
// cached layout, which is not modelled. Assumes that all GPUs of a node are members; without that a
// rank gets its own NICs only.
//
// Memory is DeepEP's own size hints for 16-bit rows (deepep.hpp). Its kernels see 8 GPUs over
// NVLink: they take at most 8 ranks, or a multiple of 8; a receive buffer for the worst case exists
// within a domain only. Projected as a collective, it is PXN: rows are gathered on the GPU of the
// destination's rail.
#include "stepcast/dispatchers/deepep.hpp"

#include <algorithm>

#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/dispatchers/exchange_kernel.hpp"
#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/layer/expert_expansion.hpp"

namespace stepcast {
namespace {

// GPUs that its kernels see over NVLink. Source: DeepEP, csrc/kernels/configs.cuh:
// NUM_MAX_NVL_PEERS.
constexpr std::int64_t kPeers = 8;

// Source: DeepEP, csrc/config.hpp: get_nvl_buffer_size_hint, get_rdma_buffer_size_hint.
constexpr std::int64_t kInteger = 4;   // bytes of a counter
constexpr std::int64_t kMetadata = 8;  // bytes of SourceMeta, of a token
// Bytes of a token: 128 indices of 8, and 128 weights and 128 scales of 4.
constexpr std::int64_t kTokenExtras = 128 * 8 + 128 * 4 + 128 * 4;
constexpr std::int64_t kHeader = 16;        // bytes of a token over the network
constexpr std::int64_t kReserve = 1 << 20;  // bytes, "to be safe"

// Tokens that a channel receives at a time. Source: DeepEP, deep_ep/buffer.py, get_dispatch_config
// and get_combine_config: num_max_nvl_chunked_recv_tokens for up to 8 ranks and for 16 to 64, and
// num_max_rdma_chunked_recv_tokens, 128, which csrc/config.hpp rounds up to a multiple of the 20
// (dispatch) or 28 (combine) tokens sent at a time between 2 nodes. Larger groups have up to 720
// there, which is not modelled.
constexpr std::int64_t kChunkInOneNode = 256;
constexpr std::int64_t kChunkInEachNode = 288;
constexpr std::int64_t kNetworkChunkOfTwoNodes = 140;
constexpr std::int64_t kNetworkChunk = 128;

// Kernels of a call: layout of the choices, notify (counts of rows, prefix sums, a barrier) and the
// rows; for combine notify and the rows. A dispatch in backward has its layout and runs one less.
// Source: DeepEP, csrc/legacy/buffer.hpp, intranode_dispatch, internode_dispatch,
// intranode_combine.
constexpr double kDispatchKernels = 3.0;
constexpr double kCombineKernels = 2.0;

// What arrived is permuted by expert, and a token's local rows are summed before they go back.
void deepep_operators(ExpertLayer& layer) {
  layer.dispatch();
  layer.permute(OpId::kMoePermute, MemoryBoundKind::kPermute, layer.passed_rows());
  layer.experts();
  layer.permute(OpId::kMoeLocalSum, MemoryBoundKind::kUnpermute, layer.passed_rows());
  layer.combine();
}

std::vector<Reason> deepep_refusals(const ParallelPlan& plan, const RecomputeSpec& /*recompute*/) {
  std::vector<Reason> reasons;
  const std::int64_t ranks = plan.ep * plan.etp;
  if (ranks > kPeers && ranks % kPeers != 0) {
    const std::string peers = std::to_string(kPeers);
    reasons.push_back({"dispatcher deepep takes at most " + peers + " ranks or a multiple of " +
                           peers + ", but ep * etp",
                       of_plan(" = ", ranks)});
  }
  if (receive_buffer_of(plan.exchange) == ReceiveBuffer::kWorstCase &&
      !plan.exchanges_in_domain()) {
    reasons.push_back(
        {"dispatcher deepep has a worst_case receive buffer only within one scale-up "
         "domain, and ep",
         of_plan(" = ", plan.ep), " reaches beyond it"});
  }
  return reasons;
}

OpCost deepep_price(const ExpertExchange& op, const FabricContext& context,
                    const CollectiveModel& /*collectives*/) {
  const ClusterSpec& cluster = context.cluster;
  const std::int64_t units = units_of(op, constants_of(op, context).units, cluster.device);
  OpCost cost = kernel_price(op, expert_traffic(op, cluster.domain_size()), context, units);
  cost.launches = op.phase == ExchangePhase::kDispatch ? kDispatchKernels : kCombineKernels;
  return cost;
}

}  // namespace

std::int64_t deepep_aligned(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 128;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::vector<ExchangeBuffer> deepep_buffers(const LayerExchange& exchange) {
  const ExchangeShape& shape = exchange.shape;
  const std::int64_t channels = exchange.units / 2;
  const std::int64_t peers = std::min(shape.ranks, kPeers);
  const std::int64_t nodes = std::max<std::int64_t>(1, shape.ranks / kPeers);
  const std::int64_t chunk = nodes > 1 ? kChunkInEachNode : kChunkInOneNode;
  const std::int64_t token = row_bytes(shape) + kMetadata + kTokenExtras;
  const std::int64_t inside =
      channels * peers * (2 * nodes + 3) * kInteger + channels * peers * chunk * token;
  std::vector<ExchangeBuffer> buffers = {buffer_of("nvlink", deepep_aligned(inside))};
  if (nodes > 1) {
    const std::int64_t network_chunk = nodes == 2 ? kNetworkChunkOfTwoNodes : kNetworkChunk;
    const std::int64_t outside = channels * nodes * (2 * kPeers + 2) * 2 * kInteger +
                                 2 * channels * nodes * network_chunk * (token + kHeader) +
                                 kReserve;
    buffers.push_back(buffer_of("network", deepep_aligned(outside)));
  }
  const bool fixed = receive_buffer_of(exchange.spec) == ReceiveBuffer::kWorstCase;
  const std::int64_t rows = fixed ? shape.ranks * shape.tokens : received_rows(shape);
  buffers.push_back(both_ways("rows", rows, shape));
  return buffers;
}

constinit const DispatcherModel dispatchers::deepep = [] {
  DispatcherModel model = kDeepEpNormal;
  model.equation =
      "start_up + max((T token + R row time) / units + R row_interval, scale-up bytes "
      "/ link rate, scale-out bytes / NIC rate); one row a node, then one a rank";
  model.assumptions = "the three overlap fully; the host's waiting for counts is in start_up";
  model.source = "DeepEP V1 normal kernels: published tables, and its times on 8 GPUs by units";
  model.all_to_all_beyond_domain = CollectiveAlgorithm::kPxn;
  model.second_version = Dispatcher::kDeepEpV2;
  model.low_latency = Dispatcher::kDeepEpLowLatency;
  model.operators = deepep_operators;
  model.units = HeldUnits::kProfile;
  model.refusals = deepep_refusals;
  model.price = deepep_price;
  return model;
}();

}  // namespace stepcast
