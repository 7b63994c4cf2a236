// SPDX-License-Identifier: Apache-2.0
// Priced tasks for the streams of one rank.
//
// A rank has a stream of computation, one of communication for each axis, and a host that launches
// in program order. Communication blocks the program that runs it, unless it is started to be
// joined later.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/cost/contention.hpp"
#include "stepcast/hardware/library_constants.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

// What carries a communication: links of the scale-up domain, or the NIC as well.
enum class Fabric : std::uint8_t { kNone, kScaleUp, kScaleOut };

enum class TaskMode : std::uint8_t {
  kBlocking,  // what follows waits for it
  kStart,     // communication that overlaps with what follows
  kJoin,      // waits for what its program and those before it started over the axis; takes no time
};

// How a task shares the units with what runs on another stream at the same time. Communication
// holds some and leaves the others (`contended`). Kernels that fill the device take turns: blocks
// of both wait for each other's, so that together they take the sum of their times. A computation
// whose blocks leave no room beside them keeps its units until it ends, and the other kernel waits:
// a copy for most of the time, and communication that awaits units begins where such a kernel
// begins or ends. Products and attention of one resident block a unit are such kernels: on two H100
// NCCL's began 0.4 to 0.7 ms after the one before them, beside products of 1.5 ms that follow each
// other. Of loops of one kernel that is known; steps have none that await units, for which kernel
// runs when a collective is posted differs from rank to rank.
enum class UnitSharing : std::uint8_t { kHoldsUnits, kTakesTurns, kKeepsUnits, kAwaitsUnits };

// Steps copy many of them: the small members stand together.
struct StreamTask {
  Seconds duration;   // with nothing else running on the device
  Seconds contended;  // of computation: while communication runs at the same time
  Joules energy;      // of computation, above idle
  Seconds host;       // that the host takes to launch it
  Seconds hidden;     // communication that the layer's own kernels hide (overlap_windows.hpp)
  CommunicationStretch stretch;   // of communication while computation runs at the same time
  KernelDemand demand;            // of computation
  CopyConstants beside_copies{};  // of computation that keeps its units
  // Of what carries a communication, that a kernel takes which hides one inside it.
  double fabric_taken = 0.0;
  std::optional<Axis> axis;       // of communication; empty: computation
  std::int32_t op = -1;           // place among the operators of the step; below 0: not noted
  Fabric fabric = Fabric::kNone;  // of communication, or of what a kernel hides inside it
  TaskMode mode = TaskMode::kBlocking;
  UnitSharing sharing = UnitSharing::kHoldsUnits;
  bool weight_gradient = false;
  bool host_waits = false;  // the host waits for it before it launches what follows
};

using TaskList = std::vector<StreamTask>;

// The sums of a list of tasks, nothing overlapped.
struct TaskSums {
  Seconds compute;
  Seconds contended;         // the same beside communication
  Seconds weight;            // the part of it that is gradients of weights
  Seconds launching_weight;  // of the host, for these
  std::array<Seconds, kAxes> exposed{};
  Seconds blocking;   // of communication, what nothing of the same program runs beside
  Seconds launching;  // of the host, for all of them
  Joules energy;

  void add(double times, const TaskSums& other);
};
TaskSums sums_of(const TaskList& tasks);
// Of tasks one after the other.
Seconds duration_of(const TaskList& tasks);

}  // namespace stepcast
