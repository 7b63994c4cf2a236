// SPDX-License-Identifier: Apache-2.0
#include "backends/gemm/tile_time.hpp"

#include <algorithm>

namespace stepcast {
namespace {

constexpr double kResultBytes = 2.0;
constexpr double kPartialBytes = 4.0;

// Groups of the grid, and K steps over all of them.
struct Grid {
  double groups = 0.0;
  double group_steps = 0.0;    // summed over groups
  double longest_steps = 0.0;  // of one group
};

double whole_pairs(double count, bool paired) { return paired ? 2.0 * whole(0.5 * count) : count; }

void add_product(const GemmMachine& machine, const GemmChoice& choice, double m, double n, double k,
                 double batch, Grid& grid) {
  const double rows = whole_pairs(whole(m / choice.tile.rows), choice.cluster == 1);
  const double cols = whole_pairs(whole(n / choice.tile.cols), choice.cluster == 2);
  const double groups = batch * rows * cols * choice.splits;
  const double steps = whole(k * machine.element / (choice.splits * machine.step_bytes));
  grid.groups += groups;
  grid.group_steps += groups * steps;
  grid.longest_steps = std::max(grid.longest_steps, steps);
}

Grid grid_of(const GemmProblem& problem, const GemmMachine& machine, const GemmChoice& choice) {
  Grid grid;
  if (problem.counts.empty()) {
    add_product(machine, choice, problem.m, problem.n, problem.k, problem.batch, grid);
  }
  for (const std::int64_t count : problem.counts) {
    const auto own = static_cast<double>(count);
    if (problem.counts_are_inner) {
      add_product(machine, choice, problem.m, problem.n, own, 1.0, grid);
    } else if (count > 0) {
      add_product(machine, choice, own, problem.n, problem.k, 1.0, grid);
    }
  }
  return grid;
}

// Steps that the busiest unit runs: whole waves of equal groups; groups of unequal length are dealt
// out as units become free, which leaves half of the longest one as a tail.
double busiest_steps(const Grid& grid, double units) {
  const double mean_steps = grid.group_steps / grid.groups;
  const double whole_waves = whole(grid.groups / units) * mean_steps;
  if (grid.longest_steps <= mean_steps) {
    return whole_waves;
  }
  const double dealt = grid.group_steps / units + 0.5 * grid.longest_steps;
  return std::max(grid.longest_steps, std::min(dealt, whole_waves + grid.longest_steps));
}

struct KLoop {
  double cycles = 0.0;
  Bound bound = Bound::kCompute;
};

KLoop k_loop(const Grid& grid, const GemmMachine& machine, const GemmChoice& choice) {
  const MacroTile& tile = choice.tile;
  const double step_elements = machine.step_bytes / machine.element;
  const double matrix = 2.0 * tile.rows * tile.cols * step_elements / machine.flops_per_cycle;
  const double local = (tile.rows + tile.cols) * machine.step_bytes / machine.local_per_cycle;
  const double loaded_bytes = (choice.cluster == 2 ? 0.5 * tile.rows : tile.rows) +
                              (choice.cluster == 1 ? 0.5 * tile.cols : tile.cols);
  const double loaded = loaded_bytes * machine.step_bytes;
  const double port = loaded / machine.port_per_cycle;
  const double step = std::max({matrix, local, port});
  const double by_units = busiest_steps(grid, machine.units) * step;
  const double by_cache = grid.group_steps * loaded / machine.cache_per_cycle;
  if (by_cache > by_units) {
    return {by_cache, Bound::kCache};
  }
  const Bound bound = step == matrix ? Bound::kCompute
                      : step == port ? Bound::kCache
                                     : Bound::kLocalMemory;
  return {by_units, bound};
}

double results(const GemmProblem& problem) {
  const double products = problem.counts.empty()     ? problem.batch
                          : problem.counts_are_inner ? static_cast<double>(problem.counts.size())
                                                     : 1.0;
  return problem.m * problem.n * products;
}

// Partial sums are written and read again through the cache.
double reduction_seconds(const GemmProblem& problem, const GemmMachine& machine, int splits) {
  if (splits == 1) {
    return 0.0;
  }
  const double bytes = results(problem) * (kPartialBytes * splits + kResultBytes);
  return machine.split_latency + bytes / (machine.cache_per_cycle * machine.hertz);
}

}  // namespace

GemmMachine gemm_machine(const GemmProblem& problem, const KernelLibrary& library,
                         const KernelContext& context) {
  const DeviceSpec& device = context.device;
  const GemmConstants& gemm = device.kernels.gemm;
  const std::size_t own =
      device.matrix_rate[slot(problem.dtype)] ? slot(problem.dtype) : slot(Dtype::kBf16);
  const double peak = device.matrix_rate[own]->value();
  const double efficiency =
      gemm.matrix_efficiency[own].value_or(*gemm.matrix_efficiency[slot(Dtype::kBf16)]);
  GemmMachine machine;
  machine.units = static_cast<double>(context.compute_units);
  machine.hertz = context.clock.value();
  machine.peak_per_cycle = peak;
  machine.flops_per_cycle = peak * efficiency * (problem.aligned ? 1.0 : gemm.unaligned_share);
  machine.cache_per_cycle = gemm.cache_rate.value() * static_cast<double>(device.compute_units);
  machine.port_per_cycle = gemm.port_rate.value();
  machine.local_per_cycle = device.local_memory.bandwidth.value();
  machine.epilogue_per_cycle = gemm.epilogue_rate.value();
  machine.epilogue_overlap = library.overlaps ? gemm.epilogue_overlap : 0.0;
  machine.prologue_each_wave = !library.overlaps;
  machine.prologue_cycles = gemm.prologue_cycles;
  machine.hbm_per_second = gemm.hbm_share * device.hbm.peak.value();
  machine.hbm_latency = gemm.hbm_latency.value();
  machine.split_latency = gemm.split_latency.value();
  machine.start_up = gemm.start_up.value();
  machine.launch = context.launch.value();
  machine.element = size_of(problem.dtype).value();
  return machine;
}

GemmTime gemm_time(const GemmProblem& problem, const GemmMachine& machine,
                   const GemmChoice& choice) {
  const Grid grid = grid_of(problem, machine, choice);
  GemmTime time;
  if (grid.groups <= 0.0) {
    time.total = machine.launch + machine.start_up;
    time.bound = Bound::kLatency;
    return time;
  }
  const double step_elements = machine.step_bytes / machine.element;
  const KLoop loop = k_loop(grid, machine, choice);
  const double area = choice.tile.rows * choice.tile.cols;
  const double result_bytes = choice.splits > 1 ? kPartialBytes : kResultBytes;
  const double epilogue = area * result_bytes / machine.epilogue_per_cycle;
  const double waves = whole(grid.groups / machine.units);
  const double hidden = (waves - 1.0) * machine.epilogue_overlap *
                        std::min(epilogue, loop.cycles / std::max(1.0, waves));
  time.waves = grid.groups / machine.units;
  time.matrix_cycles = grid.group_steps * 2.0 * area * step_elements / machine.peak_per_cycle;
  const double prologues = machine.prologue_each_wave ? waves : 1.0;
  time.prologue = prologues * machine.prologue_cycles / machine.hertz;
  time.load_bound = loop.bound == Bound::kCache;
  time.k_loop = loop.cycles / machine.hertz;
  time.epilogue = (waves * epilogue - hidden) / machine.hertz;
  const double core = time.prologue + time.k_loop + time.epilogue;
  const double memory = problem.compulsory.value() / machine.hbm_per_second + machine.hbm_latency;
  time.memory = std::max(0.0, memory - core);
  time.reduction = reduction_seconds(problem, machine, choice.splits);
  time.total = machine.launch + machine.start_up + core + time.memory + time.reduction;
  const double latency = machine.launch + machine.start_up + time.prologue + time.reduction;
  time.bound = memory > core                                    ? Bound::kMemory
               : latency > std::max(time.k_loop, time.epilogue) ? Bound::kLatency
               : time.epilogue > time.k_loop                    ? Bound::kCache
                                                                : loop.bound;
  return time;
}

double least_time(const GemmProblem& problem, const GemmMachine& machine, const MacroTile& tile,
                  int splits) {
  const double groups =
      whole(problem.m / tile.rows) * whole(problem.n / tile.cols) * problem.batch * splits;
  const double steps = whole(problem.k * machine.element / (splits * machine.step_bytes));
  const double step_elements = machine.step_bytes / machine.element;
  const double matrix = 2.0 * tile.rows * tile.cols * step_elements / machine.flops_per_cycle;
  const double cycles = whole(groups / machine.units) * steps * matrix + machine.prologue_cycles;
  return machine.launch + machine.start_up + cycles / machine.hertz +
         (splits > 1 ? machine.split_latency : 0.0);
}

}  // namespace stepcast
