// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/step_trace.hpp"

#include <algorithm>
#include <sstream>
#include <system_error>

#include "stepcast/base/sum.hpp"
#include "trace_reader/compressed_stream.hpp"
#include "trace_reader/foreign_traces.hpp"
#include "trace_reader/measured_step.hpp"
#include "trace_reader/work_shape.hpp"

namespace stepcast {
namespace {

double length(const BusyTimes& times) {
  return sum_over(times, [](const auto& time) { return time.second - time.first; });
}

void add_waiting(const std::vector<DeviceSpan>& spans, const BusyTimes& computing,
                 StepTrace& trace) {
  std::vector<LoneCall> calls;
  for (const DeviceSpan& span : spans) {
    if (is_communication(span.category)) {
      calls.push_back({span.category, span.group, span.bytes, span.start, span.end});
    }
  }
  const std::vector<CallTime> times = lone_waiting(calls, computing);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto category = static_cast<std::size_t>(calls[i].category);
    trace.waiting[category] += times[i].waiting;
    trace.slowed[category] +=
        Seconds(calls[i].end - calls[i].start) - times[i].least - times[i].waiting;
  }
}

}  // namespace

void add_busy(double start, double end, BusyTimes& times) {
  if (times.empty() || start > times.back().second) {
    times.emplace_back(start, end);
  } else {
    times.back().second = std::max(times.back().second, end);
  }
}

DeviceSpan span_of(const DeviceCall& call, const TraceRecording& recording) {
  DeviceSpan span{call.category, call.start, call.end};
  if (call.collective >= 0) {
    const RecordedCollective& carried =
        recording.collectives[static_cast<std::size_t>(call.collective)];
    const std::optional<WorkShape> shape = work_shape(
        call.category, CollectiveSizes{carried.in_elements, carried.out_elements, carried.ranks,
                                       recording.texts.text(carried.dtype)});
    span.bytes = shape ? bytes_of(*shape) : 0.0;
    span.group = recording.texts.text(carried.group);
  }
  return span;
}

std::vector<DeviceSpan> device_spans(const TraceRecording& recording) {
  std::vector<DeviceSpan> spans;
  spans.reserve(recording.calls.size());
  for (const DeviceCall& call : recording.calls) {
    spans.push_back(span_of(call, recording));
  }
  return spans;
}

std::vector<DeviceSpan> device_spans(std::istream& stream, const std::string& file) {
  return device_spans(read_recording(stream, file));
}

double exposed_time(std::vector<BusyEdge> edges) {
  std::ranges::sort(edges, {}, &BusyEdge::at);
  double exposed = 0.0;
  double last = 0.0;
  int hiding = 0;
  int hidden = 0;
  for (const BusyEdge& edge : edges) {
    exposed += hiding == 0 && hidden > 0 ? edge.at - last : 0.0;
    hiding += edge.hiding;
    hidden += edge.hidden;
    last = edge.at;
  }
  return exposed;
}

StepTrace summary_of(std::vector<DeviceSpan> spans) {
  std::ranges::sort(spans, {},
                    [](const DeviceSpan& span) { return std::pair(span.start, span.end); });
  StepTrace trace;
  trace.spans = spans.size();
  BusyTimes all;
  BusyTimes computing;
  for (const DeviceSpan& span : spans) {
    trace.device_time[static_cast<std::size_t>(span.category)] += Seconds(span.end - span.start);
    add_busy(span.start, span.end, all);
    if (!is_communication(span.category)) {
      add_busy(span.start, span.end, computing);
    }
  }
  add_waiting(spans, computing, trace);
  const double busy = length(all);
  trace.step = Seconds(all.empty() ? 0.0 : all.back().second - all.front().first);
  trace.exposed_communication = Seconds(busy - length(computing));
  trace.idle = trace.step - Seconds(busy);
  return trace;
}

bool is_step_trace(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name.ends_with(".gz") || !trace_by_name(name).empty()) {
    return true;
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return false;
  }
  constexpr std::size_t kStart = 1U << 16U;  // bytes in which the list of events begins
  CompressedInput input(file);
  std::string start(kStart, '\0');
  start.resize(
      static_cast<std::size_t>(input.sgetn(start.data(), static_cast<std::streamsize>(kStart))));
  if (!trace_by_beginning(start).empty()) {
    return true;
  }
  std::istringstream text(start);
  return name.ends_with(".json") && (start.find("\"traceEvents\"") != std::string::npos ||
                                     !trace_by_keys(keys_at_top(text)).empty());
}

StepTrace read_step_trace(const std::filesystem::path& file) {
  const TraceRecording recording = read_recording(file);
  // A profiler's trace is of the step that it marks alone, a database of all that ran.
  const bool is_cut = recording.steps.size() > (is_sqlite_database(file) ? 0 : 1);
  StepTrace trace = is_cut ? measured_step(recording, file.string()).summary
                           : summary_of(device_spans(recording));
  trace.follows_others = chosen_step(recording, file.string(), "").follows_others;
  trace.unmarked = recording.head.unmarked;
  trace.device = recording.head.device;
  return trace;
}

}  // namespace stepcast
