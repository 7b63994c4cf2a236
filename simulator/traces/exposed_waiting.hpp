// SPDX-License-Identifier: Apache-2.0
// The wall time in which a rank waits for other ranks and does nothing else.
//
// A collective's kernel waits first and transfers then: of its time the first part, as long as its
// waiting, is spent waiting. Exposed is what of these parts lies beside no computation and no
// transfer.
#pragma once

#include <utility>
#include <vector>

#include "stepcast/base/units.hpp"

namespace stepcast {

struct TracedCollective;

// Seconds from the first call of a step; sorted and apart.
using BusyTimes = std::vector<std::pair<double, double>>;

Seconds exposed_waiting(const BusyTimes& computing, const std::vector<TracedCollective>& calls);

}  // namespace stepcast
