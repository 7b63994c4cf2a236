// SPDX-License-Identifier: Apache-2.0
// The backends' interface: one small class for each role, and the set of four that prices a graph.
//
// Contract of every implementation:
//   - a pure function of its arguments; no state, no I/O;
//   - the duration is finite and not negative; more bandwidth, units or clock never make it longer;
//   - terms are filled only if the context asks for them, and asking changes no duration;
//   - a collective over a group of one costs nothing on the fabric.
#pragma once

#include <cstdint>
#include <memory>

#include "stepcast/cost/op_cost.hpp"
#include "stepcast/graph/op.hpp"
#include "stepcast/hardware/cluster_spec.hpp"

namespace stepcast {

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
  // The same with every kernel at its own clock (cost/power_level.hpp), where somebody keeps it.
  std::shared_ptr<const CostModel> paced = nullptr;

  // The price of any operator.
  [[nodiscard]] OpCost cost(const Op& op, const KernelContext& kernel,
                            const ClusterSpec& cluster) const;
};

}  // namespace stepcast
