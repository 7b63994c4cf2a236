// SPDX-License-Identifier: Apache-2.0
// Communication as a profiler writes it: record_param_comms with what PyTorch notes of a
// collective, or MoEDispatch and MoECombine where tokens go to experts and back.
//
// An exchange is given the tensor that TraceLens counts, [tokens, hidden] or what arrived of them
// (dispatchers/expert_traffic.hpp). Its kernel is called a message of NCCL whatever library sends
// it, since that is what readers of traces take for communication; behind it stands who sends it.
#include "stepcast/dispatchers/expert_traffic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "stepcast/trace_writer/operator_event.hpp"

namespace stepcast {
namespace {

// As PyTorch's process group calls a collective, and NCCL its kernel.
struct CollectiveName {
  std::string_view collective;
  std::string_view kernel;
};
constexpr std::array kCollectives = {CollectiveName{"allreduce", "AllReduce_Sum"},
                                     CollectiveName{"_allgather_base", "AllGather"},
                                     CollectiveName{"_reduce_scatter_base", "ReduceScatter_Sum"},
                                     CollectiveName{"all_to_all", "SendRecv"},
                                     CollectiveName{"send", "SendRecv"},
                                     CollectiveName{"broadcast", "Broadcast"}};
static_assert(kCollectives.size() == static_cast<std::size_t>(CollectiveOp::kBroadcast) + 1);

const CollectiveName& name_of(CollectiveOp op) {
  return kCollectives[static_cast<std::size_t>(op)];
}

std::string kernel_named(std::string_view kernel, std::string_view detail) {
  return "ncclDevKernel_" + std::string(kernel) + "(" + std::string(detail) + ")";
}

bool reduces_gradients(OpId id) {
  constexpr std::array kReductions = {OpId::kFsdpReduce, OpId::kDpReduce, OpId::kDpReplicas,
                                      OpId::kDpMirror};
  return std::ranges::find(kReductions, id) != kReductions.end();
}

// As c10d writes formats, of which it has none of 8 bits.
std::string_view element_name(Bytes element, Dtype training) {
  if (element < kSixteenBits) {
    return "Byte";
  }
  if (element > kSixteenBits) {
    return "Float";
  }
  return training == Dtype::kFp16 ? "Half" : "BFloat16";
}

std::int64_t elements_in(Bytes bytes, Bytes element) { return std::llround(bytes / element); }

bool moves_tokens(OpId id) {
  constexpr std::array kMoves = {OpId::kMoeDispatch, OpId::kMoeRedispatch, OpId::kMoeCombine};
  return std::ranges::find(kMoves, id) != kMoves.end();
}

std::string exchange_function(OpId id) {
  return id == OpId::kMoeCombine ? "MoECombine" : "MoEDispatch";
}
std::string exchange_node(OpId id) { return exchange_function(id) + "Backward"; }
std::string exchange_name(OpId id, TaskRole role) {
  const bool backward = role == TaskRole::kBackward && id != OpId::kMoeRedispatch;
  return backward ? exchange_node(id) : exchange_function(id);
}

// Equal shares of `elements` for each rank, the remainder with the first.
std::vector<std::int64_t> equal_split(std::int64_t elements, std::int64_t ranks) {
  std::vector<std::int64_t> split(static_cast<std::size_t>(ranks), elements / ranks);
  split.front() += elements % ranks;
  return split;
}

// What goes in and comes out of one rank, of `elements` in the full tensor.
void count_elements(CollectiveOp op, std::int64_t elements, TraceCollective& collective) {
  const std::int64_t part = elements / std::max<std::int64_t>(1, collective.group.size);
  collective.in_elements = op == CollectiveOp::kAllGather ? part : elements;
  collective.out_elements = op == CollectiveOp::kReduceScatter ? part : elements;
  if (op == CollectiveOp::kAllToAll) {
    collective.in_split = equal_split(elements, collective.group.size);
    collective.out_split = collective.in_split;
  }
}

TraceOperator recorded(TraceCollective collective, std::string_view type) {
  std::vector<TraceArgument> arguments = {tensor({collective.in_elements}, type)};
  return {.name = "record_param_comms",
          .node = "CollectiveBackward",
          .arguments = std::move(arguments),
          .collective = std::move(collective)};
}

// Tokens in rows of the model's hidden size.
TraceArgument tokens_of(std::int64_t elements, std::int64_t hidden, std::string_view type) {
  return tensor({std::max<std::int64_t>(1, elements / hidden), hidden}, type);
}

}  // namespace

TraceOperator collective_event(OpId id, const Collective& work, TaskRole role,
                               const TraceNaming& naming) {
  const Bytes element = reduces_gradients(id) ? naming.reduced_gradient : kSixteenBits;
  TraceCollective collective;
  collective.name = name_of(work.op).collective;
  collective.element = element_name(element, naming.dtype);
  collective.group = work.group;
  collective.axis = work.axis;
  count_elements(work.op, elements_in(work.bytes, element), collective);
  const std::string_view type = tensor_type(element, naming);
  const std::int64_t in_elements = collective.in_elements;
  TraceOperator event = recorded(std::move(collective), type);
  if (work.axis == Axis::kExpert && moves_tokens(id)) {
    event.name = exchange_name(id, role);
    event.node = exchange_node(id);
    event.arguments = {tokens_of(in_elements, naming.hidden, type)};
  }
  event.kernel = kernel_named(name_of(work.op).kernel, event.collective->element);
  return event;
}

TraceOperator exchange_event(OpId id, const ExpertExchange& work, TaskRole role,
                             const TraceNaming& naming) {
  const ExchangeTraffic traffic = expert_traffic(work, naming.domain_size);
  const std::int64_t local = work.tokens * work.hidden;
  const std::int64_t arrived = std::llround(traffic.rows) * work.hidden;
  const bool dispatch = work.phase == ExchangePhase::kDispatch;
  TraceCollective collective;
  collective.name = "all_to_allv";
  collective.element = element_name(size_of(work.dtype), naming.dtype);
  collective.group = work.group;
  collective.axis = Axis::kExpert;
  collective.in_elements = dispatch ? local : arrived;
  collective.out_elements = dispatch ? arrived : local;
  collective.in_split = equal_split(collective.in_elements, work.group.size);
  collective.out_split = equal_split(collective.out_elements, work.group.size);
  const std::string sender =
      std::string(name(work.dispatcher)) + "::" + std::string(name(work.phase));
  const std::int64_t sent = collective.in_elements;
  return {.name = exchange_name(id, role),
          .node = exchange_node(id),
          .kernel = kernel_named("SendRecv", sender),
          .arguments = {tokens_of(sent, work.hidden, tensor_type(work.dtype))},
          .collective = std::move(collective)};
}

TraceOperator message_event(const Collective& work, MessageEnd end, const TraceNaming& naming) {
  TraceCollective collective;
  collective.name = end == MessageEnd::kSend ? "send" : "recv";
  collective.element = element_name(kSixteenBits, naming.dtype);
  collective.group = work.group;
  collective.axis = work.axis;
  count_elements(work.op, elements_in(work.bytes, kSixteenBits), collective);
  TraceOperator event = recorded(std::move(collective), tensor_type(kSixteenBits, naming));
  event.kernel = kernel_named("SendRecv", event.collective->element);
  return event;
}

}  // namespace stepcast
