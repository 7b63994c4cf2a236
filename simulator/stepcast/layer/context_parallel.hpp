// SPDX-License-Identifier: Apache-2.0
// Attention of one layer as a context-parallel rank runs it.
//
// Each of cp ranks holds s / cp tokens of a sequence in two chunks, the c-th from its beginning and
// the c-th from its end, so that a causal mask leaves all of them equal work. a = cp_heads() ranks
// exchange tokens for heads, so that each has a s / cp tokens of its share of them; then r = cp / a
// groups share the sequence. K V: the bytes of a rank's keys and values; T: its tokens.
//
// Transformer Engine (context_parallel.py, release 2.x), after the names of its cp_comm_type:
//   p2p         r steps. Beside step i the K V at hand go on to the next rank and others arrive.
//   The
//               first step is s/r x s/r under the causal mask, each further one all queries against
//               the first half of the keys, or the second half of the queries against all keys: as
//               much work, without a mask. Partial results are added up, scaled by their
//               log-sum-exp, after the last step. Backward runs the steps from the last to the
//               first: K V alone go on beside the first of them, gradients of them beside the last,
//               both beside the others; what arrives is added to. In 8 bits K V go round alone and
//               all gradients are exchanged at the end (all to all).
//   all_gather  K and V are gathered, put in order and read by two calls of attention, one a chunk;
//               nothing runs beside. Backward gathers again, adds both calls' gradients to zeros,
//               puts them in order and scatters their sum, in 16 bits.
//   a2a         q, k and v go all to all, and the result back, each copied before and after.
//   a2a+p2p     a2a among neighbours, p2p among the groups.
// PyTorch (torch.distributed.tensor.experimental, context_parallel), by its rotate method: the
// steps of p2p, whether K V are gathered first (allgather) or go round (alltoall); partial results
// are merged and gradients summed in fp32 by passes of their own (SoftwareSpec::ring_attention),
// and gradients of K V go round in fp32, r times, each waited for.
//
// All are those of the rank with the last of the first chunks, which has all queries in every step;
// the ring waits for the slowest. Where the kernel keeps documents apart, a step is the r-th part
// of what the mask leaves.
#pragma once

#include "stepcast/layer/block_builder.hpp"

namespace stepcast {

// `whole`: attention of a tensor-parallel rank over whole sequences.
void expand_context_parallel(const ExpansionContext& context, const Attention& whole,
                             BlockBuilder& build);

// What attention holds at its peak besides what forward keeps of the layer: the copies that arrive,
// partial results and gradients of them. Nothing without context parallelism.
Bytes context_parallel_buffers(const ExpansionContext& context, const AttentionHeads& of_layer);

// Heads of keys and values that attention reads on a tensor-parallel rank.
std::int64_t attention_kv_heads(const AttentionHeads& heads, const SoftwareSpec& software,
                                std::int64_t tp);

}  // namespace stepcast
