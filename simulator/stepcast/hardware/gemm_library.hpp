// SPDX-License-Identifier: Apache-2.0
// The kernels that the GEMM library of an architecture has: hardware_profiles/architectures.
//
// A tile is limited by what holds its 32-bit accumulators (registers, or tensor memory on
// Blackwell, half of it where the epilogue needs a second buffer) and by the local memory that
// holds the K steps in flight. A library has the tiles with one side a multiple of a step and the
// other one as well, both ways round, whose area needs no more accumulators than that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

struct MacroTile {
  double rows = 0.0;
  double cols = 0.0;
};

// Of any library.
inline constexpr std::size_t kSideStep = 32;  // all sides are multiples of it
inline constexpr std::size_t kLongestSide = 320;
inline constexpr std::size_t kMostTiles = (kLongestSide / kSideStep) * (kLongestSide / kSideStep);

// Of workgroups along rows or columns that load an operand together: two whose units multiply with
// what either holds, or two, or up to four, to each of which the cache's answer is sent.
enum class Clusters { kNone, kPairs, kMulticastPairs, kMulticastFours };

struct GemmKernels {
  std::vector<MacroTile> tiles;  // largest area first
  Clusters clusters = Clusters::kNone;
  bool splits_inner = true;  // whether it has kernels that split the inner dimension
  // Whether a tile's loads start, and its results leave, beside its neighbours.
  bool overlaps_tiles = true;
};

// One persistent kernel for groups of products that all have more rows and columns than `above`.
struct GroupedKernel {
  MacroTile tile;
  double above = 0.0;
  double cache_share = 0.5;  // of the cache, that holds rows until the next columns come
};

struct RooflineTile {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  double share = 1.0;  // of the matrix rate that the tile keeps
};

struct GemmLibrary {
  GemmKernels dense;
  std::optional<GemmKernels> block_scaled;  // of products with a scale for each block of operands
  std::optional<GroupedKernel> grouped;     // of 16-bit products, where there is a kernel apart
  std::vector<RooflineTile> roofline_tiles;
};

GemmLibrary read_gemm_library(SourcedReader reader);

}  // namespace stepcast
