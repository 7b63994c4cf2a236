// SPDX-License-Identifier: Apache-2.0
// What computation and communication cost each other while they run at the same time.
//
//   computation on the units that communication leaves:  its own model at (units - held), waves
//     counted anew, and for what HBM bounds at least  alone * (1 + share of HBM that is asked for):
//     HBM serves both in proportion to what they ask for, so every byte costs its time once
//   HBM taken by a collective of V wire bytes a rank: what arrives is written to a buffer of the
//     library, read from there, and written where it belongs or added to what is read: 3 V
//   communication beside computation: slowdown of its kind (hardware_profiles/collectives)
//
// Source: step_findings.md, hardware.md 9; traces of two H200 of 2026-11, in which kernels that HBM
// bounds take 1.22 times as long beside gathers and 1.18 beside reductions. Power is shared through
// the clock, which is solved for the whole step.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

// What a computation asks of the device, as communication feels it that runs beside it.
struct KernelDemand {
  double by_clock = 1.0;  // times longer, for the clock that the kernel runs at
  double queue = 0.0;     // share of the longest wait for HBM that there can be
};
KernelDemand kernel_demand(const OpCost& cost, Hertz clock, const DeviceSpec& device);

// How many times longer a communication takes beside a kernel at its own clock: one that asks for
// nothing of HBM, and one that asks for all of it.
struct CommunicationStretch {
  double least = 1.0;
  double most = 1.0;

  [[nodiscard]] double beside(const KernelDemand& demand) const {
    return demand.by_clock * (least + demand.queue * (most - least));
  }
  bool operator==(const CommunicationStretch&) const = default;
};

// What a communication kernel takes while it runs.
struct CommunicationLoad {
  std::int64_t units = 0;
  BytesPerSecond hbm;  // with nothing else running

  // The larger of both, entry by entry.
  [[nodiscard]] CommunicationLoad combined(const CommunicationLoad& other) const;
  bool operator==(const CommunicationLoad&) const = default;
};
// What an operator takes of the device while it communicates; zero for one that does not.
CommunicationLoad communication_load(const Op& op, const OpCost& cost);

// The context of a computation on the units that communication leaves.
KernelContext on_units_left(KernelContext kernel, std::int64_t held_units);

// The time of a computation while communication of `load` runs; `isolated` is its cost without, and
// `on_units_left` its time in the context above.
Seconds contended_duration(const OpCost& isolated, Seconds on_units_left,
                           const CommunicationLoad& load, const DeviceSpec& device);

// How many times longer a communication of `cost` takes while computation runs.
CommunicationStretch stretch_beside_computation(const Op& op, const OpCost& cost,
                                                const DeviceSpec& device);

}  // namespace stepcast
