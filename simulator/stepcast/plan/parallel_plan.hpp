// SPDX-License-Identifier: Apache-2.0
// How a training job is divided over its GPUs, in Megatron's terms.
//
//   world = tp * cp * pp * dp;  the ranks of one pipeline stage also divide as etp * ep * edp.
//   Ranks are numbered tp, cp, dp, pp from fastest to slowest (experts: etp, ep, edp, pp), or as
//   `order` says (axis_order.hpp).
//   Parameters outside the experts are sharded over `fsdp` of the dp * cp ranks; if that is fewer
//   than all, the rest replicates the shards (hybrid sharding).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/model/op.hpp"
#include "stepcast/plan/axis_order.hpp"
#include "stepcast/plan/exchange_spec.hpp"

namespace stepcast {

// What a degree of parallelism may be.
inline constexpr Range<std::int64_t> kDegree{1, 1 << 20};

// In the order of their rows in schedules/schedule_info.cpp.
enum class Schedule {
  kGpipe,
  kOneFOneB,
  kInterleaved,
  kZbH1,
  kZbH2,
  kZbV,
  kVHalf,
  kVMin,
  kDualPipe,
  kDualPipeV,
  kInterleavedZeroBubble,
};
// How context-parallel ranks share attention: keys and values go round; they are gathered; tokens
// are exchanged for heads (Ulysses); or heads among neighbours, and keys and values of those go
// round among the rest.
enum class CpAlgorithm { kRing, kAllGather, kAllToAll, kAllToAllRing };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<CpAlgorithm> = {
    "ring", "all_gather", "all_to_all", "all_to_all_ring"};

// Layers of one pipeline stage (a virtual stage when vpp > 1), and what else sits there.
struct StageContent {
  std::int64_t layers = 0;
  std::int64_t mtp_layers = 0;
  bool embedding = false;
  bool loss = false;
  bool operator==(const StageContent&) const = default;
};

// Uniform overlap: this share of an axis' communication runs behind computation, as far as there is
// computation to hide it.
struct UniformOverlap {
  std::array<double, kAxes> hidden = {0.0, 0.0, 0.93, 0.93, 0.0};  // tp, ep, cp, dp, pp
  bool operator==(const UniformOverlap&) const = default;
};

// A plan as the user wrote it; empty values follow from the rest (settle/settle_plan.hpp).
struct PlanRequest {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  std::int64_t cp = 1;
  std::int64_t ep = 1;
  std::optional<std::int64_t> etp;
  std::optional<std::int64_t> dp;
  std::optional<std::int64_t> fsdp;
  std::optional<std::int64_t> hsdp;
  std::optional<bool> sequence_parallel;
  std::optional<std::int64_t> zero;
  std::optional<bool> fsdp_reshard;
  std::optional<bool> fsdp_experts;
  std::optional<Schedule> schedule;
  std::string layout;                         // Megatron's layout text, "balanced", or empty
  std::vector<std::int64_t> stage_layers;     // explicit layers of each (virtual) stage
  std::optional<CpAlgorithm> cp_algorithm;    // else as the software does it
  std::optional<std::int64_t> cp_all_to_all;  // ranks that exchange heads
  bool uniform = false;                       // overlap by the shares below instead of a timeline
  UniformOverlap overlap;
  std::optional<Dispatcher> dispatcher;  // instead of the software's
  AxisOrder order;
  bool given = false;  // false: the user wrote no plan at all
};

// A plan whose every degree is settled and divides.
struct ParallelPlan {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  std::int64_t cp = 1;
  std::int64_t ep = 1;
  std::int64_t etp = 1;
  std::int64_t dp = 1;
  std::int64_t edp = 1;   // data parallelism of the experts
  std::int64_t fsdp = 1;  // ranks that share one copy of the parameters; 1: not sharded
  std::int64_t zero = 0;  // 0 to 3
  bool sequence_parallel = false;
  bool fsdp_reshard = true;
  bool fsdp_experts = true;  // false: every rank of edp keeps its experts whole
  Schedule schedule = Schedule::kOneFOneB;
  CpAlgorithm cp_algorithm = CpAlgorithm::kRing;
  std::int64_t cp_all_to_all = 1;  // of all_to_all_ring: context-parallel ranks that exchange heads
  bool uniform = false;            // overlap by the shares below instead of a timeline
  UniformOverlap overlap;
  ExchangeSpec exchange;
  std::int64_t ep_in_domain = 0;     // ranks of ep that one scale-up domain holds; 0: all
  std::int64_t exchange_units = 0;   // compute units of the dispatcher's kernels, of the profile or
                                     // given; 0: no number of its own
  std::vector<StageContent> stages;  // pp * vpp of them, in the order of the model
  std::int64_t micro_batches = 1;    // of one rank and step
  AxisOrder order;
  std::optional<RankStrides> strides;  // in another order than the usual one, as settled from the
                                       // degrees; empty: they follow from them
  bool operator==(const ParallelPlan&) const = default;

  [[nodiscard]] std::int64_t world() const { return tp * cp * pp * dp; }
  // Ranks that may share one copy of the experts' parameters, gradients and optimizer states.
  [[nodiscard]] std::int64_t expert_shards() const { return fsdp_experts ? edp : 1; }

  // Data-parallel replicas of non-expert parameters: they share gradients.
  [[nodiscard]] std::int64_t replicas() const { return dp * cp; }
  // Ranks that share one copy of what ZeRO divides: with zero 1 all, or groups of them.
  [[nodiscard]] std::int64_t shards() const { return zero == 3 || fsdp > 1 ? fsdp : replicas(); }

  // Whether one scale-up domain holds all ranks that exchange tokens.
  [[nodiscard]] bool exchanges_in_domain() const { return ep_in_domain == 0 || ep <= ep_in_domain; }

  // Context-parallel ranks that divide heads among them, neighbours of each other; of these groups
  // so many divide the sequence.
  [[nodiscard]] std::int64_t cp_heads() const {
    return cp_algorithm == CpAlgorithm::kAllToAll       ? cp
           : cp_algorithm == CpAlgorithm::kAllToAllRing ? cp_all_to_all
                                                        : 1;
  }
  [[nodiscard]] std::int64_t cp_sequence() const { return cp / cp_heads(); }
  [[nodiscard]] bool passes_keys_round() const {
    return cp_sequence() > 1 && cp_algorithm != CpAlgorithm::kAllGather;
  }

  // Between neighbours on each axis.
  [[nodiscard]] RankStrides apart() const {
    return strides ? *strides : rank_strides({}, degrees());
  }
  [[nodiscard]] RankDegrees degrees() const { return {tp, cp, dp, pp, etp, ep, edp}; }

  [[nodiscard]] ProcessGroup tp_group() const { return {tp, apart().tp}; }
  [[nodiscard]] ProcessGroup cp_group() const { return {cp, apart().cp}; }
  [[nodiscard]] ProcessGroup cp_heads_group() const { return first_of(cp_group(), cp_heads()); }
  [[nodiscard]] ProcessGroup cp_sequence_group() const { return each_nth(cp_group(), cp_heads()); }
  [[nodiscard]] ProcessGroup dp_group() const { return joined(cp_group(), {dp, apart().dp}); }
  [[nodiscard]] ProcessGroup shard_group() const { return first_of(dp_group(), fsdp); }
  // Of shards().
  [[nodiscard]] ProcessGroup sharing_group() const { return first_of(dp_group(), shards()); }
  [[nodiscard]] ProcessGroup replicate_group() const { return each_nth(dp_group(), fsdp); }
  [[nodiscard]] ProcessGroup ep_group() const { return {ep, apart().ep}; }
  [[nodiscard]] ProcessGroup etp_group() const { return {etp, apart().etp}; }
  // Of all ranks that hold the same experts' matrices between them.
  [[nodiscard]] ProcessGroup expert_group() const { return joined(etp_group(), ep_group()); }
  [[nodiscard]] ProcessGroup edp_group() const { return {edp, apart().edp}; }
  [[nodiscard]] ProcessGroup pp_group() const { return {2, apart().pp}; }
  // Of the ranks of a DualPipe that hold the same stage.
  [[nodiscard]] ProcessGroup mirror_group() const {
    return {2, apart().pp * std::max<std::int64_t>(1, pp / 2)};
  }
};

// Reads the mapping `plan` of an experiment (plan_keys.hpp).
PlanRequest read_plan(MappingReader reader);

std::string_view name(Schedule schedule);
template <>
std::span<const std::string_view> names_of<Schedule>();

}  // namespace stepcast
