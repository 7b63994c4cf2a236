// SPDX-License-Identifier: Apache-2.0
// Which way an operator runs.
#pragma once

namespace stepcast {

enum class Direction { kForward, kBackward };
constexpr bool is_forward(Direction direction) { return direction == Direction::kForward; }

}  // namespace stepcast
