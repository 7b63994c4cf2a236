// SPDX-License-Identifier: Apache-2.0
// The batch of an experiment that gives none.
#pragma once

#include <cstdint>

#include "stepcast/config/config_node.hpp"
#include "stepcast/experiment/reported_input.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

// The tokens of a batch that models of today's sizes are trained with: Llama 3 405B began with 4M
// and ended with 16M (arXiv 2407.21783, section 3.4.1), DeepSeek-V3 ended with 63M and Qwen and
// OLMo lie at 4M to 12M.
inline constexpr std::int64_t kUsualTokens = std::int64_t{1} << 23;

// Sequences of such a batch, 1 at least.
std::int64_t usual_batch(std::int64_t sequence_length);

// What sets a batch that nobody gave, told under the place of such values.
Override assumed_batch(std::int64_t sequences);

bool lacks_batch(const ConfigNode& experiment);

// Sets a batch where the experiment gives none: the usual one, or the least multiple of its ranks'
// micro-batches above that, so that it divides however they are laid out. Of an experiment that
// cannot be read it is any batch.
void fill_batch(ExperimentTree& tree, const DataRoot& data);

}  // namespace stepcast
