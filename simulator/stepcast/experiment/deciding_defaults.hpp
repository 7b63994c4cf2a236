// SPDX-License-Identifier: Apache-2.0
// What nobody gave and decides the answer: how fast the same plan is with what others would take.
#pragma once

#include <string>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// A default, and the rate of the same plan with another value in its place.
struct DecidingDefault {
  std::string key;      // "dtype"
  std::string assumed;  // "bf16"
  std::string other;    // "fp8"
  double tokens_per_second_per_gpu = 0.0;
  double ratio = 1.0;  // to the rate with what is assumed
};

// A default that moves the rate by no more than that is not told.
inline constexpr double kDecides = 0.1;

// Of the software set, the number format, the batch (a quarter of it), the attention kernel, the
// routing of experts and, where the step waits for its host, the binding of its processes, those
// that `experiment` leaves open and that move the rate of `projection`, which is its own, by more
// than kDecides; a value with which the plan cannot run is left out. Every one is a projection of
// its own.
std::vector<DecidingDefault> deciding_defaults(const Experiment& experiment,
                                               const Projection& projection, const CostModel& cost,
                                               const DataRoot& data);

// "assumed, and decides by more than 10 %: dtype bf16 (fp8: 16,550 tokens/s/GPU, +42 %)", a note of
// the projection; empty without any.
std::string note_of(const std::vector<DecidingDefault>& defaults);

}  // namespace stepcast
