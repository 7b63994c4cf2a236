// SPDX-License-Identifier: Apache-2.0
// The keys of MaxText that an experiment does not carry.
#pragma once

#include "frameworks/framework_words.hpp"
#include "frameworks/setting_reader.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// Leaves out what changes the result and is not priced, and what changes nothing: also a key of
// attention that says what the model's `attention` is anyway.
void leave_out_maxtext_keys(FrameworkReader& settings, const FrameworkWords& words,
                            const AttentionSpec& attention);

}  // namespace stepcast
