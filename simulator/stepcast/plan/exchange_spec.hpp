// SPDX-License-Identifier: Apache-2.0
// Which dispatcher carries tokens to their experts, and how it is set up.
//
// What is left out follows: the routing from the model's router, the receive buffer and the wait of
// the host from the dispatcher (layer/exchange_rules.hpp). A buffer of dynamic size needs the host
// to learn the number of rows before it goes on (cpu_sync blocking); buffers of fixed size do not.
//
//   dispatch_dtype          bf16 (the default) or fp8
//   num_sms                 0, the dispatcher's default
//   dispatch_primitive      auto, ag, a2a, rank_dedup, node_dedup
//   combine_primitive       auto, rs, a2a, rank_dedup, node_dedup
//   routing                 uniform, round_robin_forced, group_limited with groups and
//                           groups_per_token, zipf with zipf_exponent, counts with counts, learned
//                           with max_violation
//   redundant_experts       0: places for copies of the most loaded experts, over all ranks of ep
//                           (model/routing.hpp)
//   receive_buffer          dynamic, worst_case, or capacity with capacity_factor
//   pad_multiple            0
//   offset_aware_activation the dispatcher's: whether the experts' activation skips the rows that
//                           pad a buffer beyond those that arrived
//   redispatch_in_backward  false
//   cpu_sync                blocking or none
//   collective_only         false
//   moe_all_to_all          auto, direct, hierarchical, pxn: alltoall, or with collective_only
//
// Which of them a dispatcher has is said by its model (layer/dispatcher_model.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/model/model_spec.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

// Rows of the tensors between dispatch and combine: as many as arrive, as many as could arrive, or
// what a capacity factor allows, the rest being dropped.
enum class ReceiveBuffer { kDynamic, kWorstCase, kCapacity };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<ReceiveBuffer> = {"dynamic", "worst_case",
                                                                            "capacity"};
enum class CpuSync { kBlocking, kNone };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<CpuSync> = {"blocking", "none"};

struct ExchangeSpec {
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  Dtype dispatch_dtype = Dtype::kBf16;  // bf16 or fp8; combine sends bf16
  std::int64_t compute_units = 0;       // 0: the dispatcher's default
  ExchangePrimitive dispatch_primitive = ExchangePrimitive::kAuto;
  ExchangePrimitive combine_primitive = ExchangePrimitive::kAuto;
  std::optional<Routing> routing{};
  std::int64_t redundant_experts = 0;  // places for copies, over all ranks of ep
  std::optional<ReceiveBuffer> receive_buffer{};
  std::optional<double> capacity_factor{};
  std::int64_t pad_multiple = 0;  // rows of an expert are padded to a multiple of it; 0: not
  std::optional<bool> offset_aware_activation{};
  bool redispatch_in_backward = false;
  std::optional<CpuSync> cpu_sync{};
  // Projects the exchange as an all-to-all of the library, whatever the dispatcher, as Primus does.
  bool collective_only = false;
  CollectiveAlgorithm all_to_all = CollectiveAlgorithm::kAuto;
  bool operator==(const ExchangeSpec&) const = default;
};

// The dispatcher whose operators run: the library's all-to-all where only collectives are priced.
Dispatcher carried_by(const ExchangeSpec& spec);
// Group-limited where the model's router is.
Routing routing_of(const ExchangeSpec& spec, const MoeSpec& moe);

// The key of `expert_exchange` with the tokens of each expert, a list.
inline constexpr std::string_view kCountsKey = "counts";
// Changes what the mapping `expert_exchange` names; leaves the rest.
void read_exchange(MappingReader reader, ExchangeSpec& spec);
// The value of a key `dispatcher`, if it is there.
std::optional<Dispatcher> read_dispatcher(MappingReader& reader);

}  // namespace stepcast
