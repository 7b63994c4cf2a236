// SPDX-License-Identifier: Apache-2.0
// Words for the kernels of an implementation, of which memory_kernels.cpp lists what each kind
// runs.
#pragma once

#include "backends/memory_bound/memory_kernels.hpp"

namespace stepcast::memory_kernels {

// --- kernels ----------------------------------------------------------------------------------

constexpr MemoryKernel stream(double passes, double cached = 0.0) {
  return {.passes = passes, .cached = cached};
}
constexpr MemoryKernel gather(double passes) {
  return {.passes = passes, .path = MemoryPath::kGather};
}
constexpr MemoryKernel uncoalesced(double passes) {
  return {.passes = passes, .path = MemoryPath::kUncoalesced};
}
constexpr MemoryKernel indexed(double passes, KernelNumber values = 1.0) {
  return {.passes = passes, .path = MemoryPath::kIndexed, .values = values};
}
constexpr MemoryKernel arithmetic(double passes, KernelNumber values = 1.0, double cached = 0.0) {
  return {.passes = passes, .path = MemoryPath::kArithmetic, .values = values, .cached = cached};
}
constexpr MemoryKernel by_tap(KernelNumber tap_values, MemoryKernel kernel) {
  kernel.tap_values = tap_values;
  return kernel;
}
constexpr MemoryKernel atomic(double passes, KernelNumber values = 1.0) {
  return {.passes = passes, .path = MemoryPath::kAtomic, .values = values};
}
constexpr MemoryKernel update(double passes, KernelNumber values = 1.0) {
  return {.passes = passes, .path = MemoryPath::kUpdate, .values = values};
}
constexpr MemoryKernel convert(double passes, KernelNumber values = 1.0) {
  return {.passes = passes, .path = MemoryPath::kConvert, .values = values};
}
// One group of threads a row, of which a unit needs `rows` to be busy.
constexpr MemoryKernel along_rows(KernelNumber rows, MemoryKernel kernel) {
  kernel.full_rows = rows;
  return kernel;
}
// One group of threads a row, which it reduces before it writes.
constexpr MemoryKernel by_row(MemoryKernel kernel, double work = 1.0) {
  kernel.row_work = work;
  kernel.ramps = 2.0;
  return kernel;
}
constexpr MemoryKernel times(int repeats, MemoryKernel kernel) {
  kernel.repeats = repeats;
  return kernel;
}
constexpr MemoryKernel merged(MemoryKernel kernel) {
  kernel.ramps = 0.0;
  kernel.launches = 0.0;
  kernel.calls = 0.0;
  return kernel;
}
// Over something much smaller than the tensor.
constexpr MemoryKernel tiny() { return {}; }
// Sums over rows of partial sums: too few groups of threads to hide latency.
constexpr MemoryKernel column_sums() { return {.passes = 0.1, .ramps = 8.0, .calls = 0.0}; }
// A radix sort of 64-bit indices: 21 short kernels, as PyTorch launches them, which wait for the
// counts of their neighbours.
constexpr MemoryKernel sort() {
  return {.ramps = &ListedKernelConstants::sort_ramps, .calls = 1.0 / 21.0, .repeats = 21};
}
// Launched by the call of the kernel before.
constexpr MemoryKernel same_call(MemoryKernel kernel) {
  kernel.calls = 0.0;
  return kernel;
}
// Writes without reads to alternate with.
constexpr MemoryKernel fill(double passes) {
  return {.passes = passes, .rate_share = &ListedKernelConstants::fill_share};
}

// --- lists ------------------------------------------------------------------------------------

template <typename... Kernels>
constexpr KernelList list(Kernels... kernels) {
  static_assert(sizeof...(Kernels) <= kMostKernels);
  return {{kernels...}, sizeof...(Kernels)};
}

}  // namespace stepcast::memory_kernels
