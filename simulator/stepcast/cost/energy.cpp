// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/energy.hpp"

#include <cmath>

namespace stepcast {

Joules kernel_energy(const KernelActivity& activity, const KernelContext& context) {
  const DeviceSpec& device = context.device;
  const PowerConstants& power = device.kernels.power;
  Joules energy = activity.hbm.value() * power.hbm_energy;
  if (activity.matrix_cycles > 0.0) {
    const Joules cycle = power.matrix_energy[slot(activity.dtype)].value_or(
        power.matrix_energy[slot(Dtype::kBf16)].value_or(Joules{}));
    const double growth = std::pow(context.clock / power.reference_clock, power.voltage_exponent);
    const bool precise =
        activity.dtype == Dtype::kFp8 && activity.accumulation == Accumulation::kPrecise;
    energy +=
        activity.matrix_cycles * growth * (precise ? power.precise_accumulation : 1.0) * cycle;
  }
  return energy;
}

}  // namespace stepcast
