// SPDX-License-Identifier: Apache-2.0
// Megatron's alltoall dispatcher over the collectives' library.
//
//   all-to-all of the T K rows; at dispatch the host waits for the counts of rows, for which there
//   is a small all-to-all: + host_sync + all-to-all of the counts. With a capacity factor f the
//   splits are equal and known, ceil(T K / E f) rows from each rank for each expert, and nothing
//   waits.
//
// Permuting the rows before and after is done by operators of their own. Assumes that the library's
// all-to-all with unequal splits takes the time of equal ones of the most loaded rank. Memory: what
// is sent and what arrives, 2 rows H b.
#include "stepcast/base/real.hpp"
#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/dispatchers/exchange_kernel.hpp"

namespace stepcast {
namespace {

constexpr Bytes kCountBytes{8.0};  // of an expert's rows

std::int64_t rows_of_capacity(const ExchangeShape& shape, double factor) {
  return shape.experts * expert_capacity(shape, factor);
}

std::vector<ExchangeBuffer> permuted_rows(const BufferedExchange& exchange) {
  return {both_ways("rows", sent_rows(exchange.spec, exchange.shape), exchange.shape)};
}

OpCost alltoall_price(const ExpertExchange& op, const FabricContext& context,
                      const CollectiveModel& collectives) {
  const ExchangeTraffic traffic = expert_traffic(op, context.cluster.domain_size());
  Collective collective;
  collective.op = CollectiveOp::kAllToAll;
  collective.bytes = traffic.rows * traffic.row;
  collective.group = op.group;
  collective.axis = Axis::kExpert;
  collective.imbalance = traffic.inside_peak;
  OpCost cost = collectives.collective(collective, context);
  cost.units = context.cluster.device.scale_up.kernel_units;
  if (op.phase == ExchangePhase::kDispatch && !(op.capacity_factor > 0.0)) {
    collective.bytes = real(op.experts) * kCountBytes;
    collective.imbalance = 1.0;
    const FabricContext plain{context.cluster};
    const Seconds counts = collectives.collective(collective, plain).duration;
    add_part(cost, {"counts", counts}, context.detail);
    add_part(cost, {"host_sync", constants_of(op, context).host_sync}, context.detail);
  }
  return cost;
}

}  // namespace

constinit const DispatcherModel dispatchers::alltoall = {
    .equation = "the backend's all-to-all of T K rows; dispatch + all-to-all of counts + host_sync",
    .assumptions =
        "no deduplication; permutations are other operators; the most loaded rank sets the pace",
    .source = "Megatron-LM, moe_token_dispatcher_type alltoall",
    .receives = {.dynamic = true, .capacity = true},
    .takes_algorithm = true,
    .stands_for_all_to_all = true,
    .expert_tensor_ranks = ExpertTensorRanks::kGatherAfterwards,
    .pads_to_capacity = true,
    .capacity_rows = rows_of_capacity,
    .buffers_last = false,
    .buffers = permuted_rows,
    .price = alltoall_price,
};

}  // namespace stepcast
