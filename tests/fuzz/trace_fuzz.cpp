// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <sstream>

#include "fuzz/targets.hpp"
#include "stepcast/base/error.hpp"
#include "traces/step_trace.hpp"

namespace stepcast::fuzz {

int fuzz_trace(const std::uint8_t* data, std::size_t size) {
  std::istringstream stream{std::string(text_of(data, size))};
  StepTrace trace;
  try {
    trace = summary_of(device_spans(stream, "fuzz"));
  } catch (const ConfigError& error) {
    promise(!error.diagnostics().empty(), "an error says nothing");
    return 0;
  }
  promise(trace.spans > 0, "a trace without spans was taken");
  const double step = trace.step.value();
  const double slack = 1e-9 * (1.0 + step);
  promise(std::isfinite(step) && step >= 0.0, "the step has no length");
  promise(trace.idle.value() >= -slack && trace.idle.value() <= step + slack,
          "idle beyond the step");
  promise(trace.exposed_communication.value() >= -slack &&
              trace.exposed_communication.value() <= step + slack,
          "exposed communication beyond the step");
  return 0;
}

}  // namespace stepcast::fuzz
