// SPDX-License-Identifier: Apache-2.0
// Memory-bound kernels by passes over their tensor.
//
//   time = kernels * launch + passes * rows * cols * element / achieved HBM rate
//
// A pass reads or writes the rows x cols tensor once. Passes and kernels depend on the
// implementation: fused (hand-written), compiled (generated), eager (one kernel an elementary
// operation). Assumes that nothing stays in a cache between kernels; wrong for tensors smaller than
// the last-level cache, which it prices too high.
#include <array>

#include "backends/builtin_backends.hpp"

namespace stepcast {
namespace {

struct Passes {
  double forward;
  double backward;
};

struct KindPasses {
  MemoryBoundKind kind;
  Passes fused;
  Passes compiled;
  Passes eager;
};

// Counted from the tensors that each implementation reads and writes. Norm: x, y; backward dy, x,
// dx. Gated activation: gate, up, product; backward those two, dy and two gradients. Optimizer:
// gradient, master, two moments read, the last three written (4 bytes each) and the 16-bit
// copy: 7.5 fp32 passes.
constexpr std::array<KindPasses, 15> kPasses = {{
    {MemoryBoundKind::kNorm, {2, 3}, {2, 4}, {6, 9}},
    {MemoryBoundKind::kRope, {2, 2}, {3, 3}, {7, 7}},
    {MemoryBoundKind::kActivation, {2, 3}, {2, 3}, {2, 3}},
    {MemoryBoundKind::kGatedActivation, {3, 5}, {3, 5}, {5, 8}},
    {MemoryBoundKind::kResidual, {3, 3}, {3, 3}, {3, 3}},
    {MemoryBoundKind::kDropout, {2.5, 2.5}, {2.5, 2.5}, {4, 4}},
    {MemoryBoundKind::kRouter, {2, 2}, {4, 4}, {8, 8}},
    {MemoryBoundKind::kPermute, {2, 2}, {2, 3}, {3, 5}},
    {MemoryBoundKind::kUnpermute, {1.5, 2}, {2, 3}, {4, 6}},
    {MemoryBoundKind::kQuantize, {2, 2}, {2.5, 2.5}, {4, 4}},
    {MemoryBoundKind::kEmbedding, {2, 3}, {2, 3}, {2, 3}},
    {MemoryBoundKind::kCrossEntropy, {2, 2}, {3, 3}, {7, 7}},
    {MemoryBoundKind::kCast, {1.5, 1.5}, {1.5, 1.5}, {1.5, 1.5}},
    {MemoryBoundKind::kCopy, {2, 2}, {2, 2}, {2, 2}},
    {MemoryBoundKind::kOptimizer, {7.5, 7.5}, {8, 8}, {16, 16}},
}};

const Passes& passes_of(const MemoryBound& op) {
  const KindPasses& entry = kPasses[static_cast<std::size_t>(op.kind)];
  switch (op.implementation) {
    case Implementation::kEager:
      return entry.eager;
    case Implementation::kCompiled:
      return entry.compiled;
    case Implementation::kFused:
      return entry.fused;
  }
  return entry.fused;
}

class PassesModel final : public MemoryBoundModel {
 public:
  [[nodiscard]] OpCost memory_bound(const MemoryBound& op,
                                    const KernelContext& context) const override {
    const Passes& passes = passes_of(op);
    const double count = op.direction == Direction::kForward ? passes.forward : passes.backward;
    const double elements = static_cast<double>(op.rows) * static_cast<double>(op.cols);
    const Seconds memory = count * elements * op.element / context.device.hbm.achieved;
    // Eager code launches about one kernel for every three passes.
    const double kernels = op.implementation == Implementation::kEager ? count / 3.0 : 1.0;
    const Seconds launch = kernels * context.launch;
    OpCost cost;
    cost.duration = launch + memory;
    cost.bound = memory < launch ? Bound::kLatency : Bound::kMemory;
    if (context.detail == Detail::kTerms) {
      cost.terms = {{"memory", memory}, {"launch", launch}};
    }
    return cost;
  }
};

}  // namespace

std::shared_ptr<const MemoryBoundModel> make_passes_memory_bound() {
  return std::make_shared<PassesModel>();
}

}  // namespace stepcast
