// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <sstream>

#include "fuzz/targets.hpp"
#include "stepcast/base/error.hpp"
#include "trace_reader/measured_step.hpp"
#include "trace_reader/rank_waiting.hpp"

namespace stepcast::fuzz {
namespace {

void check_summary(const StepTrace& trace) {
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

void check_operators(const MeasuredStep& step) {
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

}  // namespace

int fuzz_trace(const std::uint8_t* data, std::size_t size) {
  std::istringstream stream{std::string(text_of(data, size))};
  MeasuredStep step;
  try {
    step = measured_step(read_recording(stream, "fuzz"), "fuzz");
  } catch (const ConfigError& error) {
    promise(!error.diagnostics().empty(), "an error says nothing");
    return 0;
  }
  check_summary(step.summary);
  check_operators(step);
  std::vector<MeasuredStep> ranks = {step, step};
  const RankWaiting waiting = rank_waiting(ranks, {"a", "b"});
  promise(waiting.ranks.size() == 2, "a rank was lost");
  for (const WaitedCollective& row : waiting.collectives) {
    promise(row.waiting[0] == Seconds{} && row.waiting[1] == Seconds{}, "a rank waits for itself");
  }
  return 0;
}

}  // namespace stepcast::fuzz
