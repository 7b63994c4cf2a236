// SPDX-License-Identifier: Apache-2.0
// HybridEP: rows once a node over the network, then once a rank, with the permutation of the copies
// in the op.
//
//   dispatch = kernel + all-gather of the routing map (W T E bytes) + W T E / scan_rate + host_sync
//              + permute
//   combine  = kernel + permute
//   permute  = T (D(W) + K) b / (local_share B_hbm): received rows read, copies written, or back
// The kernel is that of exchange_kernel.hpp.
//
// Memory: W T H b of tokens, W T experts-in-domain 4 of probabilities and T (domains - 1) H b for
// the network. A capacity factor counts as a share of the worst case.
//
// Assumes that the map is a byte for each token and expert, and that nothing of this overlaps.
// Wrong for fp8 in domains larger than 8 GPUs at 16 units, where it is published as slower than 16
// bits.
#include <cmath>

#include "stepcast/base/real.hpp"
#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/dispatchers/exchange_kernel.hpp"

namespace stepcast {
namespace {

// Every rank learns where every token goes, and finds the places of its rows.
void add_metadata(OpCost& cost, const ExpertExchange& op, const FabricContext& context,
                  const CollectiveModel& collectives) {
  const DispatcherConstants& constants = constants_of(op, context);
  Collective map;
  map.op = CollectiveOp::kAllGather;
  map.bytes = Bytes(real(op.group.size) * real(op.tokens) * real(op.experts));
  map.group = op.group;
  map.axis = Axis::kExpert;
  add_part(cost, {"routing_map", collectives.collective(map, {context.cluster}).duration},
           context.detail);
  if (constants.scan_rate > BytesPerSecond{}) {
    add_part(cost, {"scan", map.bytes / constants.scan_rate}, context.detail);
  }
  add_part(cost, {"host_sync", constants.host_sync}, context.detail);
}

OpCost hybridep_price(const ExpertExchange& op, const FabricContext& context,
                      const CollectiveModel& collectives) {
  const DeviceSpec& device = context.cluster.device;
  const DispatcherConstants& constants = constants_of(op, context);
  const bool dispatch = op.phase == ExchangePhase::kDispatch;
  const ExchangeTraffic traffic = expert_traffic(op, context.cluster.domain_size());
  OpCost cost = kernel_price(op, traffic, context, units_of(op, constants.units, device));
  const double passed = traffic.inside_peak * (traffic.rows + traffic.copies);
  add_part(cost,
           {dispatch ? "permute" : "unpermute",
            passed * traffic.row / (constants.local_share * device.hbm.achieved)},
           context.detail);
  if (dispatch) {
    add_metadata(cost, op, context, collectives);
  }
  return cost;
}

std::int64_t share_of_worst_case(const ExchangeShape& shape, double factor) {
  return static_cast<std::int64_t>(
      std::ceil(factor * static_cast<double>(rows_of_all_choices(shape))));
}

std::vector<ExchangeBuffer> hybridep_buffers(const LayerExchange& exchange) {
  constexpr std::int64_t kProbability = 4;  // bytes
  const ExchangeShape& shape = exchange.shape;
  const std::int64_t tokens = shape.ranks * shape.tokens;
  const std::int64_t experts_in_domain = shape.local_experts() * shape.ranks_in_domain;
  std::vector<ExchangeBuffer> buffers = {
      buffer_of("tokens", tokens * row_bytes(shape)),
      buffer_of("probabilities", tokens * experts_in_domain * kProbability)};
  if (shape.domains() > 1) {
    buffers.push_back(
        buffer_of("network", shape.tokens * (shape.domains() - 1) * row_bytes(shape)));
  }
  return buffers;
}

}  // namespace

constinit const DispatcherModel dispatchers::hybridep = {
    .equation =
        "as deepep + permutation over HBM; dispatch + all-gather and scan of the "
        "routing map + host_sync",
    .assumptions = "a byte of map for each token and expert; nothing overlaps",
    .source = "HybridEP: published tables of its Python interface and of its kernels",
    .dispatch = {.usual = ExchangePrimitive::kNodeDedup},
    .combine = {.usual = ExchangePrimitive::kNodeDedup},
    .receives = {.dynamic = true, .worst_case = true, .capacity = true},
    .sends_fp8 = true,
    .takes_num_sms = true,
    .stands_for_all_to_all = true,
    .weights_in_fp32 = true,
    .capacity_rows = share_of_worst_case,
    .row_counts = RowCounts::kOnDevice,
    .units = HeldUnits::kProfile,
    .buffers = hybridep_buffers,
    .price = hybridep_price,
};

}  // namespace stepcast
