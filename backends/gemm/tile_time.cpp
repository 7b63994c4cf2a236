// SPDX-License-Identifier: Apache-2.0
#include "backends/gemm/tile_time.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

// Small clusters first: among equal times, the library takes those.
constexpr std::array<ClusterShape, 5> kClusters = {{{1, 1}, {2, 1}, {1, 2}, {4, 1}, {1, 4}}};

std::span<const ClusterShape> shapes_of(Clusters clusters) {
  switch (clusters) {
    case Clusters::kNone:
      return std::span(kClusters).first(1);
    case Clusters::kPairs:
    case Clusters::kMulticastPairs:
      return std::span(kClusters).first(3);
    case Clusters::kMulticastFours:
      return kClusters;
  }
  return std::span(kClusters).first(1);
}

constexpr Bytes kPartial{4.0};

// Groups of the grid, and K steps over all of them.
struct Grid {
  double groups = 0.0;
  double group_steps = 0.0;  // summed over groups
  TileCounts::Steps steps;
};

TileCounts::Side side_of(double length, double side) {
  const double tiles = whole(length / side);
  return {tiles, 2.0 * whole(0.5 * tiles), 4.0 * whole(0.25 * tiles)};
}

Grid grid_of(const TileCounts& counts, const GemmChoice& choice) {
  const TileCounts::Side& rows = counts.rows(choice.tile);
  const TileCounts::Side& cols = counts.cols(choice.tile);
  const TileCounts::Steps steps = counts.steps(choice.splits);
  const double tiles = TileCounts::tiles(rows, choice.cluster.rows) *
                       TileCounts::tiles(cols, choice.cluster.cols) * choice.splits;
  return {counts.products() * tiles, tiles * steps.sum, steps};
}

struct KLoop {
  double cycles = 0.0;
  Bound bound = Bound::kCompute;
};

KLoop k_loop(const Grid& grid, double waves, const GemmMachine& machine, const GemmChoice& choice) {
  const MacroTile& tile = choice.tile;
  const double step_elements = machine.step / machine.element;
  const double matrix = Flops(2.0 * tile.rows * tile.cols * step_elements) / machine.rate;
  const double local = (tile.rows + tile.cols) * machine.step / machine.local_rate;
  const double loaded_rows = tile.rows / choice.cluster.cols + tile.cols / choice.cluster.rows;
  const Bytes loaded = loaded_rows * machine.step;
  const double received = machine.receives_whole ? tile.rows + tile.cols : loaded_rows;
  const double port = received * machine.step / machine.port_rate;
  const double step = std::max({matrix, local, port});
  const double by_units = busiest_steps(grid.steps, waves, grid.group_steps / machine.units) * step;
  const double by_cache = grid.group_steps * loaded / machine.cache_rate;
  if (by_cache > by_units) {
    return {by_cache, Bound::kCache};
  }
  const Bound bound = step == matrix ? Bound::kCompute
                      : step == port ? Bound::kCache
                                     : Bound::kLocalMemory;
  return {by_units, bound};
}

}  // namespace

KernelLibrary kernel_library(const DeviceSpec& device, Dtype dtype) {
  const GemmLibrary& library = device.architecture.gemm;
  const bool blocks = dtype == Dtype::kFp8Block && library.block_scaled.has_value();
  const GemmKernels& kernels = blocks ? *library.block_scaled : library.dense;
  return {kernels.tiles,        shapes_of(kernels.clusters), kernels.clusters != Clusters::kPairs,
          kernels.splits_inner, kernels.overlaps_tiles,      std::nullopt};
}

KernelLibrary grouped_library(const DeviceSpec& device, Dtype dtype, double rows, double cols) {
  KernelLibrary library = kernel_library(device, dtype);
  const std::optional<GroupedKernel>& grouped = device.architecture.gemm.grouped;
  const bool sixteen_bits = dtype == Dtype::kBf16 || dtype == Dtype::kFp16;
  if (grouped && sixteen_bits && std::min(rows, cols) > grouped->above) {
    library.tiles = std::span(&grouped->tile, 1);
    library.clusters = library.clusters.first(std::min<std::size_t>(3, library.clusters.size()));
    library.cache_share = grouped->cache_share;
  }
  return library;
}

// Partial sums are written and read again through the cache.
Seconds reduction_time(const GemmProblem& problem, const GemmMachine& machine, int splits) {
  if (splits == 1) {
    return {};
  }
  const Bytes bytes = problem.m * problem.n * problem.batch * (kPartial * splits + problem.result);
  return machine.split_latency + bytes / (machine.cache_rate * machine.clock);
}

Seconds memory_time(const GemmProblem& problem, const GemmMachine& machine) {
  const Seconds moved = problem.compulsory / machine.hbm_rate;
  return problem.cold ? moved + machine.hbm_latency : moved;
}

double share_of(RowAlignment alignment, const GemmConstants& gemm) {
  switch (alignment) {
    case RowAlignment::kWhole:
      return 1.0;
    case RowAlignment::kPartial:
      return gemm.unaligned_share;
    case RowAlignment::kOdd:
      return gemm.odd_share;
  }
  return 1.0;
}

Bytes result_bytes(const GemmProblem& problem, int splits) {
  return splits > 1 ? kPartial : problem.result;
}

GemmMachine gemm_machine(const GemmProblem& problem, const KernelLibrary& library,
                         const KernelContext& context) {
  const DeviceSpec& device = context.device;
  const GemmConstants& gemm = device.kernels.gemm;
  const std::size_t own =
      device.matrix_rate[slot(problem.dtype)] ? slot(problem.dtype) : slot(Dtype::kBf16);
  const FlopsPerCycle peak = *device.matrix_rate[own];
  const double efficiency =
      gemm.matrix_efficiency[own].value_or(*gemm.matrix_efficiency[slot(Dtype::kBf16)]);
  GemmMachine machine;
  machine.units = static_cast<double>(context.compute_units);
  machine.clock = context.clock;
  machine.peak_rate = peak;
  machine.rate = peak * efficiency * share_of(problem.alignment, gemm);
  machine.cache_rate = gemm.cache_rate * static_cast<double>(device.compute_units);
  machine.port_rate = gemm.port_rate;
  machine.local_rate = device.local_memory.bandwidth;
  machine.epilogue_rate = gemm.epilogue_rate;
  machine.epilogue_overlap = library.overlaps ? gemm.epilogue_overlap : 0.0;
  machine.prologue_each_wave = !library.overlaps;
  machine.receives_whole = library.receives_whole;
  machine.prologue_cycles = gemm.prologue_cycles;
  machine.hbm_rate = gemm.hbm_share * device.hbm.peak;
  machine.hbm_latency = gemm.hbm_latency;
  machine.split_latency = gemm.split_latency;
  machine.start_up = gemm.start_up;
  machine.launch = context.launch;
  machine.element = size_of(problem.dtype);
  return machine;
}

TileCounts::TileCounts(const GemmProblem& problem, const GemmMachine& machine)
    : inner_bytes_(problem.k * machine.element), step_(machine.step) {
  const bool share_rows = !problem.counts.empty() && !problem.counts_are_inner;
  for (std::size_t i = 0; i < kSides; ++i) {
    const auto side = static_cast<double>(kSideStep * (i + 1));
    cols_[i] = side_of(problem.n, side);
    rows_[i] = share_rows ? Side{} : side_of(problem.m, side);
    for (const std::int64_t count : share_rows ? problem.counts : std::span<const std::int64_t>{}) {
      const Side own = side_of(static_cast<double>(count), side);
      for (std::size_t j = 0; j < own.size(); ++j) {
        rows_[i][j] += own[j];
      }
    }
  }
  if (problem.counts.empty()) {
    products_ = problem.batch;
  } else if (problem.counts_are_inner) {
    unequal_ = true;
    products_ = static_cast<double>(problem.counts.size());
    for (const std::int64_t count : problem.counts) {
      const double steps = whole(static_cast<double>(count) * machine.element / step_);
      inner_.sum += steps;
      inner_.longest = std::max(inner_.longest, steps);
    }
    inner_.mean = inner_.sum / products_;
  }
}

TileCounts::Steps TileCounts::steps(int splits) const {
  if (unequal_) {
    return inner_;
  }
  const double steps = whole(inner_bytes_ / (splits * step_));
  return {products_ * steps, steps, steps};
}

GemmTime gemm_time(const GemmProblem& problem, const GemmMachine& machine, const TileCounts& counts,
                   const GemmChoice& choice) {
  const Grid grid = grid_of(counts, choice);
  GemmTime time;
  if (grid.groups <= 0.0) {
    time.total = machine.launch + machine.start_up;
    time.bound = Bound::kLatency;
    return time;
  }
  const double step_elements = machine.step / machine.element;
  const double waves = whole(grid.groups / machine.units);
  const KLoop loop = k_loop(grid, waves, machine, choice);
  const double area = choice.tile.rows * choice.tile.cols;
  const double epilogue = area * result_bytes(problem, choice.splits) / machine.epilogue_rate;
  const double hidden = (waves - 1.0) * machine.epilogue_overlap *
                        std::min(epilogue, loop.cycles / std::max(1.0, waves));
  time.waves = grid.groups / machine.units;
  time.matrix_cycles = Flops(grid.group_steps * 2.0 * area * step_elements) / machine.peak_rate;
  const double prologues = machine.prologue_each_wave ? waves : 1.0;
  time.prologue = prologues * machine.prologue_cycles / machine.clock;
  time.load_bound = loop.bound == Bound::kCache;
  time.k_loop = loop.cycles / machine.clock;
  time.epilogue = (waves * epilogue - hidden) / machine.clock;
  time.core = time.prologue + time.k_loop + time.epilogue;
  const Seconds memory = memory_time(problem, machine);
  time.memory = max(Seconds{}, memory - time.core);
  time.reduction = reduction_time(problem, machine, choice.splits);
  time.total = machine.launch + machine.start_up + max(time.core, memory) + time.reduction;
  const Seconds latency = machine.launch + machine.start_up + time.prologue + time.reduction;
  time.bound = memory > time.core                          ? Bound::kMemory
               : latency > max(time.k_loop, time.epilogue) ? Bound::kLatency
               : time.epilogue > time.k_loop               ? Bound::kCache
                                                           : loop.bound;
  return time;
}

}  // namespace stepcast
