// SPDX-License-Identifier: Apache-2.0
// Every parameter tensor of a model, and how tensor and expert parallelism may divide it.
//
// The one inventory that gradients, FSDP, the optimizer, the memory model and the parameter counts
// read. Elements are those of the whole model; dividing them is the job of layer/.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stepcast/model/model_spec.hpp"
#include "stepcast/model/trained_weights.hpp"

namespace stepcast {

// A parameter tensor of a model, whole, and how tensor and expert parallelism may divide it.

// Matrices that software may keep as one, stacked by their outputs.
enum class StackedMatrix {
  kNone,
  kQkv,     // queries, keys and values
  kGateUp,  // both inputs of a gated activation
  kKvDown,  // latent keys and values, and the keys that carry positions
};

// What tensor parallelism divides a matrix by.
enum class DividedBy { kOutputs, kInputs };

// The matrix of a parameter tensor, whole; without one both are 0, as of a vector or of a filter of
// each channel.
struct MatrixShape {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  DividedBy divided = DividedBy::kOutputs;
  StackedMatrix stacked = StackedMatrix::kNone;
};

struct ParameterTensor {
  std::string_view name;  // "q", "o", "gate"
  ParameterRole role;
  std::int64_t elements = 0;   // of one instance
  std::int64_t instances = 1;  // experts hold one each, and expert parallelism divides them
  // Tensor parallelism (expert tensor parallelism for experts) divides it in at most this many
  // parts; 1: every rank holds all of it.
  std::int64_t tp_parts = 1;
  bool frozen = false;
  bool adapter = false;  // beside the matrix of a role
  // Its elements, or all but a bias that counts with them.
  MatrixShape matrix{};
  bool packed = false;  // lies in fewer than 16 bits (BaseWeights)

  [[nodiscard]] std::int64_t total() const { return elements * instances; }
};

using ParameterList = std::vector<ParameterTensor>;

// Whether a matrix has one: Bias{mlp.bias}.
enum class Bias : bool { kNone, kOne };

// The gain of a norm over `width` values and its bias, where the model's norms have them; of no
// element where they have neither.
ParameterTensor norm_tensor(const ModelSpec& model, std::string_view name, std::int64_t width);
// A matrix that every tensor-parallel rank holds.
ParameterTensor whole_tensor(std::string_view name, ParameterRole role, std::int64_t inputs,
                             std::int64_t outputs, StackedMatrix stacked = StackedMatrix::kNone);
// A column-parallel matrix: outputs are divided, and so is its bias. Of one input it is a vector.
ParameterTensor column_tensor(std::string_view name, ParameterRole role, std::int64_t inputs,
                              std::int64_t outputs, Bias bias, std::int64_t parts,
                              StackedMatrix stacked = StackedMatrix::kNone);
// The filter of each channel, divided by channels.
ParameterTensor filter_tensor(std::string_view name, ParameterRole role, std::int64_t width,
                              std::int64_t channels, Bias bias, std::int64_t parts);
// A row-parallel one, whose bias every rank holds.
void add_row_tensor(ParameterList& list, std::string_view name, std::string_view bias_name,
                    ParameterRole role, std::int64_t inputs, std::int64_t outputs, Bias bias,
                    std::int64_t parts);

// What mixes positions in a layer of `kind`.
void add_mixer_tensors(ParameterList& list, const ModelSpec& model, LayerKind kind);
// What the blocks of a layer read several residuals with.
void add_residual_tensors(ParameterList& list, const ModelSpec& model, LayerKind kind);
// The same of the head.
void add_head_residual_tensors(ParameterList& list, const ModelSpec& model);

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
