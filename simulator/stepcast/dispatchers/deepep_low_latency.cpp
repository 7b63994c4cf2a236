// SPDX-License-Identifier: Apache-2.0
// DeepEP's low-latency kernels.
//
//   t = start_up + the longer of the T K rows' inside and outside parts; no deduplication, and no
//   unit is held while rows are on their way, because they are received on a hook
//
// Each expert has a slot for every token of every rank. Memory is DeepEP's LowLatencyLayout
// (csrc/config.hpp): 2 (send + E T message + signals), the message being the larger of dispatch and
// combine.
#include <algorithm>

#include "stepcast/dispatchers/deepep.hpp"
#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/dispatchers/exchange_kernel.hpp"

namespace stepcast {
namespace {

// Source: DeepEP, csrc/config.hpp, LowLatencyLayout; bytes.
constexpr std::int64_t kSlotHeader = 16;
constexpr std::int64_t kValuesOfScale = 128;
constexpr std::int64_t kSlotScale = 4;
constexpr std::int64_t kExpertCounter = 8;
constexpr std::int64_t kOwnCounter = 4;  // of an expert of the rank, besides

std::int64_t rows_of_all_slots(const ExchangeShape& shape) {
  return shape.ranks * shape.tokens * shape.local_experts();
}

std::vector<ExchangeBuffer> low_latency_buffers(const LayerExchange& exchange) {
  const ExchangeShape& shape = exchange.shape;
  const std::int64_t scales = shape.hidden / kValuesOfScale * kSlotScale;
  const std::int64_t dispatch = kSlotHeader + std::max(row_bytes(shape), shape.hidden + scales);
  const std::int64_t combine = scales + row_bytes(shape);
  const std::int64_t slots = shape.experts * shape.tokens;
  const std::int64_t send = std::max(shape.tokens * dispatch, slots * combine);
  const std::int64_t receive = slots * std::max(dispatch, combine);
  const std::int64_t signals =
      deepep_aligned(shape.experts * kExpertCounter + shape.local_experts() * kOwnCounter);
  return {buffer_of("send", 2 * send), buffer_of("receive", 2 * receive),
          buffer_of("signals", 2 * signals)};
}

OpCost low_latency_price(const ExpertExchange& op, const FabricContext& context,
                         const CollectiveModel& /*collectives*/) {
  return kernel_price(op, expert_traffic(op, context.cluster.domain_size()), context, 0);
}

}  // namespace

constinit const DispatcherModel dispatchers::deepep_low_latency = {
    .equation =
        "start_up + max(scale-up bytes / link rate, scale-out bytes / NIC rate) of T K "
        "rows with a header of 16 bytes at dispatch",
    .assumptions = "no deduplication; no units are held while rows are on their way",
    .source = "DeepEP low-latency kernels: published table",
    .message_header = Bytes(kSlotHeader),
    .receives = {.worst_case = true, .usual = ReceiveBuffer::kWorstCase},
    .sends_fp8 = true,
    .worst_case_rows = rows_of_all_slots,
    .units = HeldUnits::kNone,
    .buffers = low_latency_buffers,
    .price = low_latency_price,
};

}  // namespace stepcast
