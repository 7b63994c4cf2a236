// SPDX-License-Identifier: Apache-2.0
// The backends' interface: one small class for each role, and the set of four that prices a graph.
//
// Contract of every implementation:
//   - a pure function of its arguments; no state, no I/O;
//   - the duration is finite and not negative; more bandwidth, units or clock never make it longer;
//   - terms are filled only if the context asks for them, and asking changes no duration;
//   - a collective over a group of one costs nothing on the fabric.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/cost/op_cost.hpp"
#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/hardware/device_spec.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

// What backends are chosen for: one of each role prices a step.
enum class BackendRole { kGemm, kAttention, kMemoryBound, kCollective };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<BackendRole> = {
    "gemm", "attention", "memory_bound", "collective"};

// The role whose backend prices an operator.
struct RoleOf {
  BackendRole operator()(const Gemm& /*op*/) const { return BackendRole::kGemm; }
  BackendRole operator()(const GroupedGemm& /*op*/) const { return BackendRole::kGemm; }
  BackendRole operator()(const Attention& /*op*/) const { return BackendRole::kAttention; }
  BackendRole operator()(const LinearAttention& /*op*/) const { return BackendRole::kAttention; }
  BackendRole operator()(const SparseAttention& /*op*/) const { return BackendRole::kAttention; }
  BackendRole operator()(const IndexScores& /*op*/) const { return BackendRole::kAttention; }
  BackendRole operator()(const MemoryBound& /*op*/) const { return BackendRole::kMemoryBound; }
  BackendRole operator()(const Collective& /*op*/) const { return BackendRole::kCollective; }
  BackendRole operator()(const ExpertExchange& /*op*/) const { return BackendRole::kCollective; }
};
inline BackendRole role_of(const OpWork& work) { return std::visit(RoleOf{}, work); }

enum class Detail { kDuration, kTerms };

// What a kernel runs on: the clock is declared by the caller, and the units are those that nothing
// else holds at that time.
struct KernelContext {
  const DeviceSpec& device;
  Hertz clock;
  std::int64_t compute_units = 0;
  Seconds launch;  // from the end of one kernel to the start of the next
  Detail detail = Detail::kDuration;
  Bytes cached{};  // of its operands, that the last-level cache still holds from what ran before
  Seconds captured{};  // that a collective takes longer, as it does in a captured graph
  // Whether of the kernels that can run a product the fastest does, as the libraries of training
  // stacks pick it; otherwise the newest.
  bool picks_kernel = false;
};

struct FabricContext {
  const ClusterSpec& cluster;
  Detail detail = Detail::kDuration;
};

class GemmModel {
 public:
  virtual ~GemmModel() = default;
  [[nodiscard]] virtual OpCost gemm(const Gemm& op, const KernelContext& context) const = 0;
  [[nodiscard]] virtual OpCost grouped_gemm(const GroupedGemm& op,
                                            const KernelContext& context) const = 0;
};

class AttentionModel {
 public:
  virtual ~AttentionModel() = default;
  [[nodiscard]] virtual OpCost attention(const Attention& op,
                                         const KernelContext& context) const = 0;
  [[nodiscard]] virtual OpCost linear_attention(const LinearAttention& op,
                                                const KernelContext& context) const = 0;
  [[nodiscard]] virtual OpCost sparse_attention(const SparseAttention& op,
                                                const KernelContext& context) const = 0;
  [[nodiscard]] virtual OpCost index_scores(const IndexScores& op,
                                            const KernelContext& context) const = 0;
};

class MemoryBoundModel {
 public:
  virtual ~MemoryBoundModel() = default;
  [[nodiscard]] virtual OpCost memory_bound(const MemoryBound& op,
                                            const KernelContext& context) const = 0;
};

class CollectiveModel {
 public:
  virtual ~CollectiveModel() = default;
  [[nodiscard]] virtual OpCost collective(const Collective& op,
                                          const FabricContext& context) const = 0;
  [[nodiscard]] virtual OpCost exchange(const ExpertExchange& op,
                                        const FabricContext& context) const = 0;
};

// One backend a role.
struct CostModel {
  std::shared_ptr<const GemmModel> gemm;
  std::shared_ptr<const AttentionModel> attention;
  std::shared_ptr<const MemoryBoundModel> memory_bound;
  std::shared_ptr<const CollectiveModel> collective;
  // The same with every kernel at its own clock (cost/power_state.hpp), where somebody keeps it.
  std::shared_ptr<const CostModel> paced = nullptr;

  // The price of any operator.
  [[nodiscard]] OpCost cost(const Op& op, const KernelContext& kernel,
                            const ClusterSpec& cluster) const;
};

// The energy of a kernel from what it does; see hardware/kernel_constants.hpp.
struct KernelActivity {
  double matrix_cycles = 0.0;  // summed over compute units, with the matrix pipes busy
  Dtype dtype = Dtype::kBf16;
  Bytes hbm{};  // read and written
  Accumulation accumulation = Accumulation::kFast;
};

Joules kernel_energy(const KernelActivity& activity, const KernelContext& context);

// The time that no kernel beats, to judge a price by.
//
//   bound = max(FLOPs / dense matrix peak at the clock, compulsory bytes / HBM peak)
//
// Assumes that operands come from HBM; a kernel whose operands are still in a cache may be faster.
// A format that the part lacks runs at the rate of bf16. Collectives have no such bound: zero.
Seconds roofline_bound(const Op& op, const DeviceSpec& device, Hertz clock);
// Its FLOPs alone, at the matrix peak of its numbers, or of bf16 where that has none.
Seconds matrix_bound(const Op& op, const DeviceSpec& device, Hertz clock);

}  // namespace stepcast
