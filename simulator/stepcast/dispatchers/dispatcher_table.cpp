// SPDX-License-Identifier: Apache-2.0
#include "stepcast/dispatchers/dispatcher_table.hpp"

#include <array>

namespace stepcast {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_MODEL(enumerator, name, section) &dispatchers::name,
constexpr std::array kModels = {STEPCAST_DISPATCHERS(STEPCAST_MODEL)};
#undef STEPCAST_MODEL
static_assert(kModels.size() == kDispatchers);

}  // namespace

const DispatcherModel& model_of(Dispatcher dispatcher) { return *kModels.at(slot(dispatcher)); }

}  // namespace stepcast
