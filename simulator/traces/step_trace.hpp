// SPDX-License-Identifier: Apache-2.0
// A profiler's trace of one training step (Chrome trace format, plain or compressed with gzip),
// read as a stream: of the file only one block and of its events only the device's spans are held.
//
//   exposed communication = time in which a communication kernel runs and nothing else does
//   idle                  = time of the span in which no stream of the device runs anything
#pragma once

#include <filesystem>
#include <istream>
#include <string>
#include <vector>

#include "traces/step_categories.hpp"

namespace stepcast {

// A kernel, copy or memory set on the device, in seconds from any origin.
struct DeviceSpan {
  StepCategory category = StepCategory::kOther;
  double start = 0.0;
  double end = 0.0;
  double elements = 0.0;  // in and out of a collective; 0: not stated
};

struct StepTrace {
  std::size_t spans = 0;
  Seconds step;  // from the first start to the last end
  CategoryTimes device_time{};
  // Of it, what collectives took beyond the lower quartile of those of their kind and size: a
  // kernel of a collective runs from its own rank's arrival, so it waits for the others.
  CategoryTimes waiting{};
  Seconds exposed_communication;
  Seconds idle;
};

// Whether a file is a trace by its name: .json.gz, or .json with the list of a trace near its
// start.
bool is_step_trace(const std::filesystem::path& file);

// Throws ConfigError for what is no such trace, is damaged, or holds no span of a device.
StepTrace read_step_trace(const std::filesystem::path& file);

// The spans of the text; `file` is for messages.
std::vector<DeviceSpan> device_spans(std::istream& stream, const std::string& file);
StepTrace summary_of(std::vector<DeviceSpan> spans);

}  // namespace stepcast
