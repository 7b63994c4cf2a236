// SPDX-License-Identifier: Apache-2.0
// Through what programs reach the device: profilers name launches and kernels after it.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

enum class DeviceRuntime { kCuda, kHip };

inline constexpr std::array<std::string_view, 2> kDeviceRuntimeNames = {"cuda", "hip"};

template <>
inline std::span<const std::string_view> names_of<DeviceRuntime>() {
  return kDeviceRuntimeNames;
}

}  // namespace stepcast
