// SPDX-License-Identifier: Apache-2.0
// SonicMoE's kernels over symmetric memory.
//
//   dispatch            start_up + rows over links / rate          ag, a2a, rank_dedup, node_dedup
//   combine, a2a        likewise
//   combine, rs and rank_dedup, node_dedup
//                       the same + local_combine: T K rows of the rank's experts read, and the sums
//                       for every rank (rs: W T rows) or for the ranks that sent them (T D(W) rows)
//                       written, at local_share of the HBM rate
//   auto                the fastest of those that serve the group, as its profiler chooses for each
//                       direction; settled with the plan, so that memory holds what time prices
//
// Memory is one workspace for all layers: x T H b, y M H b, received rows (W T k H b with a2a, else
// W T H b), W T k and M indices of 4 bytes, partial sums W T H b unless combine is a2a; with
// redispatch dO T H b and gathered x W T H b. It has data to expert parallel and back, without
// expert tensor parallelism; peers read each other's memory, so beyond one domain only node_dedup
// remains.
//
// Assumes that kernels fill the links with as many units as it takes, that nothing overlaps, and
// that tokens are in symmetric memory already. Published for 4 GPUs of one domain only.
#include "stepcast/dispatchers/sonic.hpp"

#include <array>
#include <optional>

#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/dispatchers/exchange_kernel.hpp"
#include "stepcast/layer/expert_expansion.hpp"

namespace stepcast {
namespace {

constexpr std::array kSonicDispatches = {
    ExchangePrimitive::kAllGather, ExchangePrimitive::kAllToAll, ExchangePrimitive::kRankDedup,
    ExchangePrimitive::kNodeDedup};
constexpr std::array kSonicCombines = {ExchangePrimitive::kReduceScatter,
                                       ExchangePrimitive::kAllToAll, ExchangePrimitive::kRankDedup,
                                       ExchangePrimitive::kNodeDedup};

// Primitives whose peers must reach each other's memory; the others cross domains, and have nothing
// to gain inside one.
bool needs_peers(ExchangePrimitive primitive) { return primitive != ExchangePrimitive::kNodeDedup; }

// Without SonicMoE's profiler.
ExchangePrimitive sonic_choice(const ExchangeShape& shape, ExchangePrimitive gathered) {
  if (shape.domains() > 1) {
    return ExchangePrimitive::kNodeDedup;
  }
  const bool few = shape.ranks <= 2 || 10 * shape.ranks <= 8 * shape.topk;
  return few ? gathered : ExchangePrimitive::kRankDedup;
}

OpCost primitive_price(const ExpertExchange& op, const FabricContext& context) {
  const DeviceSpec& device = context.cluster.device;
  const DispatcherConstants& constants = constants_of(op, context);
  const bool dispatch = op.phase == ExchangePhase::kDispatch;
  const ExchangeTraffic traffic = expert_traffic(op, context.cluster.domain_size());
  const RowTransfer transfer = transfer_of(op, traffic);
  const TransferTime time = transfer_time(
      transfer, kernel_of(op, context), exchange_links(op, context.cluster), constants.relay_share);
  OpCost cost = kernel_cost(time, units_of(op, constants.units, device), context.detail);
  cost.algorithm = name(op.primitive);
  if (!dispatch && op.primitive != ExchangePrimitive::kAllToAll) {
    // The most loaded rank has the most copies as well.
    const Bytes passed = traffic.inside_peak * (traffic.copies + traffic.rows) * traffic.row;
    const Seconds local = passed / (constants.local_share * device.hbm.achieved);
    cost.bound = local > time.transfer() ? Bound::kMemory : cost.bound;
    add_part(cost, {"local_combine", local}, context.detail);
  }
  return cost;
}

bool sonic_serves(ExchangePrimitive primitive, const ExpertExchange& op,
                  const ClusterSpec& cluster) {
  return needs_peers(primitive) == (domains_spanned(op.group, cluster.domain_size()) == 1);
}

ExpertExchange with_primitive(ExpertExchange op, ExchangePrimitive primitive) {
  op.primitive = primitive;
  return op;
}

// The first of equals. A part without SonicMoE's section has nothing to compare.
ExchangePrimitive sonic_fastest(const ExpertExchange& op, const ClusterSpec& cluster) {
  const FabricContext context{cluster};
  if (constants_of(op, context).local_share <= 0.0) {
    return ExchangePrimitive::kAuto;
  }
  std::optional<Seconds> least;
  ExchangePrimitive fastest = ExchangePrimitive::kNodeDedup;
  for (const ExchangePrimitive primitive :
       op.phase == ExchangePhase::kDispatch ? kSonicDispatches : kSonicCombines) {
    if (!sonic_serves(primitive, op, cluster)) {
      continue;
    }
    const Seconds time = primitive_price(with_primitive(op, primitive), context).duration;
    if (!least || time < *least) {
      least = time;
      fastest = primitive;
    }
  }
  return fastest;
}

OpCost sonic_price(const ExpertExchange& op, const FabricContext& context,
                   const CollectiveModel& /*collectives*/) {
  return primitive_price(with_primitive(op, chosen_primitive(op, context.cluster)), context);
}

// x is copied for its peers, choices are gathered and indexed, and rows dispatched; the experts'
// first product gathers its rows itself.
void sonic_operators(ExpertLayer& layer) {
  const ExchangeShape& shape = layer.shape();
  const std::int64_t everyone = shape.ranks * shape.tokens;
  const std::int64_t choices = everyone * shape.topk;
  BlockBuilder& build = layer.build();
  const Collective gather = layer.over_ranks(CollectiveOp::kAllGather, choices, Bytes(4));
  if (layer.plan().ep > 1) {
    layer.permute(OpId::kMoeSymmetricCopy, MemoryBoundKind::kCopy, shape.tokens);
    build.forward_collective(OpId::kMoeGatherChoices, gather);
  }
  layer.index(choices);
  if (layer.spec().redispatch_in_backward) {
    layer.index(choices);  // once more, in the order in which x is gathered
  }
  layer.dispatch();
  layer.experts();
  if (sonic_combine(layer.spec(), shape) != ExchangePrimitive::kAllToAll) {
    build.forward_collective(OpId::kMoeGatherScores, gather);
  }
  if (layer.spec().redispatch_in_backward) {
    // x is gathered a second time for the gradient of the first product's weights: by copy engines,
    // from the dispatch of dO on (schedule/overlap_windows.hpp).
    build.backward_collective(
        OpId::kMoeRedispatch,
        layer.over_ranks(CollectiveOp::kAllGather, everyone * shape.hidden, Bytes(2)));
  }
  build.backward_collective(OpId::kMoeScatterScores,
                            layer.over_ranks(CollectiveOp::kReduceScatter, choices, Bytes(4)));
  if (layer.plan().ep == 1) {
    layer.permute(OpId::kMoeUnpermute, MemoryBoundKind::kUnpermute, layer.rows());
  }
  layer.combine();
}

// W T rows gathered or deduplicated, M with a2a, T if x is dispatched again.
std::int64_t sonic_inputs(const LayerExchange& exchange) {
  const ExchangeShape& shape = exchange.shape;
  if (exchange.spec.redispatch_in_backward) {
    return shape.tokens;
  }
  const bool row_an_expert = sonic_dispatch(exchange.spec, shape) == ExchangePrimitive::kAllToAll;
  return row_an_expert ? exchange.rows : shape.ranks * shape.tokens;
}

// Whether the plan asks for a primitive that has to reach peers.
bool asks_peers(ExchangePrimitive primitive) {
  return primitive != ExchangePrimitive::kAuto && needs_peers(primitive);
}

std::vector<Reason> sonic_refusals(const ParallelPlan& plan, const RecomputeSpec& /*recompute*/) {
  std::vector<Reason> reasons;
  if (plan.etp > 1) {
    reasons.push_back({"dispatcher sonic has no expert tensor parallelism: etp must be 1"});
  }
  const bool peers =
      asks_peers(plan.exchange.dispatch_primitive) || asks_peers(plan.exchange.combine_primitive);
  if (peers && !plan.exchanges_in_domain()) {
    reasons.push_back({"dispatcher sonic beyond one scale-up domain (ep = " +
                       std::to_string(plan.ep) + ") has the primitive node_dedup only"});
  }
  return reasons;
}

std::vector<ExchangeBuffer> sonic_buffers(const LayerExchange& exchange) {
  constexpr std::int64_t kIndex = 4;  // bytes
  const ExchangeShape& shape = exchange.shape;
  const std::int64_t own = shape.tokens * row_bytes(shape);
  const std::int64_t everyone = shape.ranks * own;
  const std::int64_t choices = shape.ranks * shape.tokens * shape.topk;
  const bool row_an_expert = sonic_dispatch(exchange.spec, shape) == ExchangePrimitive::kAllToAll;
  std::vector<ExchangeBuffer> buffers = {
      buffer_of("input", own), buffer_of("output", exchange.rows * row_bytes(shape)),
      buffer_of("receive", row_an_expert ? everyone * shape.topk : everyone),
      buffer_of("indices", (choices + exchange.rows) * kIndex)};
  if (sonic_combine(exchange.spec, shape) != ExchangePrimitive::kAllToAll) {
    buffers.push_back(buffer_of("partial sums", everyone));
  }
  if (exchange.spec.redispatch_in_backward) {
    buffers.push_back(buffer_of("redispatch", own + everyone));
  }
  return buffers;
}

}  // namespace

ExchangePrimitive sonic_dispatch(const ExchangeSpec& spec, const ExchangeShape& shape) {
  return spec.dispatch_primitive == ExchangePrimitive::kAuto
             ? sonic_choice(shape, ExchangePrimitive::kAllGather)
             : spec.dispatch_primitive;
}

ExchangePrimitive sonic_combine(const ExchangeSpec& spec, const ExchangeShape& shape) {
  return spec.combine_primitive == ExchangePrimitive::kAuto
             ? sonic_choice(shape, ExchangePrimitive::kReduceScatter)
             : spec.combine_primitive;
}

constinit const DispatcherModel dispatchers::sonic = {
    .equation =
        "start_up + bytes over links / rate; combine of rs and dedup + local_combine "
        "over HBM; auto: the fastest primitive",
    .assumptions = "tokens are in symmetric memory; no overlap",
    .source = "SonicMoE expert parallelism: published table of 4 GPUs",
    .dispatch = {.usual = ExchangePrimitive::kRankDedup, .choices = kSonicDispatches},
    .combine = {.usual = ExchangePrimitive::kRankDedup, .choices = kSonicCombines},
    .serves = sonic_serves,
    .fastest = sonic_fastest,
    .receives = {.dynamic = true, .worst_case = true, .usual = ReceiveBuffer::kWorstCase},
    .redispatches = true,
    .serves_one_rank = true,
    .skips_padding = true,
    .operators = sonic_operators,
    .kept_inputs = sonic_inputs,
    .gathers_in_product = true,
    .buffers = sonic_buffers,
    .refusals = sonic_refusals,
    .price = sonic_price,
};

}  // namespace stepcast
