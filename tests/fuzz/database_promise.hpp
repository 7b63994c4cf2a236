// SPDX-License-Identifier: Apache-2.0
// What holds of a step that was read of any database of a profiler.
#pragma once

#include <string>

#include "fuzz/step_promise.hpp"
#include "fuzz/targets.hpp"
#include "stepcast/base/error.hpp"
#include "trace_reader/sqlite_database.hpp"

namespace stepcast::fuzz {

inline void check_database(std::string bytes) {
  MeasuredStep step;
  try {
    const SqliteDatabase database(std::move(bytes), "fuzz");
    step = measured_step(read_recording(database), "fuzz");
  } catch (const ConfigError& error) {
    promise(!error.diagnostics().empty(), "an error says nothing");
    return;
  }
  check_summary(step.summary);
  check_operators(step);
  promise(step.devices > 0, "calls of no device were taken");
}

}  // namespace stepcast::fuzz
