// SPDX-License-Identifier: Apache-2.0
// Overlap as a share of each kind of communication, in place of the timeline: what Primus and
// others assume.
//
//   exposed(axis) = communication - min(share(axis) * communication, computation still free to hide
//                   it)
//   contention    = hidden communication * share of the compute units that it holds
#pragma once

#include "stepcast/schedule/pass_timeline.hpp"

namespace stepcast {

// Computation and communication of a pass before anything hides anything.
struct PassWork {
  Seconds compute;
  std::array<Seconds, kAxes> communication{};
};

// The share of the compute units that the communication of each axis holds while it runs.
using UnitsHeld = std::array<double, kAxes>;

TimeBreakdown exposed(const PassWork& pass, const UniformOverlap& overlap,
                      const UnitsHeld& held = {});

// The passes of pass_timeline.hpp under this rule.
PassTime uniform_forward(const StageProgram& program, const PassPlace& place,
                         const UniformOverlap& overlap, const UnitsHeld& held);
PassTime uniform_backward(const StageProgram& program, const PassPlace& place,
                          const UniformOverlap& overlap, const UnitsHeld& held);

}  // namespace stepcast
