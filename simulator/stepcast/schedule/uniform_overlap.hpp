// SPDX-License-Identifier: Apache-2.0
// Overlap as a share of each kind of communication, in place of the timeline: what Primus and
// others assume.
//
//   exposed(axis) = communication - min(share(axis) * communication, computation still free to hide
//                   it), which is what hides nothing inside its own kernels (overlap_windows.hpp)
//   contention    = hidden communication * share of the compute units that it occupies
#pragma once

#include "stepcast/schedule/pass_timeline.hpp"

namespace stepcast {

// Computation and communication of a pass, summed up before any of it is hidden.
struct PassTotals {
  Seconds compute;
  std::array<Seconds, kAxes> communication{};
};

// The share of the compute units that the communication of each axis occupies while it runs.
using OccupiedShares = std::array<double, kAxes>;

TimeBreakdown exposed(const PassTotals& pass, const UniformOverlap& overlap,
                      const OccupiedShares& occupied = {});

// The passes of pass_timeline.hpp under this rule.
//
// The rule has no times within a pass. Spans for `record`, if it is given, follow one another as
// the operators do; computation is longer by the contention of the whole pass, and each
// communication is exposed for the same share of its axis. What of it is hidden runs beside the
// kernels before it, or from the start of the pass where there are none.
PassTime uniform_forward(const StageProgram& program, const PassPlace& place,
                         const UniformOverlap& overlap, const OccupiedShares& occupied,
                         std::vector<StreamSpan>* record = nullptr);
PassTime uniform_backward(const StageProgram& program, const PassPlace& place,
                          const UniformOverlap& overlap, const OccupiedShares& occupied,
                          std::vector<StreamSpan>* record = nullptr);

}  // namespace stepcast
