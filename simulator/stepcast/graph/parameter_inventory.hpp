// SPDX-License-Identifier: Apache-2.0
// Every parameter tensor of a model, and how tensor and expert parallelism may divide it.
//
// The one inventory that gradients, FSDP, the optimizer, the memory model and the parameter counts
// read. Elements are those of the whole model; dividing them is the job of layer/.
#pragma once

#include <cstdint>

#include "stepcast/graph/model_spec.hpp"
#include "stepcast/graph/parameter_tensor.hpp"
#include "stepcast/graph/trained_weights.hpp"

namespace stepcast {

// Those of the model, and the adapters of what `weights` train.
//
// Tensor parallelism divides an adapter as Megatron Bridge does (ParallelLinearAdapter,
// megatron/bridge/peft/utils.py): B by its outputs; A by the rank beside a column-parallel matrix,
// and by its inputs beside a row-parallel one.
ParameterList layer_parameters(const ModelSpec& model, LayerKind kind,
                               const TrainedWeights& weights = {});
ParameterList embedding_parameters(const ModelSpec& model, const TrainedWeights& weights = {});
// The final norm and the output matrix; a tied matrix counts with the embedding.
ParameterList head_parameters(const ModelSpec& model, const TrainedWeights& weights = {});
// What a multi-token prediction module adds to one layer: two norms and the 2H x H projection.
ParameterList mtp_extra_parameters(const ModelSpec& model, const TrainedWeights& weights = {});

std::int64_t total_elements(const ParameterList& parameters);

struct ParameterCounts {
  std::int64_t total = 0;      // without multi-token prediction modules, as published counts are
  std::int64_t active = 0;     // that one token uses: k of E experts
  std::int64_t embedding = 0;  // token and position tables
  std::int64_t head = 0;       // the output matrix, 0 if tied
  std::int64_t mtp = 0;        // of the multi-token prediction modules
};

ParameterCounts count_parameters(const ModelSpec& model);

// Of what `weights` train of the model, adapters included; multi-token prediction left out.
struct TrainedCounts {
  std::int64_t total = 0;
  std::int64_t active = 0;    // that one token uses, without lookups in the embedding
  std::int64_t adapters = 0;  // of them
};
TrainedCounts count_trained(const ModelSpec& model, const TrainedWeights& weights);

}  // namespace stepcast
