// SPDX-License-Identifier: Apache-2.0
// The time of a matrix product with one choice of tile, split and cluster.
//
//   groups  = batch ceil(m / rows) ceil(n / cols) splits, whole clusters
//   step    = 128 bytes of the inner dimension: the longest of
//               matrix       2 rows cols step / (rate * efficiency)
//               port         bytes of both operands / what one unit can receive; of a pair that
//                            multiplies with what either holds, the bytes that it loads itself
//               local memory bytes of both operands / its bandwidth
//   k loop  = max(waves * steps * step, groups * steps * bytes / what the cache feeds to all units)
//   core    = prologue (of each wave, if tiles do not overlap) + waves * what a kernel's tiles take
//             before they multiply + k loop + waves * epilogue - what the next K loop hides of it
//   time    = launch + start-up + max(core, HBM) + reduction of the partial sums of splits
//
// A cluster loads one operand together: the cache sends it once. All members of groups of unequal
// size share the grid. Waves are whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "stepcast/cost/cost_model.hpp"
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

// Which kernels of an architecture's GEMM library may serve a product; the architecture's file says
// what there is (stepcast/hardware/architecture.hpp).
struct KernelLibrary {
  std::span<const MacroTile> tiles;        // largest area first
  std::span<const ClusterShape> clusters;  // a workgroup alone first
  // Whether each of a cluster receives both operands whole, and does not use a part where another
  // one holds it.
  bool receives_whole = true;
  bool splits = true;  // whether it has kernels that split the inner dimension
  // Whether a tile's loads start, and its results leave, beside its neighbours.
  bool overlaps = true;
  bool hides_results = true;    // behind the products of the next tile, where tiles overlap
  std::int64_t inner_step = 0;  // of K; 0: what 128 bytes hold
  Seconds start_up;             // besides that of other products
  // Of the cache, that holds rows until a persistent kernel of groups comes to the next columns;
  // nothing where the kernel is no such one.
  std::optional<double> cache_share;
  double loop_rate = 1.0;    // share of the rates of products and loads that its K loop keeps
  double tile_cycles = 0.0;  // that each tile takes before its first product
};

// The library that serves products of a format: block-scaled ones and those in 4 bits may have one
// of their own. It looks at the tiles of `device`.
KernelLibrary kernel_library(const DeviceSpec& device, Dtype dtype);
// The dense kernels, where those of `dtype` are others that a library may pass over.
std::optional<KernelLibrary> dense_library(const DeviceSpec& device, Dtype dtype);

// For groups of products of a pass with a mean of `rows` x `cols` results, in one kernel.
KernelLibrary grouped_library(const DeviceSpec& device, const GroupedGemm& op, double rows,
                              double cols);

// Where rows start: at multiples of the 16 bytes that asynchronous copies load at once, of the 4
// that are the least they load, or between.
enum class RowAlignment { kWhole, kPartial, kOdd };

// One product, or `batch` equal ones, or one of each count in `counts` where those are given: they
// stand for m, or for k where `counts_are_inner`.
struct GemmProblem {
  double m = 0.0;
  double n = 0.0;
  double k = 0.0;
  double batch = 1.0;
  std::span<const std::int64_t> counts;
  bool counts_are_inner = false;
  bool may_split = true;  // the inner dimension; kernels of groups walk over all of it
  Dtype dtype = Dtype::kBf16;
  RowAlignment alignment = RowAlignment::kWhole;
  Bytes compulsory;  // that HBM moves
  bool cold = true;  // whether some operand comes from HBM
  Accumulation accumulation = Accumulation::kFast;
  Bytes result{2.0};  // an element of the result, through the epilogue: written, and read where it
                      // is added to
};

struct GemmChoice {
  MacroTile tile{};
  int splits = 1;
  ClusterShape cluster;
};

// What the machine offers at a clock.
struct GemmMachine {
  double units = 1.0;
  Hertz clock{1.0};
  Bytes step{128.0};                 // of a row of an operand in a K step
  FlopsPerCycle rate{1.0};           // of one unit, in the K loop
  FlopsPerCycle peak_rate{1.0};      // of one unit
  BytesPerCycle cache_rate{1.0};     // of the GPU
  BytesPerCycle port_rate{1.0};      // of one unit
  BytesPerCycle local_rate{1.0};     // of one unit
  BytesPerCycle epilogue_rate{1.0};  // of one unit
  double epilogue_overlap = 0.0;
  double prologue_cycles = 0.0;
  double tile_cycles = 0.0;  // of each wave, besides
  bool prologue_each_wave = false;
  bool receives_whole = true;  // each of a cluster receives both operands whole
  BytesPerSecond hbm_rate{1.0};
  Seconds hbm_latency;
  Seconds split_latency;
  Seconds start_up;
  Seconds launch;
  Bytes element{2.0};
};

GemmMachine gemm_machine(const GemmProblem& problem, const KernelLibrary& library,
                         const KernelContext& context);

// What the grids of all choices for a problem are made of, counted once for each side of a tile.
class TileCounts {
 public:
  TileCounts(const GemmProblem& problem, const GemmMachine& machine);

  // Tiles along the dimension in whole clusters of 1, 2 and 4; summed over counts.
  using Side = std::array<double, kClusterSides>;
  [[nodiscard]] static double tiles(const Side& side, int neighbours) {
    return side[static_cast<std::size_t>(neighbours / 2)];
  }
  [[nodiscard]] const Side& rows(const MacroTile& tile) const { return rows_[index(tile.rows)]; }
  [[nodiscard]] const Side& cols(const MacroTile& tile) const { return cols_[index(tile.cols)]; }

  // K steps of one of `splits` parts of a product.
  struct Steps {
    double sum = 0.0;      // over products, for one tile of each
    double mean = 0.0;     // of a workgroup
    double longest = 0.0;  // likewise
  };
  [[nodiscard]] Steps steps(int splits) const;
  // Products that all have the tiles that rows() and cols() say.
  [[nodiscard]] double products() const { return products_; }

 private:
  static constexpr std::size_t kSides = kLongestSide / kSideStep;
  static std::size_t index(double side) { return static_cast<std::size_t>(side) / kSideStep - 1; }

  std::array<Side, kSides> rows_{};
  std::array<Side, kSides> cols_{};
  Bytes inner_bytes_;
  Bytes step_{1.0};
  double products_ = 1.0;
  bool unequal_ = false;  // inner dimensions
  Steps inner_;           // of those
};

// The parts follow each other; `total` is their sum.
struct GemmTime {
  Seconds total;
  Seconds core;  // prologue, K loop and epilogue
  Seconds prologue;
  Seconds k_loop;
  Seconds epilogue;
  Seconds memory;  // that HBM takes beyond the three above
  Seconds reduction;
  double waves = 0.0;
  double matrix_cycles = 0.0;  // summed over units
  bool load_bound = false;     // whether loads, and not products, set the pace of the K loop
  Bound bound = Bound::kCompute;
};

GemmTime gemm_time(const GemmProblem& problem, const GemmMachine& machine, const TileCounts& counts,
                   const GemmChoice& choice);

// What HBM takes for the operands and results; its latency only if it is waited for.
Seconds memory_time(const GemmProblem& problem, const GemmMachine& machine);
// What adding up the partial sums of a split K loop takes.
Seconds reduction_time(const GemmProblem& problem, const GemmMachine& machine, int splits);
// A result as a workgroup writes it.
Bytes result_bytes(const GemmProblem& problem, int splits);

// The least whole number that is not below `value`, which is not negative and below 2^51. Cheaper
// than std::ceil, which is a call on the oldest x86-64: adding 2^52 leaves no place for a fraction.
inline double whole(double value) {
  constexpr double kNoFractions = 4503599627370496.0;
  const double nearest = (value + kNoFractions) - kNoFractions;
  return nearest + (nearest < value ? 1.0 : 0.0);
}

// Steps that the busiest unit runs: whole waves of equal groups; groups of unequal length are dealt
// out as units become free, which leaves half of the longest one as a tail.
inline double busiest_steps(const TileCounts::Steps& steps, double waves, double each_unit) {
  const double whole_waves = waves * steps.mean;
  if (steps.longest <= steps.mean) {
    return whole_waves;
  }
  const double dealt = each_unit + 0.5 * steps.longest;
  return std::max(steps.longest, std::min(dealt, whole_waves + steps.longest));
}

// The tile, split and cluster with which a library's product takes least.
//
// Among equal times, as of products that wait for memory, the one with less to do besides; among
// those, the first in the library's order.
struct GemmPick {
  GemmChoice choice;
  GemmTime time;
};

GemmPick cheapest(const GemmProblem& problem, const GemmMachine& machine,
                  const KernelLibrary& library);

}  // namespace stepcast
