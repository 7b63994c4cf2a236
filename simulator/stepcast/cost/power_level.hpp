// SPDX-License-Identifier: Apache-2.0
// The clock of each kernel of a step, from one power level for all of them.
//
// What regulates the power acts within a kernel: beside products that it slows to 1.6 GHz,
// attention, copies and activations of the same step run at the peak (traces of steps on H200). So
// a step has no clock of its own. It has a level of power that none of its kernels passes:
//
//   level(f)  = min(burst ratio * limit - idle, units * matrix efficiency * matrix energy(f) * f)
//   clock(op) = the highest, up to the peak, at which energy(op) / duration(op) <= level(f)
//
// The level is named by the clock f at which products in bf16 draw it while their pipes are as busy
// as they get; whoever prices a step finds the f at which its mean power meets the limit. Between
// the peak and three quarters of it a kernel's power is taken for a power law of its clock. Units
// that communication holds take their share of the level along.
//
// Whether a part's kernels have clocks of their own, and who saw it, its constants say
// (`power.clock_per` in hardware_profiles/kernels).
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

// Above idle, of `units` compute units; nothing where the device's energies are not known, or where
// its kernels have one clock: that of the context.
Watts power_level(const DeviceSpec& device, std::int64_t units, Hertz clock);

// `context` with the clock at which `op` stays within the level that `context.clock` names.
KernelContext within_level(const Op& op, const CostModel& model, const KernelContext& context,
                           const ClusterSpec& cluster);

// `model` with every kernel at the clock of its own.
CostModel within_level(const CostModel& model);

}  // namespace stepcast
