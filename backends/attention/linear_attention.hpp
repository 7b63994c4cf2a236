// SPDX-License-Identifier: Apache-2.0
// Chunked linear attention as the kernels of flash-linear-attention.
//
//   time = sum over kernels of  launches + ramp + max(units, bytes / (hbm_share * HBM rate))
//   units of a kernel over all chunks at once
//     = chunks * heads * batch * cycles of a chunk / units
//     cycles of a chunk = products / (matrix rate * chunk_efficiency) + inverses * inverse_cycles
//                         + values that a channel's decay scales * decay_cycles
//   units of a kernel from chunk to chunk (the state, its gradient)
//     = chunks * turns * products of a step * (step_cycles + d_k * step_channel_cycles),
//       turns of heads * batch * d_v / 64 groups over the units, at least as above
//
// Products with states in the kernel of gradients of keys reach gradient_efficiency: it spills its
// registers. Products within a chunk are computed whole, whatever their triangle leaves. The state
// of a head is a chain of as many steps as there are chunks: with few heads it takes as long as
// with one for each unit.
//
// Measured on one H100 with Triton 3.6 (tests/validation/linear_attention_kernels.jsonl); whole
// operators of shapes held back within 6 % on average. Assumes chunks of 64 and heads of 64 to 128,
// which were measured, and the library's own choice of tiles. Wrong for other libraries' kernels
// (FlashKDA, cuDNN), for packed sequences of many lengths, where the host cannot launch fast
// enough, and by half for sums over the heads that share a key, which PyTorch's reduction makes.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

OpCost linear_attention_cost(const LinearAttention& op, const KernelContext& context);

}  // namespace stepcast
