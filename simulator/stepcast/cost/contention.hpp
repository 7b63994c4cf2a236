// SPDX-License-Identifier: Apache-2.0
// What computation and communication cost each other while they run at the same time.
//
//   communication beside a kernel   its time alone, times
//     [1 + C s (peak clock / the kernel's clock - 1)] [least + q (most - least)]
//       s      of the bytes that a rank moves, what it copies for itself: 1 / n, of an all-reduce
//              1 / (2 n - 1); links keep their pace at any clock
//       least  beside a kernel that asks for nothing of HBM (units and caches are shared); what an
//              all-to-all loses falls with the peers it has messages for at once: 1.4 times longer
//              between two GPUs, 1.1 among four (tests/validation/four_collectives.jsonl)
//       most   = max(least, what it asks of HBM alone / (F * achieved)): beside a kernel that asks
//              for all of HBM each gets its bytes in flight over those of both, and a library keeps
//              a fixed number of them in flight
//       q      = min(1, Q u / (1 - u)): HBM's queue, the kernel asking for a share u of it
//   computation on the units that communication leaves   its own model at (units - held), waves
//     counted anew, and besides  alone * u * (share of HBM that communication asks for, slowed as
//     it is): HBM serves both, so every byte costs its time once
//   HBM taken by a collective on a rank, of blocks of S / n: each block that is sent is read and
//     written to a buffer of the receiver, read from there, and written where it belongs or added
//     to what is read; what stays is read and written
//
// C, F, Q and `least` are hardware_profiles/collectives, beside_computation. Measured on two H100
// (tests/validation/beside_h100.jsonl): beside copies, gathers, reductions and exchanges alike are
// left 0.16 to 0.18 of HBM, and kernel and collective together move what HBM gives. What a kernel
// and a collective wait for units is not here: schedule/rank_streams.hpp. Power is shared through
// the clock, which is solved for the whole step.
//
// Wrong for kernels that live in caches and draw much power (a gradient of attention: gathers 1.37
// times longer, 1.17 predicted), and beside in-switch reductions, which move less.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

// What a computation asks of the device, as communication feels it that runs beside it.
struct KernelDemand {
  double slower = 0.0;  // peak clock over the kernel's, less 1
  double queue = 0.0;   // share of the longest wait for HBM that there can be
};
KernelDemand kernel_demand(const OpCost& cost, Hertz clock, const DeviceSpec& device);

// How many times longer a communication takes beside a kernel at its own clock: one that asks for
// nothing of HBM, and one that asks for all of it.
struct CommunicationStretch {
  double least = 1.0;
  double most = 1.0;
  double clock_share = 0.0;  // of its time, that passes at the clock of the units

  [[nodiscard]] double beside(const KernelDemand& demand) const {
    return (1.0 + clock_share * demand.slower) * (least + demand.queue * (most - least));
  }
  bool operator==(const CommunicationStretch&) const = default;
};
CommunicationStretch stretch_beside_computation(const Op& op, const OpCost& cost,
                                                const DeviceSpec& device);

// What a communication kernel takes while it runs.
struct CommunicationLoad {
  std::int64_t units = 0;
  BytesPerSecond hbm;  // with nothing else running
  CommunicationStretch stretch;

  // The larger of both, entry by entry.
  [[nodiscard]] CommunicationLoad combined(const CommunicationLoad& other) const;
  bool operator==(const CommunicationLoad&) const = default;
};
// What an operator takes of the device while it communicates; zero for one that does not.
CommunicationLoad communication_load(const Op& op, const OpCost& cost, const DeviceSpec& device);

// What a collective reads and writes in HBM on each rank.
Bytes hbm_traffic(const Collective& op);

// The context of a computation on the units that communication leaves.
KernelContext on_units_left(KernelContext kernel, std::int64_t held_units);

// The time of a computation while communication of `load` runs; `isolated` is its cost without, and
// `on_units_left` its time in the context above.
Seconds contended_duration(const OpCost& isolated, Seconds on_units_left,
                           const CommunicationLoad& load, const KernelDemand& demand,
                           const DeviceSpec& device);

}  // namespace stepcast
