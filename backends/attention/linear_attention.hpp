// SPDX-License-Identifier: Apache-2.0
// Chunked linear attention as the kernels of flash-linear-attention.
//
//   time = sum over kernels of  launch + ramp + max(units, bytes / (hbm_share * HBM rate))
//   units of a kernel over all chunks at once
//     = chunks * heads * batch * (chunk_cycles + inverses * inverse_cycles + products) / units
//   units of a kernel from chunk to chunk (the state, its gradient)
//     = chunks * turns * step_cycles,  turns of heads * batch * d_v / 64 groups over the units,
//       at least its products over all units
//   products = 2 (C d_k d_v, or C^2 d) / (matrix rate * chunk_efficiency)
//
// Products within a chunk are computed whole, whatever their triangle leaves. The state of a head
// is a chain of as many steps as there are chunks, however few heads there are: with few heads it
// takes as long as with one for each unit.
//
// Assumes chunks of 64 and heads of 64 to 256, which the library's kernels are written for, and its
// own choice of tiles. Wrong for other libraries' kernels (FlashKDA, cuDNN), for packed sequences
// of many lengths, and where the host cannot launch fast enough.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

OpCost linear_attention_cost(const LinearAttention& op, const KernelContext& context);

}  // namespace stepcast
