// SPDX-License-Identifier: Apache-2.0
// Prices kept from plan to plan: the same numbers, for the cost of looking them up.
//
// Plans of a sweep share most of their operators, and steps are priced at the clocks of a fixed
// grid (schedule/step_time.hpp), so that an operator is priced once for each clock. A price is what
// the models say, bit for bit, in whatever order plans come.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

// `model` with its prices on `cluster` kept. `cluster` must stay where it is, and as it is, as long
// as the result is used; prices on any other go through. Prices with their terms are not kept. One
// thread may use it.
CostModel with_kept_prices(const CostModel& model, const ClusterSpec& cluster);

}  // namespace stepcast
