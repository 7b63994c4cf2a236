// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/dispatcher_model.hpp"

#include <algorithm>

#include "stepcast/layer/expert_expansion.hpp"

namespace stepcast {

bool PhasePrimitives::has(ExchangePrimitive primitive) const {
  return primitive == usual ||
         std::find(choices.begin(), choices.end(), primitive) != choices.end();
}

bool ReceiveBuffers::has(ReceiveBuffer buffer) const {
  switch (buffer) {
    case ReceiveBuffer::kDynamic:
      return dynamic;
    case ReceiveBuffer::kWorstCase:
      return worst_case;
    case ReceiveBuffer::kCapacity:
      return capacity;
  }
  return false;
}

std::vector<Reason> DispatcherModel::never_refuses(const ParallelPlan& /*plan*/,
                                                   const RecomputeSpec& /*recompute*/) {
  return {};
}

void DispatcherModel::dispatch_experts_combine(ExpertLayer& layer) {
  layer.dispatch();
  layer.experts();
  layer.combine();
}

std::string dispatchers_that(bool (*holds)(const DispatcherModel&)) {
  std::vector<std::string_view> found;
  for (std::size_t place = 0; place < kDispatchers; ++place) {
    const auto dispatcher = static_cast<Dispatcher>(place);
    if (holds(model_of(dispatcher))) {
      found.push_back(name(dispatcher));
    }
  }
  std::string text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    text += i == 0 ? "" : i + 1 < found.size() ? ", " : " and ";
    text += found[i];
  }
  return text;
}

std::int64_t exchange_units(const ExchangeSpec& spec, const ExchangeConstants& constants) {
  const Dispatcher dispatcher = carried_by(spec);
  return spec.compute_units > 0
             ? spec.compute_units
             : constants.of(model_of(dispatcher).units_as.value_or(dispatcher)).units;
}

std::int64_t units_held(const ParallelPlan& plan, std::int64_t library_units) {
  if (plan.exchange.compute_units > 0) {
    return plan.exchange.compute_units;
  }
  switch (model_of(carried_by(plan.exchange)).units) {
    case HeldUnits::kProfile:
      return plan.exchange_units;
    case HeldUnits::kAsCollective:
      return library_units;
    case HeldUnits::kNone:
      return 0;
  }
  return 0;
}

}  // namespace stepcast
