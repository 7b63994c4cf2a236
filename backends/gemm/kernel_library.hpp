// SPDX-License-Identifier: Apache-2.0
// The macro tiles that the GEMM library of an architecture has kernels for.
//
// A tile is limited by what holds its 32-bit accumulators (registers, or tensor memory on
// Blackwell, half of it where the epilogue needs a second buffer) and by the local memory that
// holds the K steps in flight.
#pragma once

#include <cstdint>
#include <span>

#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {

struct MacroTile {
  double rows;
  double cols;
};

struct KernelLibrary {
  std::span<const MacroTile> tiles;  // largest area first
  int cluster_shapes = 1;  // 1: no clusters; 3: alone, pairs along rows, pairs along columns
};

KernelLibrary kernel_library(const DeviceSpec& device);

}  // namespace stepcast
