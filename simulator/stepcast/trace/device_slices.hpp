// SPDX-License-Identifier: Apache-2.0
// The kernels of a placed step one by one, each on a thread of the device.
//
// A stream has one thread, or several where what it runs overlaps: transfers that begin before
// another one has ended, what kernels hide of a communication inside them. On a thread nothing
// overlaps. Times are whole nanoseconds from the start of the step.
#pragma once

#include <array>
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
std::string_view name(DeviceStream stream);

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

}  // namespace stepcast
