// SPDX-License-Identifier: Apache-2.0
// A profiler's trace of one training step (Chrome trace format, plain or compressed with gzip),
// as a whole: where its time goes.
//
//   exposed communication = time in which a communication kernel runs and nothing else does
//   idle                  = time of the span in which no stream of the device runs anything
#pragma once

#include <filesystem>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "trace_reader/call_waiting.hpp"
#include "trace_reader/step_categories.hpp"
#include "trace_reader/trace_recording.hpp"

namespace stepcast {

// A kernel, copy or memory set on the device, in seconds from any origin.
struct DeviceSpan {
  StepCategory category = StepCategory::kOther;
  double start = 0.0;
  double end = 0.0;
  double bytes = 0.0;      // of a collective's full tensor; 0: not stated
  std::string group = {};  // of its ranks
};

struct StepTrace {
  DeviceIdentity device;        // that it was taken on; says nothing where that is not known
  bool follows_others = false;  // steps ran right before it, recorded or not
  std::string_view
      unmarked;  // why its beginning and end are not known (TraceHead); empty: they are
  std::size_t spans = 0;
  Seconds step;  // from the first start to the last end
  CategoryTimes device_time{};
  // Of it, what collectives waited for their peers, and what they took beyond the least of their
  // like besides (call_waiting.hpp).
  CategoryTimes waiting{};
  CategoryTimes slowed{};
  Seconds exposed_communication;
  Seconds idle;
};

// Whether a file is a trace: .json.gz, or .json with the list of a trace near its start. One of
// another tool is one too, so that reading it says what it is (foreign_traces.hpp).
bool is_step_trace(const std::filesystem::path& file);

// Of a trace with several marked steps the steady one (measured_step.hpp says which), of a database
// with one that one, of another all. Others ran before it where its mark says so: without marks it
// follows a pause. Throws ConfigError for what is no such trace, is damaged, or holds no span of a
// device.
StepTrace read_step_trace(const std::filesystem::path& file);

// Adds what begins at `start`, no earlier than all before it.
void add_busy(double start, double end, BusyTimes& times);

DeviceSpan span_of(const DeviceCall& call, const TraceRecording& recording);
std::vector<DeviceSpan> device_spans(const TraceRecording& recording);
// Of a text; `file` is for messages.
std::vector<DeviceSpan> device_spans(std::istream& stream, const std::string& file);

// A change in how much runs that hides, and how much that may be hidden.
struct BusyEdge {
  double at = 0.0;
  int hiding = 0;
  int hidden = 0;
};
// The time in which something of the latter runs and nothing of the former.
double exposed_time(std::vector<BusyEdge> edges);

StepTrace summary_of(std::vector<DeviceSpan> spans);

}  // namespace stepcast
