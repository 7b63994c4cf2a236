// SPDX-License-Identifier: Apache-2.0
// Tables of kernels that others published (measured/published/*.csv).
#pragma once

#include "importers/kernel_formats.hpp"

namespace stepcast {

// sku, dtype, m, n, k, latency_us: short runs, so that only the burst limit acts. Rows below 20 us
// have a group of their own: they are mostly start-up. Points of formats below 16 bits were taken
// of TensorRT-LLM's linear layer: their times grow with m k as those of a quantisation of its input
// do, which the record names as the operator `before` the product.
extern const KernelTable kGemmPoints;
// sku, batch, seqlen, heads, kv_heads, head_dim, latency_us: causal forward of TensorRT-LLM,
// likewise; rows below 50 us have a group of their own.
extern const KernelTable kAttentionPoints;
// Shapes, and TFLOP/s of aiter's forward and of its backward with 16- and 32-bit atomics on MI300X
// and MI355X; a causal mask halves the FLOPs.
void read_aiter_attention(ForeignRow& row, std::vector<Record>& records);
// sku, op, num_gpus, bytes, latency_us: in one node.
extern const KernelTable kNcclPoints;
// sku, hidden, tokens, topk, experts, sms, dispatch_us, combine_us: DeepEP's normal kernels on the
// 8 GPUs of a node, 4 of GB200; dispatched in fp8, combined in bf16, experts at random. Rows below
// 1024 tokens have a group of their own.
extern const KernelTable kDeepEpPoints;

}  // namespace stepcast
