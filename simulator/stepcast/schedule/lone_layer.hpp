// SPDX-License-Identifier: Apache-2.0
// One layer, or some of its blocks, repeated back to back with nothing else on the device: its time
// and the clock at which its own kernels leave it.
//
//   forward             a forward pass after the other
//   forward + backward  both, one after the other
//   backward            what the two take together less the forward by itself, as a profiler says
//
// The clock is the highest at which the repeated passes stay within the power limit, or within what
// the limit allows the first calls after a pause (cost/power_state.hpp); ranks that exchange tokens
// wait for the slowest of them (schedule/step_clock.hpp). The host launches as in a step: it starts
// with nothing launched, and gets ahead as far as the passes let it.
//
// Not run: what data parallelism gathers and reduces, the optimizer, what a pipeline sends.
#pragma once

#include <optional>
#include <vector>

#include "stepcast/cost/power_state.hpp"
#include "stepcast/schedule/layer_prices.hpp"
#include "stepcast/schedule/time_breakdown.hpp"

namespace stepcast {

// The operators of `layer` that belong to one of `blocks`, and what is kept of their results; of no
// block: all of it.
BlockOps blocks_of(const BlockOps& layer, const std::vector<Block>& blocks);

// A pass of it in the steady state.
struct LonePass {
  TimeBreakdown spent;  // its total is the duration
  Joules energy;        // of the computation, above idle

  [[nodiscard]] Seconds duration() const { return spent.total(); }
};

struct LoneTime {
  Hertz clock;
  Watts power;  // mean
  LonePass pass;
};

// How the layer is run.
struct LoneRun {
  std::optional<Hertz> locked;           // a clock, whatever the power
  PowerState state = PowerState::kWarm;  // or the first calls after a pause
  std::int64_t gpus = 1;                 // that wait for each other
  bool recomputed = false;               // in full, before backward
};

// `context.clock` is ignored, and `context.cost` is that of one clock for all kernels.
LoneTime forward_alone(const BlockOps& layer, const LoneRun& run, const StepContext& context);
LoneTime forward_and_backward(const BlockOps& layer, const LoneRun& run,
                              const StepContext& context);

}  // namespace stepcast
