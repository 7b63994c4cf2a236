// SPDX-License-Identifier: Apache-2.0
// What full sharding takes for the parameters of one layer while it runs: weights gathered from
// their shards, and gradients on their way to theirs.
//
//   gathered   2 B a trained parameter
//   reduced    the 16-bit gradient and the input of the reduction: 2 B + gradient_reduce
//
// Experts whose shards lie on other ranks than those of the rest of their layer are a group of
// their own, gathered beside the rest and reduced before it.
#pragma once

#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/sharding.hpp"

namespace stepcast {

// Whether weights lie in shards, or on the host, between the passes of a layer.
bool gathers_layers(const ExpansionContext& context);
// Whether gradients are summed unsharded over the micro-batches.
bool sums_full_gradients(const ExpansionContext& context);

// `layer`: parameters of one rank before they are sharded.
Bytes gathered_unit(const ExpansionContext& context, const LocalParameters& layer);
// While the backward of the layer before it runs, and that one's gradients are made.
Bytes reduced_beside(const ExpansionContext& context, const LocalParameters& layer);

// Of experts that FSDP wraps though no other rank has them, what it copies them to.
Bytes lone_copies(const ExpansionContext& context, const LocalParameters& layer);
// While experts in a group of their own are reduced, when the layer's backward has run.
Bytes experts_reduced(const ExpansionContext& context, const LocalParameters& layer);

}  // namespace stepcast
