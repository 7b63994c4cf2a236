// SPDX-License-Identifier: Apache-2.0
// Attention over chosen keys, and the indexer that chooses them, as kernels of one query each.
//
// Sparse attention: a workgroup holds one query of up to 64 heads and walks over its list of keys.
//   units = max(products, gathered rows / (gather * cache rate))
//     products = 2 queries heads keys (d_qk + d_v) / (matrix rate * forward_efficiency), the list
//                whole, also where fewer keys lie before the query; backward 3 d_qk + 2 d_v
//     gathered = queries * ceil(heads / 64) * keys * d_qk, 16 bits
//   backward besides: gradients of keys, added atomically in fp32 at reduction_rate, after a kernel
//   of dO . O and before one that converts them.
//
// Index scores: units = products / (matrix rate * index_efficiency), then the choice: choice_passes
// over the scores in fp32. Backward, one query a workgroup over its chosen keys: three products and
// atomic gradients of keys; the teacher's probabilities are a kernel of their own.
//
// Sources: TileLang's examples/deepseek_v32 and dsa_sparse_finetune, which Megatron-LM runs
// (megatron/core/transformer/experimental_attention_variant/ops), FlashMLA's sparse prefill.
//
// Wrong where few keys are shared by neighbouring queries and the keys exceed the last-level cache,
// and for kernels that keep gradients of keys apart instead of adding them atomically.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

OpCost sparse_attention_cost(const SparseAttention& op, const KernelContext& context);
OpCost index_scores_cost(const IndexScores& op, const KernelContext& context);

}  // namespace stepcast
