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

ExchangePrimitive chosen_primitive(const ExpertExchange& op, const ClusterSpec& cluster) {
  const auto fastest = model_of(op.dispatcher).fastest;
  const bool open = op.primitive == ExchangePrimitive::kAuto && fastest != nullptr;
  return open ? fastest(op, cluster) : op.primitive;
}

OpCost exchange_cost(const ExpertExchange& op, const FabricContext& context,
                     const CollectiveModel& collectives) {
  return op.group.size > 1 ? model_of(op.dispatcher).price(op, context, collectives) : OpCost{};
}

}  // namespace stepcast
