// SPDX-License-Identifier: Apache-2.0
// The backward of the first layer of each kind: the last of its kind that runs, when the gradients
// of all later layers are there and the least is left of what forward kept.
#pragma once

#include <vector>

#include "stepcast/layer/built_stage.hpp"
#include "stepcast/layer/layer_expansion.hpp"

namespace stepcast {

struct FirstLayer {
  Bytes kept;             // by forward on the device, of the layers before it
  Bytes activations;      // its own, and what recomputing it brings back
  Bytes workspace;        // gradients of its activations
  Bytes gathered;         // its weights and, ahead, those of the layer before it or the embedding
  Bytes reduced;          // beside its backward (memory/fsdp_unit.hpp)
  Bytes lone_gathered;    // copies of experts that FSDP wraps though no other rank has them
  Bytes experts_reduced;  // by themselves, when its backward has run
  Bytes late_gradients;   // sharded, that come after its backward: its own, those of the layers
                          // before it and of the embedding
};

// One of each of stage.layers.
std::vector<FirstLayer> first_layers(const ExpansionContext& context, const BuiltStage& stage);

// What `count` layers of a kind keep, of which `recomputed` do an input.
Bytes kept_by(const ExpansionContext& context, const BuiltLayer& layer, std::int64_t count,
              std::int64_t recomputed);
// What a layer that is recomputed needs again besides its input, which is kept.
Bytes recomputed_activations(const ExpansionContext& context, const BuiltLayer& layer);
// What forward leaves for a layer.
Bytes left_by_forward(const ExpansionContext& context, const BuiltLayer& layer);
// Gradients of a layer's activations, and the 16-bit copy of a packed matrix that a product reads.
Bytes layer_workspace(const BuiltLayer& layer);
// How many layers share one kept input, where layers are recomputed.
double recomputed_run(const RecomputeSpec& recompute);

}  // namespace stepcast
