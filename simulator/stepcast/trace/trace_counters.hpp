// SPDX-License-Identifier: Apache-2.0
// Numbers over the time of a step: what a rank's memory holds, its clock and its power.
//
// Activations rise with each forward that begins and fall with each backward that ends; the peak is
// the one that `stepcast memory` reports, and a micro-batch counts for the same share of it in
// every chunk. What else is held is at its size at the peak. Clock and power are those of the step:
// the simulator has no other ones.
#pragma once

#include <string_view>
#include <vector>

#include "stepcast/result/projection.hpp"
#include "stepcast/schedule/placed_step.hpp"

namespace stepcast {

struct CounterSeries {
  std::string_view name;
  double value = 0.0;
};

// A value of each series of one counter, which holds until the next sample.
struct CounterSample {
  std::string_view counter;
  Seconds at;
  std::vector<CounterSeries> series;
};

// By time; `memory` is that of the rank of `step`.
std::vector<CounterSample> counter_samples(const PlacedStep& step, const Projection& projection,
                                           const StageMemory& memory);

}  // namespace stepcast
