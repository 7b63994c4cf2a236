// SPDX-License-Identifier: Apache-2.0
// Which parameters a step trains, and the low-rank adapters that it adds to frozen ones.
//
// LoRA (Hu et al., arXiv 2106.09685) leaves a matrix W as it is and trains two thin ones beside it:
//
//   y = W x + (alpha / r) B A x        A is r x inputs, B is outputs x r
//
// A frozen matrix has no weight gradient, no optimizer state, and backward does not need its input;
// its input gradient runs where something that is trained lies before it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// The parts that parameters belong to. All of the model's can be frozen; adapters never are.
enum class ParameterRole { kEmbedding, kHead, kAttention, kMlp, kExpert, kRouter, kNorm };
template <>
inline constexpr std::array<std::string_view, 7> kNamesOf<ParameterRole> = {
    "embedding", "head", "attention", "mlp", "experts", "router", "norms"};

// The matrices that an adapter can stand beside. One adapter for q, k and v together, or for gate
// and up, is what frameworks give a fused product.
enum class LoraTarget { kQkv, kQ, kK, kV, kO, kGateUp, kGate, kUp, kDown };
template <>
inline constexpr std::array<std::string_view, 9> kNamesOf<LoraTarget> = {
    "qkv", "q", "k", "v", "o", "gate_up", "gate", "up", "down"};

// In which format the frozen matrices of layers lie under adapters: as others do, or in 4 bits with
// a scale for 64 values (NF4 of QLoRA, arXiv 2305.14314, as bitsandbytes has it), perhaps with the
// scales themselves in 8 bits (double quantisation). Embeddings, norms, routed experts and the head
// stay as they are; each product converts its matrix to 16 bits first, again in backward.
enum class BaseWeights { kAsOthers, kNf4, kNf4Double };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<BaseWeights> = {"16bit", "nf4",
                                                                          "nf4_double"};
// Bytes of a value with its share of scales: 4 bits and 4 bytes for 64; or 1 byte for 64, and 4
// bytes for 256 of those. None for what is not quantised.
std::optional<Bytes> quantised_bytes(BaseWeights base);

struct LoraSpec {
  std::int64_t rank = 0;
  std::vector<LoraTarget> targets;  // each once, in the order of the enumeration
  bool dropout = false;             // of what an adapter reads
  BaseWeights base = BaseWeights::kAsOthers;
  bool operator==(const LoraSpec&) const = default;
};

struct TrainedWeights {
  std::optional<LoraSpec> lora;
  // Each once, in the order of the enumeration. Unless it is given, all of the model beside
  // adapters, and else nothing.
  std::optional<std::vector<ParameterRole>> frozen;

  [[nodiscard]] bool trains(ParameterRole role) const;
  [[nodiscard]] bool adapts(LoraTarget target) const;
  // Of the frozen matrices of layers, where they are quantised.
  [[nodiscard]] std::optional<Bytes> quantised_base() const {
    return lora ? quantised_bytes(lora->base) : std::nullopt;
  }
  // Whether every parameter of the model is trained and nothing is added.
  [[nodiscard]] bool whole_model() const { return !lora && (!frozen || frozen->empty()); }
  bool operator==(const TrainedWeights&) const = default;
};

// A matrix with an adapter, whole: what the adapter reads and makes, and in how many parts tensor
// parallelism can divide either.
struct AdaptedMatrix {
  LoraTarget target = LoraTarget::kO;
  ParameterRole role = ParameterRole::kAttention;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t input_parts = 1;
  std::int64_t output_parts = 1;
};
// Those of a layer, in the order of the targets. None of routed experts.
std::vector<AdaptedMatrix> adapted_matrices(const ModelSpec& model, LayerKind kind,
                                            const TrainedWeights& weights);

// The kind of layer `index` of a model of which `weights` are trained: without gradients of its
// input where nothing before it is trained.
LayerKind layer_kind(const ModelSpec& model, const TrainedWeights& weights, std::int64_t index);
// Whether a layer of this kind has anything that is trained.
bool trains_layer(const ModelSpec& model, const TrainedWeights& weights, LayerKind kind);
// Whether the output of the last layer needs a gradient.
bool trains_before_head(const ModelSpec& model, const TrainedWeights& weights);

}  // namespace stepcast
