// SPDX-License-Identifier: Apache-2.0
// What a layer keeps of one micro-batch for its backward pass, in sums.
//
// With unfused attention, dropout, a two-matrix MLP of 4H and everything kept, the sum is
// Megatron's formula s b h (34 + 5 a s / h), with tensor parallelism s b h (10 + 24/t + 5 a s / (h
// t)) and with sequence parallelism s b h (34 + 5 a s / h) / t (Korthikanti et al., arXiv
// 2205.05198, section 4). Norm statistics (4 bytes a token) are left out.
#pragma once

#include <vector>

#include "stepcast/layer/layer_expansion.hpp"

namespace stepcast {

// What one layer keeps without full recomputation; selective recomputation is applied.
std::vector<SavedTensor> saved_tensors(const ExpansionContext& context, LayerKind kind);

// What recomputation within a layer brings back for the layer's backward.
Bytes rerun_activations(const BlockOps& layer);

// The input of a layer: all that full recomputation keeps of it.
Bytes layer_input(const ExpansionContext& context);

// What a layer's backward holds at most beyond what was saved or recomputed: the gradient of the
// residual stream, and gradients of the feed-forward's tensors less what is freed on the way. The
// highest of the moments of a gated feed-forward of T rows, H wide with F inside, in values:
//   down's backward: T (H + F), what arrives, and the gradient of what the product read;
//   the activation's: T (3 F - F), of its output and of both inputs; the product that it made is
//     gone, but for compiled blocks, whose weight gradients come last;
//   gate's and up's: T (2 H + F - 3 F) or T (2 F + H - 3 F), of what they read; the rest is gone.
// Of experts also what their rows take on their way: while those that came back one by one are
// weighted, while gradients are exchanged, and when a forward that is run again ends, before any
// of it is freed. Rows that live in the dispatcher's lasting buffers are counted there.
Bytes backward_workspace(const ExpansionContext& context, LayerKind kind);
// What attention of a layer holds at its peak beyond what is kept of the layer: its buffers, less
// what the rest of the layer keeps, which is not there yet in forward and has gone in backward.
Bytes attention_workspace(const ExpansionContext& context, LayerKind kind, const BlockOps& layer);

}  // namespace stepcast
