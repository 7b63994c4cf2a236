// SPDX-License-Identifier: Apache-2.0
// How far the clock that the power limit leaves a step follows the numbers of its profiles.
//
// The clock f solves power(f, x) = limit(x) for each number x, in logarithms
//   d ln f / d ln x = - (d ln share / d ln x) / (d ln share / d ln f)
// with the share of the allowed power that cost/power_state.hpp has, over the energies and times
// of the kernels that compute; those at the peak clock stay there. The clock is that of the slowest
// of the GPUs (schedule/step_clock.hpp), whose distance to the mean follows their spread.
#pragma once

#include <vector>

#include "stepcast/cost/price_slopes.hpp"
#include "stepcast/experiment/movable_experiment.hpp"

namespace stepcast {

// How far a time or a clock follows each number: the power of the number that it grows with.
using Pulls = std::vector<double>;

// An operator as a step runs it.
struct StepOp {
  Op op;
  double count = 0.0;
  Hertz clock;              // of its own
  bool below_peak = false;  // its clock is what the power limit leaves
  SlopedPrice price;

  [[nodiscard]] Seconds total() const { return count * price.cost.duration; }
};

// Of a step that computes for a share `duty` of its time.
Pulls clock_pulls(const MovableExperiment& movable, const std::vector<StepOp>& ops, double duty);

}  // namespace stepcast
