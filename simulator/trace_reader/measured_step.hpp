// SPDX-License-Identifier: Apache-2.0
// One step of a profiler's trace as plain values: its time, the operators that ran by the shape of
// their work, streams, and every collective.
//
// Where the profiler marked steps a call belongs to the one in which the host launched it. Of
// several the first is left out, and the step with the median time of the others is taken; it lasts
// from its first call on the device to that of the next one where that was recorded, else to the
// end of its last. Without marks the whole trace is one step.
//
// A collective's kernel runs from its own rank's arrival. What it waits for other ranks is told by
// the least of its like (call_waiting.hpp); with the traces of all of them it is known exactly
// (rank_waiting.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace_reader/step_trace.hpp"
#include "trace_reader/trace_recording.hpp"
#include "trace_reader/work_shape.hpp"

namespace stepcast {

struct TracedOperator {
  StepCategory category = StepCategory::kOther;
  std::optional<WorkShape> shape;  // empty: what it works on is not known
  std::string name;                // of the operator, or of the kernel where none is known
  std::int64_t calls = 0;
  std::int64_t kernels = 0;
  Seconds time;
  Seconds waiting;                   // of it
  Seconds slowed;                    // of it: beyond the least of its like, not known to wait
  KernelLaunch launch;               // of its collectives, where all have the same
  std::optional<Protocol> protocol;  // which that tells
};

struct TracedStream {
  std::int64_t id = 0;
  std::int64_t calls = 0;
  Seconds busy;
  StepCategory mostly = StepCategory::kOther;  // what it is busy with for longest
};

struct TracedCollective {
  StepCategory category = StepCategory::kOther;
  std::optional<WorkShape> shape;
  std::string group;  // of ranks; empty: not known which ranks take part
  // Of a transfer from one rank to another, both of which know it; -1 of what all ranks of the
  // group take part in alike.
  std::int64_t source = -1;
  std::int64_t destination = -1;
  std::int64_t order = 0;  // among those of its group, source and destination in the step
  Seconds start;           // from the first call of the step
  Seconds time;
  Seconds waiting;
  Seconds least;        // of its like
  std::size_t row = 0;  // place in MeasuredStep::operators

  [[nodiscard]] Seconds slowed() const { return max(Seconds{}, time - waiting - least); }
};

struct MeasuredStep {
  TraceHead head;
  std::size_t devices = 1;      // in the trace
  std::string name;             // "ProfilerStep#7"; empty: the whole trace
  std::size_t steps = 0;        // that the profiler marked
  bool follows_others = false;  // steps ran right before it, recorded or not
  bool has_backward = false;    // whether anything in the trace is of a backward pass
  StepTrace summary;
  std::vector<TracedOperator> operators;  // most time first
  std::vector<TracedStream> streams;      // most busy first
  std::vector<TracedCollective> collectives;
  BusyTimes computing;            // in which anything but communication runs, from the first call
  Seconds exposed_waiting;        // of the exposed communication, for other ranks
  std::size_t with_operator = 0;  // calls whose operator is known
  std::size_t in_graphs = 0;      // calls of captured graphs
};

// The step called `wanted`, or the steady one if it is empty; `file` is for messages. Throws
// ConfigError if the trace has no such step.
MeasuredStep measured_step(const TraceRecording& recording, const std::string& file,
                           const std::string& wanted = {});

// The kernel's function without its return type, namespaces and arguments.
std::string short_kernel_name(const std::string& name);

// The wall time in which a rank waits for other ranks and does nothing else.
//
// A collective's kernel waits first and transfers then: of its time the first part, as long as its
// waiting, is spent waiting. Exposed is what of these parts lies beside no computation and no
// transfer.
Seconds exposed_waiting(const BusyTimes& computing, const std::vector<TracedCollective>& calls);

// The sums of a step from what its collectives wait.
void sum_waiting(MeasuredStep& step);

}  // namespace stepcast
