// SPDX-License-Identifier: Apache-2.0
// A measured step beside the projection of the same pipeline rank, row by row.
//
// Operators are the same where their work is (work_shape.hpp); collectives also where their sizes
// differ by less than 5 %, and grouped products where the trace has at most 32 rows more for each
// group, since software pads. What memory bounds is compared by category alone. Times are device
// time: kernels on several streams count each for itself. The projection waits for no peer's host:
// it is compared with what is measured without waiting. Wall time has four
// rows, which add up to the step: computation, exposed communication, the part of it that waits for
// other ranks apart, and idle. The projection waits for no rank but in a pipeline, and calls that
// idle; a trace calls it waiting where the receiver's kernel runs already.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace_reader/measured_step.hpp"
#include "trace_reader/predicted_categories.hpp"
#include "trace_reader/rank_waiting.hpp"

namespace stepcast {

// One thing on both sides. Without calls on a side it is not there.
struct ComparedRow {
  StepCategory category = StepCategory::kOther;
  std::optional<WorkShape> shape;   // measured where there is one
  std::vector<std::string> traced;  // operators of the trace
  std::vector<std::string> ours;    // operators of the projection
  double traced_calls = 0.0;
  double our_calls = 0.0;
  Seconds measured;
  Seconds waiting;  // of it, for other ranks
  Seconds slowed;   // of it, beyond the least of its like and not known to wait
  Seconds predicted;
  KernelLaunch launch;  // of a collective in the trace
  std::optional<Protocol> protocol;

  [[nodiscard]] Seconds busy() const { return measured - waiting; }
  [[nodiscard]] Seconds difference() const { return predicted - busy(); }
};

// Part of the wall time of the step.
struct WallTime {
  std::string_view name;  // with static lifetime
  Seconds measured;
  Seconds predicted;
};

struct ComparedStream {
  std::string_view name;  // of the projection's stream, with static lifetime
  Seconds busy;
};

// What is compared.
struct ComparisonInput {
  std::string file;  // of the trace
  MeasuredStep measured;
  Projection projection;
  std::int64_t pipeline_rank = 0;
  TraceState state = TraceState::kAfterPause;
  PredictedStep predicted;           // in that state
  Seconds steady;                    // of the projection
  std::optional<RankWaiting> ranks;  // of several traces
  std::vector<std::string> doubts;   // why the two may not be of the same step
  std::vector<std::string> notes;
};

struct StepComparison {
  ComparisonInput input;
  std::vector<WallTime> wall;
  std::vector<ComparedRow> categories;   // largest difference first
  std::vector<ComparedRow> operators;    // on both sides, largest difference first
  std::vector<ComparedRow> only_traced;  // of kinds that have a shape; most time first
  std::vector<ComparedRow> only_ours;
  std::vector<ComparedRow> without_shape;  // compared by category alone, of either side
  std::vector<ComparedStream> our_streams;
  // Of the measured time of operators that have a shape, without waiting, the part that the
  // projection has too.
  double matched_share = 0.0;

  // Whether enough of the trace is found in the projection for the two to be of one step.
  [[nodiscard]] bool of_one_step() const;
  // Of the step; empty where nothing was projected, and of two different steps.
  [[nodiscard]] std::optional<double> error() const;
};

StepComparison compare(ComparisonInput input);

}  // namespace stepcast
