// SPDX-License-Identifier: Apache-2.0
// Which kernels of an architecture's GEMM library may serve a product; the architecture's file says
// what there is (stepcast/hardware/architecture.hpp).
#pragma once

#include <optional>
#include <span>

#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {

// Workgroups that load together: `rows` neighbours along the rows share the columns that they
// multiply with, `cols` neighbours along the columns share their rows.
struct ClusterShape {
  int rows = 1;
  int cols = 1;
};
// Neighbours along a side: 1, 2 or 4.
inline constexpr std::size_t kClusterSides = 3;

struct KernelLibrary {
  std::span<const MacroTile> tiles;        // largest area first
  std::span<const ClusterShape> clusters;  // a workgroup alone first
  // Whether each of a cluster receives both operands whole, and does not use a part where another
  // one holds it.
  bool receives_whole = true;
  bool splits = true;  // whether it has kernels that split the inner dimension
  // Whether a tile's loads start, and its results leave, beside its neighbours.
  bool overlaps = true;
  // Of the cache, that holds rows until a persistent kernel of groups comes to the next columns;
  // nothing where the kernel is no such one.
  std::optional<double> cache_share;
};

// The library that serves products of a format: block-scaled ones may have one of their own. It
// looks at the tiles of `device`.
KernelLibrary kernel_library(const DeviceSpec& device, Dtype dtype);

// For groups of products with a mean of `rows` x `cols` results, in one kernel.
KernelLibrary grouped_library(const DeviceSpec& device, Dtype dtype, double rows, double cols);

}  // namespace stepcast
