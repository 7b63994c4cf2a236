// SPDX-License-Identifier: Apache-2.0
// The kernels that an implementation of a memory-bound operator runs, as passes over its tensor.
//
// A pass moves the rows x cols tensor once at `element` bytes a value: reading x and writing y of
// the same shape and type is 2, reading 16 bits and writing 32 is 3. Counted from the operations
// that each implementation launches, and checked against traces of PyTorch 2.11 on H200.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "stepcast/hardware/library_constants.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

// What limits a kernel besides bandwidth.
enum class MemoryPath {
  kStream,       // contiguous, vectorised
  kGather,       // whole rows in another order
  kUncoalesced,  // neighbouring values from different lines
  kIndexed,      // every value addressed on its own: strided, broadcast, 16 to 32 bits
  kArithmetic,   // exp, erf, running moments, random bits for every value
  kAtomic,       // atomic additions
  kConvert,      // maximum of, or scaling and conversion to 8 or 4 bits
  kUpdate,       // Adam: loads, arithmetic and stores of a block follow each other
};

// A number that the operations of a kernel say, or one of hardware_profiles/libraries.yaml that was
// fitted to its times.
struct KernelNumber {
  double counted = 0.0;
  double ListedKernelConstants::*fitted = nullptr;

  // Implicit, so that a row of the table gives either as it is.
  constexpr KernelNumber(double number) : counted(number) {}  // NOLINT(google-explicit-constructor)
  constexpr KernelNumber(double ListedKernelConstants::*its)  // NOLINT(google-explicit-constructor)
      : fitted(its) {}
  [[nodiscard]] double of(const ListedKernelConstants& constants) const {
    return fitted == nullptr ? counted : constants.*fitted;
  }
};

struct MemoryKernel {
  double passes = 0.0;            // from and to HBM
  KernelNumber rate_share = 1.0;  // of what passes over HBM reach on the path
  MemoryPath path = MemoryPath::kStream;
  KernelNumber values = 1.0;      // that the path works on, for each of the tensor
  KernelNumber tap_values = 0.0;  // likewise, for each of it and each tap
  double cached = 0.0;            // further passes over a row that was read just before
  KernelNumber row_work = 0.0;    // in units of the constant cost of a row
  KernelNumber full_rows =
      0.0;                   // that keep a unit busy, where one group of threads walks along a row
  KernelNumber ramps = 1.0;  // dependent round trips to memory before and after the stream
  double launches = 1.0;     // 0: generated as part of a neighbour's kernel
  double calls = 1.0;        // of a framework: below 1 where one call launches several kernels
  int repeats = 1;
};

// At most `kMostKernels` different kernels in order.
inline constexpr std::size_t kMostKernels = 12;
struct KernelList {
  std::array<MemoryKernel, kMostKernels> kernels{};
  std::size_t count = 0;

  [[nodiscard]] std::span<const MemoryKernel> all() const { return {kernels.data(), count}; }
};

const KernelList& kernels_of(const MemoryBound& op);

}  // namespace stepcast
