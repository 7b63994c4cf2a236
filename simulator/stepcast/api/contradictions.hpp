// SPDX-License-Identifier: Apache-2.0
// Options of one command line of which a later one would undo an earlier one in silence.
//
//   --set plan.tp=4: error: sets 'plan.tp' to another value than '--tp 2'; leave one of them out
#pragma once

#include <vector>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

// Throws ConfigError where two of `overrides`, which are applied in their order, give one key two
// values, or where one replaces the whole mapping in which an earlier one has set a key.
void refuse_contradictions(const std::vector<Override>& overrides);

}  // namespace stepcast
