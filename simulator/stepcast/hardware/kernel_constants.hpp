// SPDX-License-Identifier: Apache-2.0
// Constants of the models of kernels, shared by the parts of a family: hardware_profiles/kernels.
// kernel_tables.hpp says what each number is.
#pragma once

#include <optional>
#include <string>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/units.hpp"

namespace stepcast {

// What has a clock of its own: each kernel of a step, within one level of power for all of them, or
// only the step (cost/power_state.hpp).
enum class ClockScope { kKernel, kStep };

// What work costs in energy, and how that grows with the clock.
//
//   energy(f) = matrix cycles * matrix energy(dtype) * (f / reference clock)^voltage_exponent
//             + HBM bytes * HBM energy
//   power     = idle + energy / duration
//
// A matrix cycle is one cycle of one compute unit with its matrix pipes busy. Energy of a cycle
// grows with the square of the voltage, and voltage about with the clock: the exponent is near 2.
// Operands are random: zeros cost less than half (hardware.md 3.1) and are not modelled.
struct PowerConstants {
  Hertz reference_clock;
  PerDtype<Joules> matrix_energy;
  double precise_accumulation = 1.0;
  double voltage_exponent = 2.0;
  Joules hbm_energy;
  double burst_ratio = 1.0;
  double clock_spread = 0.0;
  Joules burst_energy;
  ClockScope clock_per = ClockScope::kKernel;
};

// What the tile model of matrix products knows of a family of GPUs and its library.
struct GemmConstants {
  PerDtype<double> matrix_efficiency;
  BytesPerCycle cache_rate;
  BytesPerCycle port_rate;
  double prologue_cycles = 0.0;
  BytesPerCycle epilogue_rate;
  double epilogue_overlap = 0.0;
  double hbm_share = 1.0;
  Seconds start_up;
  Seconds hbm_latency;
  Seconds split_latency;
  double unaligned_share = 1.0;
  double odd_share = 1.0;  // as unaligned_share where a file leaves it out
};

// What a part lets a fused attention kernel reach. What belongs to a named kernel (tiles, overlap)
// is in architecture.hpp.
//
//   cycles of a tile = matrix cycles / efficiency + what of its softmax is not hidden
//   cycles of a workgroup = group_cycles + its tiles
//
// The efficiency holds issue gaps, dependent products and operands from the local memory; the
// cycles of a workgroup the latency of its first loads, the pipeline's fill and drain and the store
// of its results.
struct AttentionConstants {
  double forward_efficiency = 1.0;
  double backward_efficiency = 1.0;
  double group_cycles = 0.0;
  std::optional<BytesPerSecond> reduction_rate;
};

// What a part lets kernels of linear attention, of sparse attention and of an indexer reach. They
// hold the kernels of a library as much as the part: Triton's and TileLang's reach a small share of
// the matrix rate, set by registers and by waits between dependent products. A profile without
// these sections has the numbers of one H100 (hardware_profiles/kernels/gh100.yaml).
struct LinearAttentionConstants {
  double chunk_efficiency = 0.118;
  double gradient_efficiency = 0.0525;
  double inverse_cycles = 4260.0;
  double decay_cycles = 0.8;
  double step_cycles = 675.0;
  double step_channel_cycles = 4.4;
  double hbm_share = 0.95;
};

struct SparseAttentionConstants {
  double forward_efficiency = 0.72;
  double backward_efficiency = 0.29;
  double teacher_efficiency = 0.115;
  BytesPerSecond reduction_rate{2.1e12};
  double index_efficiency = 0.5;
  double choice_passes = 8.3;
  double choice_cycles = 16'300.0;
};

// What kernels bound by memory achieve, and what a value costs where bandwidth is not the limit.
//
//   rate          = path's share * min(streaming * hbm.achieved, units * unit_bandwidth)
//   compute time  = values * cycles of the path / (units * clock)
//
// Shares are of the part's own rates, so that a part without measurements scales from its family.
// Cycles are those of one compute unit for one value: they depend on how the kernels are written,
// not on the memory, and stay the same while the clock and the number of units change.
struct MemoryConstants {
  Seconds ramp;
  BytesPerSecond unit_bandwidth;
  double streaming = 1.0;
  double gather = 1.0;
  double uncoalesced = 1.0;
  double cache_share = 1.0;

  double indexed_cycles = 0.0;
  double arithmetic_cycles = 0.0;
  double atomic_cycles = 0.0;
  double convert_cycles = 0.0;
  double update_cycles = 0.0;
  double row_cycles = 0.0;
};

struct KernelConstants {
  std::string name;
  PowerConstants power;
  GemmConstants gemm;
  AttentionConstants attention;
  LinearAttentionConstants linear_attention;
  SparseAttentionConstants sparse_attention;
  std::optional<SparseAttentionConstants> sparse_attention_triton;  // where they are known
  MemoryConstants memory;
};

}  // namespace stepcast
