// SPDX-License-Identifier: Apache-2.0
// What is known after branches of which nobody can say which one ran: what they agree on stays, and
// what they leave different becomes a choice between them.
#pragma once

#include <vector>

#include "frameworks/shell_expansion.hpp"
#include "frameworks/shell_state.hpp"

namespace stepcast {

// Whether a branch may run any number of times, so that its outcome is not all there is.
enum class ShellTurns { kOnce, kAnyNumber };

// `states[guess]` is what holds if nobody gives anything; at least one state.
ShellState merged(const std::vector<ShellState>& states, std::size_t guess,
                  const std::vector<ShellUnknownId>& causes, ShellTurns turns,
                  const Location& where, ShellRun& run);

}  // namespace stepcast
