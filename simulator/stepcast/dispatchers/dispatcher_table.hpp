// SPDX-License-Identifier: Apache-2.0
// The models of all dispatchers, each defined in the file of its name.
#pragma once

#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast::dispatchers {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_DECLARED(enumerator, name, section) extern const DispatcherModel name;
STEPCAST_DISPATCHERS(STEPCAST_DECLARED)
#undef STEPCAST_DECLARED

}  // namespace stepcast::dispatchers

namespace stepcast {

// The one whose kernels were timed alone, so that `stepcast calibrate` can fit their constants.
inline constexpr Dispatcher kTimedDispatcher = Dispatcher::kDeepEp;

}  // namespace stepcast
