// SPDX-License-Identifier: Apache-2.0
// Which way an operator runs.
#pragma once

namespace stepcast {

enum class Direction { kForward, kBackward };

}  // namespace stepcast
