// SPDX-License-Identifier: Apache-2.0
// A count, as formulas take it.
#pragma once

#include <cstdint>

namespace stepcast {

// Exact up to 2^53, which no count of ours reaches.
constexpr double real(std::int64_t count) { return static_cast<double>(count); }

}  // namespace stepcast
