// SPDX-License-Identifier: Apache-2.0
// Attention without a fused kernel: full products, and the scores pass through HBM.
//
//   time = launch + products + softmax, with math = max(masked and unmasked FLOPs / (matrix rate *
//          achieved GEMM share), operands / HBM rate) and passes over the queries x keys scores
//     one kernel    products = sqrt(math^2 + (2 or 4 passes / HBM rate)^2): they write or read
//                   scores as they go; softmax = max(2 or 3 passes / HBM rate, scores * cycles /
//                   (units * clock)): a warp holds a row in its registers, the longer the fewer
//     several ones  products + softmax = math + all passes / HBM rate
//
// Every score is computed, whatever the mask. Passes are of 2 bytes a score (unfused_passes()).
// Wrong where the scores fit a cache. Measured on one H200 (libraries.yaml, ROWSOFTMAX): products
// of 32 heads over 8192 x 8192 pairs 2.6 ms forward and 4.8 backward, told 2.5 and 5.0.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

// Passes of 2 bytes over the scores, in the direction of the operator, of those that
// hardware_profiles/libraries.yaml counts.
//
//   plain    one kernel scales, masks and takes the softmax. Forward: the scores written, read and
//            written as probabilities, which are read: 4. Backward: the probabilities read for the
//            gradient of the values, theirs written, both read and one written by the softmax, read
//            twice: 7. (Transformer Engine's UnfusedDotProductAttention, whose kernel takes 16 to
//            16,384 keys in multiples of 8.)
//   sinks    the same with a column of sinks, which no such kernel takes: PyTorch's softmax in fp32
//            (2 passes each way). Forward: the scores written (1), joined with the column (2), made
//            fp32 (3), masked in place (4), their softmax (4), made 16 bits (3), read (1): 18.
//            Backward: probabilities read and their gradients written (2), the column put back (3),
//            made fp32 (3), softmax (6), mask (4), made 16 bits (3), read twice (2): 23.
//   dropout  written, scaled and masked, softmax, dropout, read: 8, and 10 backward.
double unfused_passes(const Attention& op, const UnfusedAttentionConstants& constants);

OpCost unfused_attention(const Attention& op, const KernelContext& context);

}  // namespace stepcast
