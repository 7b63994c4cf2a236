// SPDX-License-Identifier: Apache-2.0
// The keys of a MaxText configuration that an experiment does not carry.
#pragma once

#include "frameworks/setting_reader.hpp"

namespace stepcast {

// What changes the result and is not priced, and what changes nothing.
void leave_out_maxtext_keys(FrameworkReader& settings);

}  // namespace stepcast
