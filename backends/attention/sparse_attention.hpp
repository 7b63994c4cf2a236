// SPDX-License-Identifier: Apache-2.0
// Attention over chosen keys, and the indexer that chooses them, as kernels of one query each.
//
// Sparse attention: a workgroup holds one query of some heads and walks over its list of keys, the
// whole list also where fewer keys lie before the query.
//   forward   products / (matrix rate * forward_efficiency) + own queries and results / HBM rate:
//             one workgroup on a unit, so that its transfers hide behind nothing
//   backward  dO . O, zeros, products / (matrix rate * backward_efficiency) + gradients of keys
//             added in fp32 at reduction_rate, for each 32 heads, + conversion
//
// Index scores: products / (matrix rate * index_efficiency), then the choice: a query's
// choice_cycles and choice_passes over the scores in fp32. Backward, one query a workgroup over its
// chosen keys: the larger of three products and of gradients of keys added in fp32; the
// probabilities that it learns are a kernel of their own, at teacher_efficiency.
//
// Sources: FlashMLA's sparse prefill (github deepseek-ai/FlashMLA) forward; backward, scores and
// teacher as TileLang's examples/deepseek_v32 and dsa_sparse_finetune have them, which Megatron-LM
// runs (megatron/core/transformer/experimental_attention_variant/ops); the choice is torch.topk.
//
// Measured on one H100 (tests/validation/sparse_attention_kernels.jsonl), backward, scores and
// teacher with kernels of our own after TileLang's, whose backward is published at 100 to 115
// TFLOP/s on H800 and H200: ours reach 99 to 109. On AMD, backward keeps gradients apart and adds
// them up in a kernel of its own; its time is fitted as if it were added. Wrong for very long
// sequences of index scores, of which a kernel that reads queries again takes up to twice as long.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

OpCost sparse_attention_cost(const SparseAttention& op, const KernelContext& context);
OpCost index_scores_cost(const IndexScores& op, const KernelContext& context);

}  // namespace stepcast
