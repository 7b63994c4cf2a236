// SPDX-License-Identifier: Apache-2.0
// What one stage of the pipeline adds to its rank's memory at each moment of a micro-batch.
#pragma once

#include "stepcast/layer/built_stage.hpp"

namespace stepcast {

struct StageBudget {
  // Activations of one micro-batch.
  Bytes kept;        // from forward to backward
  Bytes recomputed;  // the largest set that recomputing brings back for a moment
  Bytes last_kept;   // what is left when backward reaches the first layer
  // From the gradient of the stage's input to that of its weights, where a schedule parts them: the
  // gradients of the results of its products.
  Bytes deferred;
  // While a layer's backward runs: gradients of its activations.
  Bytes workspace;
  // What the loss needs; zero on stages without one.
  Bytes loss;           // while it runs
  Bytes head_backward;  // while the output matrix' backward runs
  Bytes logits;         // 16-bit logits, where they are kept
  // Full sharding.
  Bytes gathered;         // all the time
  Bytes gathered_layers;  // while layers run: the current one and the prefetched one
  Bytes gathered_first;   // the same where the first layers run
  Bytes gathered_head;    // from the head's forward to its backward
  Bytes reduced_layer;    // a layer's full gradients and what the reduction reads
  Bytes reduced_first;    // the same of the first layers
  Bytes reduced_ends;     // the same of what is reduced last
  Bytes full_gradients;   // summed unsharded over the micro-batches
};

StageBudget stage_budget(const ExpansionContext& context, const BuiltStage& stage);

}  // namespace stepcast
