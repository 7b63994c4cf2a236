// SPDX-License-Identifier: Apache-2.0
// What is kept of a profiler's trace: calls on the device, operators of the host that launched
// them, and the steps that the profiler marked.
//
// A call on the device has the `correlation` of the launch that made it. The launch lies in time
// inside the operators of its thread, innermost first:
//
//   kernel nvjet_tst_256x128 -> cudaLaunchKernelExC -> aten::mm [[8192,4096],[4096,1024]]
//
// Without a launch the operator is the one of the same `External id`. A captured graph launches all
// of its kernels at once, so they have no operator.
//
// Of traces of several devices the one that is busy for longest is kept. A trace of more than 2.5
// million such events, or 32 MiB of different names, is refused.
#pragma once

#include <deque>
#include <filesystem>
#include <istream>
#include <string>
#include <vector>

#include "traces/step_categories.hpp"
#include "traces/text_pool.hpp"
#include "traces/trace_events.hpp"

namespace stepcast {

// An operator of the host, in seconds from the origin of the recording.
struct HostOperator {
  double start = 0.0;
  double end = 0.0;
  std::int64_t external = 0;
  TextId name{};
  TextId input_dims = kNoText;  // no text: not stated
  std::int32_t parent = -1;     // the operator that called it
};

// What a collective's kernel carries.
struct RecordedCollective {
  TextId name{};
  TextId group{};  // of ranks: its name and its members
  TextId dtype{};
  double in_elements = 0.0;
  double out_elements = 0.0;
  std::int64_t ranks = 0;         // 0: not stated
  std::int64_t source = -1;       // of a transfer that is received; -1: it is none
  std::int64_t destination = -1;  // of a transfer that is sent
};

// A kernel, copy or memory set.
struct DeviceCall {
  double start = 0.0;
  double end = 0.0;
  double launched = -1.0;  // by the host; below 0: not known
  std::int64_t correlation = 0;
  std::int64_t external = 0;
  std::int64_t stream = 0;
  std::int32_t device = 0;
  std::int32_t thread = -1;  // of the host, that launched it; -1: not known
  TextId name{};
  std::int32_t op = -1;          // innermost operator; -1: none known
  std::int32_t collective = -1;  // place in TraceRecording::collectives
  StepCategory category = StepCategory::kOther;
  bool in_graph = false;
};

// A step as the profiler marked it on the host ("ProfilerStep#7").
struct MarkedStep {
  std::string name;
  double start = 0.0;
  double end = 0.0;
};

struct TraceRecording {
  TraceHead head;
  TextPool texts;
  std::deque<DeviceCall> calls;  // by their start
  std::deque<HostOperator> operators;
  std::deque<RecordedCollective> collectives;
  std::vector<MarkedStep> steps;  // by their start
  std::size_t devices = 0;        // in the trace
};

// Throws ConfigError, which speaks of `file`, for what is no trace or holds no call of a device.
TraceRecording read_recording(std::istream& stream, const std::string& file);
// Of a file, plain or compressed with gzip.
TraceRecording read_recording(const std::filesystem::path& file);

}  // namespace stepcast
