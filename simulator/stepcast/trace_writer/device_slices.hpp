// SPDX-License-Identifier: Apache-2.0
// The kernels of a placed step one by one, each on a thread of the device.
//
// A stream has one thread, or several where what it runs overlaps: transfers that begin before
// another one has ended, what kernels hide of a communication inside them. On a thread nothing
// overlaps. Times are whole nanoseconds from the start of the step.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stepcast/schedule/placed_step.hpp"

namespace stepcast {

enum class DeviceStream {
  kCompute,
  kTensor,
  kExpert,
  kContext,
  kGather,
  kReduce,
  kSend,
  kReceive,
  kCopies,
};
inline constexpr std::size_t kDeviceStreams = 9;
template <>
inline constexpr std::array<std::string_view, kDeviceStreams> kNamesOf<DeviceStream> = {
    "compute",          "tensor parallel",  "expert parallel",
    "context parallel", "all-gather",       "reduce-scatter",
    "pipeline send",    "pipeline receive", "copies"};

// What a step runs besides PlacedStep::operators. The two copies, of its tokens to the device and
// of its loss from it, mark where it begins and ends: the simulator gives them no time, the trace 1
// ns.
enum class FurtherOp { kSend, kReceive, kCopyIn, kCopyOut };
inline constexpr std::size_t kFurtherOps = 4;

enum class HostThread { kForward, kBackward };

struct DeviceSlice {
  std::int64_t begin = 0;  // ns
  std::int64_t end = 0;
  std::int64_t host = 0;      // that the host takes to launch it
  std::int64_t sequence = 0;  // that a forward operator shares with its backward; 0: none
  std::int32_t op = 0;        // of PlacedStep::operators, behind which are those of FurtherOp
  std::int32_t thread = 0;    // of the device, counted from 0
  std::int64_t peer = -1;     // pipeline rank to which or from which it transfers; -1: none
  HostThread launched_by = HostThread::kForward;
  bool in_backward = false;  // of an operator whose forward has this sequence number
  bool recomputed = false;   // forward once more, for what backward needs of it
};

// The threads of the device, stream after stream.
struct DeviceThread {
  DeviceStream stream = DeviceStream::kCompute;
  std::int32_t lane = 0;  // of those that the stream has
};

struct DeviceSlices {
  std::vector<DeviceSlice> slices;  // by begin
  std::vector<DeviceThread> threads;
};

DeviceSlices device_slices(const PlacedStep& step);

std::int64_t nanoseconds(Seconds time);

// --- the host -----------------------------------------------------------------------------------
// The simulator says how long the host takes for each operator and that no kernel starts before it
// is launched, but not how far ahead the host runs. Here it runs as late as it can: each call ends
// when its kernel starts or the next call begins, whichever is first. So an arrow from launch to
// kernel never points back, a device that waits for its host has the launch right before the
// kernel, and one that does not has it just in time. Both host threads together run one call at a
// time.

// The time that a call of an operator may fill, in ns from the start of the step; below 0 before
// it.
struct HostCall {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// What stands inside of a call: the two slices of a node of autograd, the frame of what is
// recomputed, the operator, its launch.
inline constexpr std::int64_t kWrapper = 50;  // ns from one slice to the one around it
inline constexpr std::int64_t kInNode = 2 * kWrapper;
inline constexpr std::int64_t kInFrame = kInNode + kWrapper;
inline constexpr std::int64_t kLaunch = 400;     // ns
inline constexpr std::int64_t kShortest = 1000;  // ns, of a call

// One for each slice, in their order.
std::vector<HostCall> host_calls(const std::vector<DeviceSlice>& slices);

}  // namespace stepcast
