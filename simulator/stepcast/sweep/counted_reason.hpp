// SPDX-License-Identifier: Apache-2.0
// Reasons against plans, without the numbers of a plan, so that they can be counted.
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

inline constexpr std::string_view kRefusedByMemory = "does not fit in memory";
inline constexpr std::string_view kSamePlan = "the same as another plan of the sweep";

// "tp = 8 does not divide the number of attention heads = 12" is
// "tp does not divide the number of attention heads".
std::string counted_reason(std::string_view reason);

}  // namespace stepcast
