// SPDX-License-Identifier: Apache-2.0
// What mixes the positions of a sequence in a layer, between its norm and its residual sum.
#pragma once

#include "stepcast/layer/block_builder.hpp"

namespace stepcast {

void expand_mixer(const ExpansionContext& context, LayerKind kind, BlockBuilder& build);
// The product whose result the residual sum takes.
OpId mixer_output(Mixer mixer);

void expand_attention(const ExpansionContext& context, LayerKind kind, BlockBuilder& build);
void expand_convolution(const ExpansionContext& context, BlockBuilder& build);
void expand_linear_attention(const ExpansionContext& context, BlockBuilder& build);
// Latent attention to the keys that an indexer chooses, and attention whose one key head is its
// value as well, beside compressed keys.
void expand_chosen_latents(const ExpansionContext& context, LayerKind kind, BlockBuilder& build);
void expand_shared_kv(const ExpansionContext& context, LayerKind kind, BlockBuilder& build);

// Keys that stand for several positions each, `width` values of them: products, the weighted sum of
// each window, norm and positions. Windows of the indexed ratio overlap: each
// sum is of the one before as well.
void compress_keys(const ExpansionContext& context, std::int64_t ratio, std::int64_t width,
                   std::int64_t rope, BlockBuilder& build);
// What the layer's indexer runs, up to the choice.
void expand_indexer(const ExpansionContext& context, LayerKind kind, BlockBuilder& build);

// What a tensor-parallel rank holds of `total` heads; key/value heads may be replicated.
std::int64_t local_heads(std::int64_t total, std::int64_t tp);

// Rows of all context-parallel ranks, gathered forward; their gradients come back reduced.
void gather_rows(const ExpansionContext& context, OpId id, std::int64_t cols, BlockBuilder& build);

// The last rows of each context-parallel rank go to the next one, which begins with them: of both
// parts of the sequence that a rank holds to balance causal attention. `cols` values of `rows`
// rows.
void pass_halo(const ExpansionContext& context, OpId id, std::int64_t rows, std::int64_t cols,
               BlockBuilder& build);

}  // namespace stepcast
