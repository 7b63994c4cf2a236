// SPDX-License-Identifier: Apache-2.0
// The time of a matrix product with one choice of tile, split and cluster.
//
//   groups  = batch ceil(m / rows) ceil(n / cols) splits, whole clusters
//   step    = 128 bytes of the inner dimension: the longest of
//               matrix       2 rows cols step / (rate * efficiency)
//               port         bytes of a group's operands / what one unit can load
//               local memory the same bytes, both operands whole, / its bandwidth
//   k loop  = max(waves * steps * step, groups * steps * bytes / what the cache feeds to all units)
//   time    = launch + start-up + prologue (of each wave, if tiles do not overlap) + k loop + waves
//   * epilogue - what the next K loop hides
//             of it, or HBM if that takes longer; + reduction of the partial sums of splits
//
// A pair of a cluster loads one operand together. All members of groups of unequal size share the
// grid. Waves are whole.
#pragma once

#include <cstdint>
#include <span>

#include "backends/gemm/kernel_library.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

// One product, or `batch` equal ones, or one of each count in `counts` where those are given: they
// stand for m, or for k where `counts_are_inner`.
struct GemmProblem {
  double m = 0.0;
  double n = 0.0;
  double k = 0.0;
  double batch = 1.0;
  std::span<const std::int64_t> counts;
  bool counts_are_inner = false;
  Dtype dtype = Dtype::kBf16;
  bool aligned = true;
  Bytes compulsory;
};

struct GemmChoice {
  MacroTile tile{};
  int splits = 1;
  int cluster = 0;  // 0: alone, 1: pairs along rows share columns, 2: the converse
};

// What the machine offers at a clock, as plain numbers: bytes and FLOPs a cycle, cycles, seconds.
struct GemmMachine {
  double units = 1.0;
  double hertz = 1.0;
  double step_bytes = 128.0;
  double flops_per_cycle = 1.0;  // of one unit, in the K loop
  double peak_per_cycle = 1.0;   // of one unit
  double cache_per_cycle = 1.0;  // of the GPU
  double port_per_cycle = 1.0;   // of one unit
  double local_per_cycle = 1.0;  // of one unit
  double epilogue_per_cycle = 1.0;
  double epilogue_overlap = 0.0;
  double prologue_cycles = 0.0;
  bool prologue_each_wave = false;
  double hbm_per_second = 1.0;
  double hbm_latency = 0.0;
  double split_latency = 0.0;
  double start_up = 0.0;
  double launch = 0.0;
  double element = 2.0;  // bytes
};

GemmMachine gemm_machine(const GemmProblem& problem, const KernelLibrary& library,
                         const KernelContext& context);

// Seconds, unless the name says otherwise. The parts follow each other; `total` is their sum.
struct GemmTime {
  double total = 0.0;
  double prologue = 0.0;
  double k_loop = 0.0;
  double epilogue = 0.0;
  double memory = 0.0;  // that HBM takes beyond the three above
  double reduction = 0.0;
  double waves = 0.0;
  double matrix_cycles = 0.0;  // summed over units
  bool load_bound = false;     // whether loads, and not products, set the pace of the K loop
  Bound bound = Bound::kCompute;
};

GemmTime gemm_time(const GemmProblem& problem, const GemmMachine& machine,
                   const GemmChoice& choice);

// What no cluster can go below for an equal-sized problem: the matrix units' time. Seconds.
double least_time(const GemmProblem& problem, const GemmMachine& machine, const MacroTile& tile,
                  int splits);

// The least whole number that is not below `value`, which is not negative and below 2^53. Cheaper
// than std::ceil, which is a call on the oldest x86-64.
inline double whole(double value) {
  const auto truncated = static_cast<double>(static_cast<std::int64_t>(value));
  return truncated < value ? truncated + 1.0 : truncated;
}

}  // namespace stepcast
