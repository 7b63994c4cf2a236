// SPDX-License-Identifier: Apache-2.0
// What holds of a step that was read of any trace.
#pragma once

#include <cmath>

#include "fuzz/targets.hpp"
#include "trace_reader/measured_step.hpp"

namespace stepcast::fuzz {

inline void check_summary(const StepTrace& trace) {
  promise(trace.spans > 0, "a trace without spans was taken");
  const double step = trace.step.value();
  const double slack = 1e-9 * (1.0 + step);
  promise(std::isfinite(step) && step >= 0.0, "the step has no length");
  promise(trace.idle.value() >= -slack && trace.idle.value() <= step + slack,
          "idle beyond the step");
  promise(trace.exposed_communication.value() >= -slack &&
              trace.exposed_communication.value() <= step + slack,
          "exposed communication beyond the step");
}

inline void check_operators(const MeasuredStep& step) {
  std::int64_t kernels = 0;
  for (const TracedOperator& row : step.operators) {
    promise(row.calls > 0 && row.calls <= row.kernels, "more calls than kernels");
    promise(row.waiting >= Seconds{} && row.waiting <= row.time, "more waiting than time");
    promise(!row.shape || !shape_text(*row.shape).empty(), "a shape without a text");
    kernels += row.kernels;
  }
  promise(static_cast<std::size_t>(kernels) == step.summary.spans, "kernels were lost");
  for (const TracedCollective& call : step.collectives) {
    promise(call.row < step.operators.size(), "a collective without a row");
  }
}

}  // namespace stepcast::fuzz
