// SPDX-License-Identifier: Apache-2.0
// What a vocabulary that nobody has said may change of a prediction.
//
//   assumed: model.vocabulary 128000: nothing says it, give vocab_size; 32,000 to 256,000:
//   -4 to +6 % of the FLOPs, -1.1 to +1.5 GiB on the fullest GPU
#pragma once

#include <cstdint>
#include <string>

#include "frameworks/imported_experiment.hpp"

namespace stepcast {

// The experiment's vocabulary with the ends of `range` in its place: FLOPs of a token as
// model/model_flops.hpp counts them, memory as the plan needs it. Empty where the experiment has no
// cluster or its plan does not divide, since nothing of it is known then.
std::string effect_of_vocabulary(const VocabularyRange& range, const ConfigNode& experiment,
                                 const DataRoot& data);

}  // namespace stepcast
