// SPDX-License-Identifier: Apache-2.0
// The device time of a step by category and by operator as the simulator has it, in the state in
// which a trace is taken: the first step after a pause, or one that others ran right before.
//
// The power limit acts on an average that starts at idle. Until it is at the limit the step runs at
// the level of bursts (cost/power_state.hpp), and draws P:
//   t_burst = burst energy / (limit - idle) * ln((P - idle) / (P - limit))
// A step of that level's duration T runs a share min(1, t_burst / T) of its work at it, the rest at
// the level of the steady state. Each category is the time of its spans on the streams of the rank,
// with what kernels lose beside communication and the gaps between them.
#pragma once

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"
#include "trace_reader/step_categories.hpp"

namespace stepcast {

// In what state the machine runs the step.
enum class TraceState {
  kAfterPause,  // its power average starts at idle
  kSteady,      // others ran right before it
};
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<TraceState> = {"after_pause", "steady"};

// All calls of one operator of a pipeline rank in a step.
struct PredictedOperator {
  Op op;
  double calls = 0.0;
  Seconds time;
};

struct PredictedStep {
  bool priced = false;
  std::vector<std::string> reasons;  // why it is not
  Seconds step;
  CategoryTimes device_time{};
  Seconds exposed_communication;
  Seconds idle;
  std::vector<PredictedOperator> operators;    // in order of first appearance
  Seconds computing;                           // on the stream of computation
  std::array<Seconds, kAxes> communicating{};  // on the streams of communication
};

// The share of a step's work that runs at the level of bursts, and the clock that names it.
struct BurstShare {
  Hertz clock;
  double share = 0.0;
};
BurstShare burst_after_pause(const Experiment& experiment, const CostModel& cost);

// Of pipeline rank `rank`; `steady` is the experiment's projection. What the slowest rank waits for
// is known as the projection has it; of the others all is idle that is neither computation nor
// communication beside none.
PredictedStep predicted_step(const Experiment& experiment, const Projection& steady,
                             const CostModel& cost, std::int64_t rank, TraceState state);

// Pipeline rank 0's.
PredictedStep predicted_step(const Experiment& experiment, const CostModel& cost, TraceState state);

}  // namespace stepcast
