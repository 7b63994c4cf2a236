// SPDX-License-Identifier: Apache-2.0
// The attention of a layer: its products, what is between them and what backward needs of it.
#pragma once

#include "stepcast/layer/block_builder.hpp"

namespace stepcast {

// Adds attention from the products that read the layer's norm to the one after it.
void expand_attention(const ExpansionContext& context, LayerKind kind, BlockBuilder& build);

}  // namespace stepcast
