// SPDX-License-Identifier: Apache-2.0
// Constants of exchanges that a profile only assumes, for every report that was made with them.
#pragma once

#include <string>

#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {

// "exchange constants of deepep on mi300x assumed, 16 of 19: as H100", with the reason that most of
// them give; empty where a source stands behind every constant of the dispatcher.
std::string assumed_exchange(const DeviceSpec& device, Dispatcher dispatcher);

}  // namespace stepcast
