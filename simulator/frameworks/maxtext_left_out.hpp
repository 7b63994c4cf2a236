// SPDX-License-Identifier: Apache-2.0
// The keys of a MaxText configuration that an experiment does not carry.
#pragma once

#include "frameworks/setting_reader.hpp"
#include "stepcast/graph/model_spec.hpp"

namespace stepcast {

// What changes the result and is not priced, and what changes nothing: also a key of attention that
// says what the model's `attention` is anyway.
void leave_out_maxtext_keys(FrameworkReader& settings, const AttentionSpec& attention);

}  // namespace stepcast
