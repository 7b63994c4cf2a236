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
#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/layer/expert_expansion.hpp"

namespace stepcast {
namespace {

constexpr Bytes kCountBytes{8.0};  // of an expert's rows

std::int64_t rows_of_capacity(const ExchangeShape& shape, double factor) {
  return shape.experts * expert_capacity(shape, factor);
}

// Dispatch and combine are each other's mirror, forward and backward. With expert tensor
// parallelism the etp ranks gather each other's rows before and scatter the sums after.
void add_all_to_all(ExpertLayer& layer, ExchangePhase phase, std::int64_t rows) {
  const ParallelPlan& plan = layer.plan();
  const ExchangeShape& shape = layer.shape();
  const bool dispatch = phase == ExchangePhase::kDispatch;
  const OpId id = dispatch ? OpId::kMoeDispatch : OpId::kMoeCombine;
  const Bytes bytes = static_cast<double>(rows * shape.hidden) * Bytes(2);
  Collective exchange{CollectiveOp::kAllToAll, bytes, plan.ep_group(), Axis::kExpert};
  exchange.algorithm = all_to_all_of(layer.spec(), shape.domains());
  exchange.imbalance =
      receive_buffer_of(layer.spec()) == ReceiveBuffer::kCapacity ? 1.0 : shape.imbalance;
  const Bytes gathered = static_cast<double>(plan.etp) * bytes;
  const Collective gather{CollectiveOp::kAllGather, gathered, plan.etp_group(), Axis::kTensor};
  const Collective scatter{CollectiveOp::kReduceScatter, gathered, plan.etp_group(), Axis::kTensor};
  BlockBuilder& build = layer.build();
  if (!dispatch) {
    build.forward_collective(id, scatter);
    build.backward_collective(id, gather);
  }
  build.forward_collective(id, exchange);
  build.backward_collective(id, exchange);
  if (dispatch) {
    build.forward_collective(id, gather);
    build.backward_collective(id, scatter);
  }
}

void bring_rows(ExpertLayer& layer, std::int64_t rows, bool sorted) {
  const BlockBuilder::ModuleScope scope(layer.build(), {RecomputeModule::kMoeDispatch});
  layer.spread(rows);
  add_all_to_all(layer, ExchangePhase::kDispatch, rows);
  layer.index_rows();
  if (sorted) {
    // Arrivals come sorted by sender and are sorted again by expert.
    layer.permute(OpId::kMoeSort, MemoryBoundKind::kStridedCopy, layer.passed_rows());
  }
}

// Each rank sends its own tokens (S / tp of them under sequence parallelism), k copies each:
// permute, all-to-all, sort by expert, and all of it back.
void alltoall_operators(ExpertLayer& layer) {
  const std::int64_t rows = sent_rows(layer.spec(), layer.shape());
  const bool sorted = layer.plan().ep > 1 && layer.shape().local_experts() > 1;
  bring_rows(layer, rows, sorted);
  layer.experts();
  if (sorted) {
    layer.permute(OpId::kMoeUnsort, MemoryBoundKind::kStridedCopy, layer.passed_rows());
  }
  add_all_to_all(layer, ExchangePhase::kCombine, rows);
  layer.gather_back(rows);
}

std::int64_t rows_sent_back(const LayerExchange& exchange) {
  return sent_rows(exchange.spec, exchange.shape);
}

std::vector<ExchangeBuffer> permuted_rows(const LayerExchange& exchange) {
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
    .operators = alltoall_operators,
    .kept_results = rows_sent_back,
    .software_sums_rows = true,
    .buffers_last = false,
    .buffers = permuted_rows,
    .price = alltoall_price,
};

}  // namespace stepcast
