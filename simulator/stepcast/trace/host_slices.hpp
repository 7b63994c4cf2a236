// SPDX-License-Identifier: Apache-2.0
// When the host calls the operators of a step.
//
// The simulator says how long the host takes for each operator and that no kernel starts before it
// is launched, but not how far ahead the host runs. Here it runs as late as it can: each call ends
// when its kernel starts or the next call begins, whichever is first. So an arrow from launch to
// kernel never points back, a device that waits for its host has the launch right before the
// kernel, and one that does not has it just in time. Both host threads together run one call at a
// time.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/trace/device_slices.hpp"

namespace stepcast {

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
