// SPDX-License-Identifier: Apache-2.0
// What SonicMoE sends where the plan leaves it to its choice and no profile says what is fastest.
#pragma once

#include "stepcast/layer/exchange_shape.hpp"

namespace stepcast {

// Without its profiler: gathered where W <= 2 or W <= 0.8 k, else a row for each (token, rank);
// beyond one scale-up domain a row for each (token, node).
ExchangePrimitive sonic_dispatch(const ExchangeSpec& spec, const ExchangeShape& shape);
ExchangePrimitive sonic_combine(const ExchangeSpec& spec, const ExchangeShape& shape);

}  // namespace stepcast
