// SPDX-License-Identifier: Apache-2.0
#include "backends/gemm/kernel_library.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

// Sides of tiles: one side from `first`, the other a multiple of `step`; both ways round.
struct TileRule {
  int step;          // of the free side
  int largest_side;  // of either
  int accumulators;  // of a tile at most
  bool powers;       // both sides powers of two
};

// CUTLASS on Ampere: powers of two, accumulators in half of 64 K registers.
constexpr TileRule kAmpere{32, 256, 32'768, true};
// cuBLAS on Hopper (nvjet): many widths, accumulators in five eighths of the registers.
constexpr TileRule kHopper{32, 320, 40'960, false};
// DeepGEMM on Hopper: every block's product is scaled into a second set of accumulators.
constexpr TileRule kHopperBlockScaled{32, 256, 20'480, false};
// Blackwell: 128 x 256 of a pair's 256 x 256, two of them in tensor memory.
constexpr TileRule kBlackwell{64, 320, 32'768, false};
// hipBLASLt on CDNA: up to 256 x 256, accumulators in half of 128 K registers.
constexpr TileRule kCdna{32, 256, 65'536, false};

constexpr int kSmallestArea = 2'048;

constexpr bool power_of_two(int value) { return (value & (value - 1)) == 0; }

constexpr bool has_tile(const TileRule& rule, int rows, int cols) {
  if (rows * cols > rule.accumulators || rows * cols < kSmallestArea) {
    return false;
  }
  if (rule.powers) {
    return power_of_two(rows) && power_of_two(cols);
  }
  // One side is a whole number of matrix instructions of 64 rows.
  return rows % 64 == 0 || cols % 64 == 0;
}

struct TileTable {
  std::array<MacroTile, kMostTiles> tiles{};
  std::size_t count = 0;
};

constexpr TileTable table_of(const TileRule& rule) {
  TileTable table;
  for (int rows = rule.step; rows <= rule.largest_side; rows += rule.step) {
    for (int cols = rule.step; cols <= rule.largest_side; cols += rule.step) {
      if (has_tile(rule, rows, cols)) {
        table.tiles.at(table.count++) = {static_cast<double>(rows), static_cast<double>(cols)};
      }
    }
  }
  std::sort(table.tiles.begin(), table.tiles.begin() + static_cast<std::ptrdiff_t>(table.count),
            [](const MacroTile& a, const MacroTile& b) {
              const double first = a.rows * a.cols;
              const double second = b.rows * b.cols;
              return first != second ? first > second : a.rows < b.rows;
            });
  return table;
}

constexpr TileTable kAmpereTiles = table_of(kAmpere);
constexpr TileTable kHopperTiles = table_of(kHopper);
constexpr TileTable kHopperBlockScaledTiles = table_of(kHopperBlockScaled);
constexpr TileTable kBlackwellTiles = table_of(kBlackwell);
constexpr TileTable kCdnaTiles = table_of(kCdna);

// PyTorch's grouped product on Hopper (aten/src/ATen/native/cuda/GroupMM.cu): one CUTLASS kernel
// for groups of more than 128 rows and columns, whatever they fill of its tiles.
constexpr std::array kGroupedHopperTile = {MacroTile{128.0, 256.0}};
constexpr double kGroupedHopperLeast = 128.0;

std::span<const MacroTile> listed(const TileTable& table) {
  return std::span(table.tiles).first(table.count);
}

}  // namespace

KernelLibrary kernel_library(const DeviceSpec& device, Dtype dtype) {
  const bool blocks = dtype == Dtype::kFp8Block;
  switch (device.architecture.family) {
    case KernelFamily::kAmpere:
      return {listed(kAmpereTiles), 1, true};
    case KernelFamily::kHopper:
      return {listed(blocks ? kHopperBlockScaledTiles : kHopperTiles), 3, !blocks, !blocks};
    case KernelFamily::kBlackwell:
      return {listed(kBlackwellTiles), 3, !blocks, !blocks};
    case KernelFamily::kCdna3:
    case KernelFamily::kCdna4:
      return {listed(kCdnaTiles), 1, true};
  }
  return {};
}

KernelLibrary grouped_library(const DeviceSpec& device, Dtype dtype, double rows, double cols) {
  KernelLibrary library = kernel_library(device, dtype);
  const bool sixteen_bits = dtype == Dtype::kBf16 || dtype == Dtype::kFp16;
  if (device.architecture.family == KernelFamily::kHopper && sixteen_bits &&
      std::min(rows, cols) > kGroupedHopperLeast) {
    library.tiles = kGroupedHopperTile;
  }
  return library;
}

}  // namespace stepcast
