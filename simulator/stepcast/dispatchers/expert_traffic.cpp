// SPDX-License-Identifier: Apache-2.0
#include "stepcast/dispatchers/expert_traffic.hpp"

#include <cmath>

#include "stepcast/base/real.hpp"
#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast {
namespace {

constexpr double kScaleBlock = 128.0;  // values that share an fp8 scale of 4 bytes
constexpr double kFp4Block = 16.0;     // values that share an fp4 scale of a byte
constexpr Bytes kScale{4.0};

Bytes dispatched_row(Dtype dtype, double hidden) {
  const Bytes values = hidden * size_of(dtype);
  switch (dtype) {
    case Dtype::kFp8:
    case Dtype::kFp8Block:
      return values + std::ceil(hidden / kScaleBlock) * kScale;
    case Dtype::kFp4:
      return values + Bytes(std::ceil(hidden / kFp4Block));
    default:
      return values;
  }
}

Bytes combined_element(Dtype dtype) {
  return dtype == Dtype::kFp32 ? size_of(Dtype::kFp32) : size_of(Dtype::kBf16);
}

// How loads compare with their mean.
double peak_of(double most, double mean) { return mean > 0.0 ? std::max(1.0, most / mean) : 1.0; }

void count_rows(const ExpertExchange& op, ExchangePrimitive primitive, ExchangeTraffic& traffic) {
  const double tokens = real(op.tokens);
  const double ranks = real(traffic.ranks);
  const ExpertChoice choice{op.experts, op.topk, op.tokens};
  const PartLoads by_rank = part_loads(op.routing, choice, traffic.ranks);
  const double kept = kept_share(op.routing, choice, op.capacity_factor);
  traffic.copies = tokens * real(op.topk) * kept;
  traffic.rows = tokens * by_rank.distinct;
  traffic.inside_peak = peak_of(ranks * by_rank.most_hits, by_rank.distinct);
  if (primitive == ExchangePrimitive::kAllGather ||
      primitive == ExchangePrimitive::kReduceScatter) {
    traffic.rows = tokens * ranks;
    traffic.inside_peak = 1.0;
  } else if (primitive == ExchangePrimitive::kAllToAll) {
    traffic.rows = traffic.copies;
    traffic.inside_peak = peak_of(ranks * by_rank.most_copies * kept, real(op.topk) * kept);
  }
  traffic.outside_peak = traffic.inside_peak;
  traffic.rows_inside = traffic.rows * real(traffic.members - 1) / ranks;
  traffic.rows_outside = traffic.rows * real(traffic.ranks - traffic.members) / ranks;
}

// One row a token and node over the network, spread inside by the GPU that received it.
void count_node_rows(const ExpertExchange& op, ExchangeTraffic& traffic) {
  const double domains = real(traffic.domains);
  const PartLoads by_node =
      part_loads(op.routing, {op.experts, op.topk, op.tokens}, traffic.domains);
  traffic.node_rows = real(op.tokens) * by_node.distinct;
  traffic.rows_inside = traffic.rows * real(traffic.members - 1) / real(traffic.members);
  traffic.rows_outside = traffic.node_rows * (domains - 1.0) / domains;
  traffic.outside_peak = peak_of(domains * by_node.most_hits, by_node.distinct);
}

}  // namespace

ExchangePrimitive resolved_primitive(const ExpertExchange& op) {
  if (op.primitive != ExchangePrimitive::kAuto) {
    return op.primitive;
  }
  return model_of(op.dispatcher).primitives(op.phase).usual;
}

Bytes exchange_row(const ExpertExchange& op) {
  const double hidden = real(op.hidden);
  if (op.phase == ExchangePhase::kCombine) {
    return hidden * combined_element(op.dtype);
  }
  return dispatched_row(op.dtype, hidden) + model_of(op.dispatcher).message_header;
}

ExchangeTraffic expert_traffic(const ExpertExchange& op, std::int64_t domain_size) {
  ExchangeTraffic traffic;
  traffic.ranks = op.group.size;
  traffic.members = members_in_domain(op.group, domain_size);
  traffic.domains = domains_spanned(op.group, domain_size);
  traffic.row = exchange_row(op);
  const ExchangePrimitive primitive = resolved_primitive(op);
  count_rows(op, primitive, traffic);
  const bool by_node = primitive == ExchangePrimitive::kNodeDedup && traffic.domains > 1;
  if (by_node) {
    count_node_rows(op, traffic);
  }
  const bool dispatch = op.phase == ExchangePhase::kDispatch;
  const double input_rows = dispatch ? real(op.tokens) : traffic.rows;
  const Bytes element = dispatch ? size_of(op.dtype) : combined_element(op.dtype);
  traffic.tensor = input_rows * real(op.hidden) * element;
  traffic.logical = (by_node ? traffic.node_rows : traffic.rows) * traffic.row;
  traffic.wire = (traffic.rows_inside + traffic.rows_outside) * traffic.row;
  return traffic;
}

CommunicationBytes expert_communication_bytes(const Op& op, std::int64_t domain_size) {
  if (communication_axis(op) != Axis::kExpert) {
    return {};
  }
  if (const auto* collective = std::get_if<Collective>(&op.work)) {
    const double ranks = real(collective->group.size);
    return {collective->bytes, collective->bytes, (1.0 - 1.0 / ranks) * collective->bytes};
  }
  const auto* exchange = std::get_if<ExpertExchange>(&op.work);
  if (exchange == nullptr) {
    return {};
  }
  const ExchangeTraffic traffic = expert_traffic(*exchange, domain_size);
  return {traffic.tensor, traffic.logical, traffic.wire};
}

Op as_run(Op op, const ClusterSpec& cluster) {
  if (auto* exchange = std::get_if<ExpertExchange>(&op.work)) {
    exchange->primitive = chosen_primitive(*exchange, cluster);
  }
  return op;
}

Bytes interconnect_bytes(const Op& op, std::int64_t domain_size) {
  if (const auto* collective = std::get_if<Collective>(&op.work)) {
    return collective->bytes;
  }
  const auto* exchange = std::get_if<ExpertExchange>(&op.work);
  return exchange != nullptr ? expert_traffic(*exchange, domain_size).tensor : Bytes{};
}

}  // namespace stepcast
