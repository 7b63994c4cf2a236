// SPDX-License-Identifier: Apache-2.0
// Which way an operator runs.
#pragma once

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

enum class Direction { kForward, kBackward };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<Direction> = {"fwd", "bwd"};
constexpr bool is_forward(Direction direction) { return direction == Direction::kForward; }

}  // namespace stepcast
