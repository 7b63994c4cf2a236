// SPDX-License-Identifier: Apache-2.0
// In which order the plans of a sweep are numbered.
#pragma once

#include <string_view>

namespace stepcast {

// The place of an axis over this key ("plan.tp") among the others; the least is outermost. Keys of
// the site come before all others.
int numbering_order(std::string_view dotted_key);

}  // namespace stepcast
