// SPDX-License-Identifier: Apache-2.0
// What computation and communication cost each other while they run at the same time.
//
//   computation on the units that communication leaves:  its own model at (units - held), waves
//     counted anew, and for what HBM bounds at least  alone / (1 - share of HBM that is taken)
//   HBM taken by a collective of V wire bytes a rank: what arrives is written and what leaves is
//     read, and a reduction reads its own part as well: 2 V, or 3 V for what sums
//   communication beside computation: slowdown of its kind (hardware_profiles/collectives)
//
// Source: step_findings.md, hardware.md 9. Power is shared through the clock, which is solved for
// the whole step.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

// What a communication kernel takes while it runs.
struct CommunicationLoad {
  std::int64_t units = 0;
  BytesPerSecond hbm;

  // The larger of both, entry by entry.
  [[nodiscard]] CommunicationLoad combined(const CommunicationLoad& other) const;
  bool operator==(const CommunicationLoad&) const = default;
};
// What an operator takes of the device while it communicates; zero for one that does not.
CommunicationLoad communication_load(const Op& op, const OpCost& cost);

// The time of a computation while communication of `load` runs; `isolated` is its cost without.
Seconds contended_duration(const Op& op, const OpCost& isolated, const CommunicationLoad& load,
                           const CostModel& model, KernelContext kernel,
                           const ClusterSpec& cluster);

// How many times longer a communication takes while computation runs.
double slowdown_beside_computation(const Op& op, const DeviceSpec& device);

}  // namespace stepcast
