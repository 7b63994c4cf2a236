// SPDX-License-Identifier: Apache-2.0
// The price of an operator that runs as several kernels, one after the other.
//
//   time = sum over kernels of  launches + ramp + max(units, HBM bytes / rate)
//
// `units` is what the compute units take for the kernel if memory keeps up: products, traffic of
// the caches, dependent steps. The rate is `hbm_share` of what a copy achieves, at most what the
// units that are left keep in flight.
#pragma once

#include <span>
#include <string_view>

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

struct SequencedKernel {
  std::string_view name;  // of its term, with static lifetime
  double launches = 1.0;
  Seconds units{};
  Bound unit_bound = Bound::kCompute;  // what sets the time of the units
  Bytes hbm{};                         // read and written
  double matrix_cycles = 0.0;          // at the peak rate, summed over units
};

struct KernelSequence {
  std::span<const SequencedKernel> kernels;
  Dtype dtype = Dtype::kBf16;
  double hbm_share = 1.0;  // of hbm.achieved
};

OpCost sequence_cost(const KernelSequence& sequence, const KernelContext& context);

// Operators that run so (linear_attention.cpp, sparse_attention.cpp).
OpCost linear_attention_cost(const LinearAttention& op, const KernelContext& context);
OpCost sparse_attention_cost(const SparseAttention& op, const KernelContext& context);
OpCost index_scores_cost(const IndexScores& op, const KernelContext& context);

}  // namespace stepcast
