// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/gemm_library.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/hardware/number_ranges.hpp"
#include "stepcast/hardware/sourced_table.hpp"
#include "stepcast/hardware/tile_text.hpp"

namespace stepcast {
namespace {

constexpr auto kStep = static_cast<std::int64_t>(kSideStep);
constexpr Range<std::int64_t> kSides{kStep, static_cast<std::int64_t>(kLongestSide)};
constexpr Range<std::int64_t> kAreas{1, std::int64_t{1} << 20};

enum class Sides { kAny, kPowersOfTwo };
constexpr std::array<NamedValue<Sides>, 2> kSideRules = {
    {{"any", Sides::kAny}, {"powers_of_two", Sides::kPowersOfTwo}}};
constexpr std::array<NamedValue<Clusters>, 4> kClusters = {
    {{"none", Clusters::kNone},
     {"pairs", Clusters::kPairs},
     {"multicast_pairs", Clusters::kMulticastPairs},
     {"multicast_fours", Clusters::kMulticastFours}}};

struct TileRule {
  std::int64_t step = kStep;
  std::int64_t longest_side = kStep;
  std::int64_t least_area = 1;
  std::int64_t accumulators = 1;  // of a tile at most
  Sides sides = Sides::kAny;
};

bool power_of_two(std::int64_t value) { return (value & (value - 1)) == 0; }

bool has_tile(const TileRule& rule, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kInstructionRows = 64;
  if (rows * cols > rule.accumulators || rows * cols < rule.least_area) {
    return false;
  }
  if (rule.sides == Sides::kPowersOfTwo) {
    return power_of_two(rows) && power_of_two(cols);
  }
  // One side is a whole number of matrix instructions.
  return rows % kInstructionRows == 0 || cols % kInstructionRows == 0;
}

std::vector<MacroTile> tiles_of(const TileRule& rule) {
  std::vector<MacroTile> tiles;
  tiles.reserve(kMostTiles);
  for (std::int64_t rows = rule.step; rows <= rule.longest_side; rows += rule.step) {
    for (std::int64_t cols = rule.step; cols <= rule.longest_side; cols += rule.step) {
      if (has_tile(rule, rows, cols)) {
        tiles.push_back({static_cast<double>(rows), static_cast<double>(cols)});
      }
    }
  }
  std::sort(tiles.begin(), tiles.end(), [](const MacroTile& a, const MacroTile& b) {
    const double first = a.rows * a.cols;
    const double second = b.rows * b.cols;
    return first != second ? first > second : a.rows < b.rows;
  });
  return tiles;
}

std::int64_t read_side(SourcedReader& reader, std::string_view key) {
  const std::int64_t side = reader.count(key, kSides);
  if (side % kStep != 0) {
    reader.reader().error(key, "must be a multiple of " + std::to_string(kStep));
    return kStep;
  }
  return side;
}

GemmKernels read_kernels(SourcedReader reader) {
  TileRule rule;
  rule.step = read_side(reader, "tile_step");
  rule.longest_side = read_side(reader, "longest_side");
  rule.least_area = reader.count("least_area", kAreas);
  rule.accumulators = reader.count("accumulators", kAreas);
  rule.sides = reader.choice<Sides>("sides", kSideRules);
  GemmKernels kernels;
  kernels.tiles = tiles_of(rule);
  kernels.clusters = reader.choice<Clusters>("clusters", kClusters);
  kernels.splits_inner = reader.flag("splits_inner");
  kernels.overlaps_tiles = reader.flag("overlaps_tiles");
  if (reader.has("accumulators") && kernels.tiles.empty()) {
    reader.reader().error("accumulators", "leaves no tile; a tile needs one for each result");
  }
  reader.finish();
  return kernels;
}

GroupedKernel read_grouped(SourcedReader reader) {
  constexpr Range<double> kRows{0.0, 1e6};
  GroupedKernel kernel;
  kernel.tile.rows = static_cast<double>(read_side(reader, "rows"));
  kernel.tile.cols = static_cast<double>(read_side(reader, "cols"));
  kernel.above = reader.number("above", kRows);
  kernel.cache_share = reader.number("cache_share", kFraction);
  reader.finish();
  return kernel;
}

std::vector<RooflineTile> read_roofline_tiles(SourcedReader& reader) {
  constexpr std::string_view kKey = "roofline_tiles";
  std::vector<RooflineTile> tiles;
  const std::vector<SourcedRow> rows = sourced_rows(reader, kKey);
  tiles.reserve(rows.size());
  for (const SourcedRow& row : rows) {
    const std::optional<TileSides> sides = parse_tile(row.key);
    const double share = leading_decimal(row.text);
    if (!sides || !(share >= limits::kShare.lowest && share <= limits::kShare.highest)) {
      reader.reader().error(kKey, "has '" + row.key + ": " + row.text +
                                      "'; write the rows and columns of a tile and its share, "
                                      "e.g. 128x64: 0.72");
      continue;
    }
    tiles.push_back({sides->first, sides->second, share});
  }
  return tiles;
}

}  // namespace

GemmLibrary read_gemm_library(SourcedReader reader) {
  GemmLibrary library;
  library.dense = read_kernels(reader.mapping("dense"));
  if (std::optional<SourcedReader> blocks = reader.optional_mapping("block_scaled")) {
    library.block_scaled = read_kernels(std::move(*blocks));
  }
  if (std::optional<SourcedReader> grouped = reader.optional_mapping("grouped")) {
    library.grouped = read_grouped(std::move(*grouped));
  }
  library.roofline_tiles = read_roofline_tiles(reader);
  if (reader.has("roofline_tiles") && library.roofline_tiles.empty()) {
    reader.reader().error("roofline_tiles", "needs a tile or more, e.g. 128x128");
  }
  reader.finish();
  return library;
}

}  // namespace stepcast
