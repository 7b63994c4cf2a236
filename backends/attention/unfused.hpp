// SPDX-License-Identifier: Apache-2.0
// Attention without a fused kernel: full products, and the scores pass through HBM.
//
//   time = launch + max(masked and unmasked FLOPs / (matrix rate * achieved GEMM share), operands /
//          HBM rate) + passes over the queries x keys scores / HBM rate
//
// Every score is computed, whatever the mask. Wrong where the scores fit a cache.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

OpCost unfused_attention(const Attention& op, const KernelContext& context);

}  // namespace stepcast
