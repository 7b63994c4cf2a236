// SPDX-License-Identifier: Apache-2.0
// What work costs in energy, and how that grows with the clock; power_constants() says what each
// number is.
//
//   energy(f) = matrix cycles * matrix energy(dtype) * (f / reference clock)^voltage_exponent
//             + HBM bytes * HBM energy
//   power     = idle + energy / duration
//
// A matrix cycle is one cycle of one compute unit with its matrix pipes busy. Energy of a cycle
// grows with the square of the voltage, and voltage about with the clock: the exponent is near 2.
// Operands are random: zeros cost less than half (hardware.md 3.1) and are not modelled.
#pragma once

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/hardware/constant.hpp"

namespace stepcast {

// What has a clock of its own: each kernel of a step, within one level of power for all of them, or
// only the step (cost/power_level.hpp).
enum class ClockScope { kKernel, kStep };

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

std::span<const Constant<PowerConstants>> power_constants();

}  // namespace stepcast
