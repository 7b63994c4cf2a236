// SPDX-License-Identifier: Apache-2.0
// The macro tiles that the GEMM library of an architecture has kernels for.
//
// A tile is limited by what holds its 32-bit accumulators (registers, or tensor memory on
// Blackwell, half of it where the epilogue needs a second buffer) and by the local memory that
// holds the K steps in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {

struct MacroTile {
  double rows;
  double cols;
};

// Of any library.
inline constexpr std::size_t kMostTiles = 96;
inline constexpr std::size_t kSideStep = 32;  // all sides are multiples of it
inline constexpr std::size_t kLongestSide = 320;

struct KernelLibrary {
  std::span<const MacroTile> tiles;  // largest area first
  int cluster_shapes = 1;  // 1: no clusters; 3: alone, pairs along rows, pairs along columns
  bool splits = true;      // whether it has kernels that split the inner dimension
  // Whether a tile's loads start, and its results leave, beside its neighbours.
  bool overlaps = true;
};

// The library that serves products of a format: block-scaled ones on NVIDIA have one of their own.
KernelLibrary kernel_library(const DeviceSpec& device, Dtype dtype);

// For groups of products with a mean of `rows` x `cols` results, in one kernel.
KernelLibrary grouped_library(const DeviceSpec& device, Dtype dtype, double rows, double cols);

}  // namespace stepcast
