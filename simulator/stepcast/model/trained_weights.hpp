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

// In which format the frozen matrices of attention and feed-forward lie under adapters: as others
// do, or in fewer bits, as bitsandbytes has them (95f9af30). Embeddings, norms, router, routed
// experts and the head stay as they are.
//
//   int8         a byte, and an fp32 scale a row, which is left out. Forward multiplies rows of 8
//                bits; backward makes 16 bits of the matrix first (autograd/_functions.py,
//                MatMul8bitLt)
//   nf4          4 bits and an fp32 scale for 64; 16 bits are made of it before each product, in
//                forward, in what is recomputed and in backward (functional.py, quantize_4bit)
//   nf4_double   the same with scales of 8 bits and an fp32 for 256 of those: double quantisation
//                (QLoRA, arXiv 2305.14314, section 3), 0.127 bits a value in place of 0.5
enum class BaseWeights { kAsOthers, kInt8, kNf4, kNf4Double };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<BaseWeights> = {"16bit", "int8", "nf4",
                                                                          "nf4_double"};
// Bytes of a value with its share of the scales of blocks. None for what is not quantised.
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
  // Of the frozen matrices of attention and feed-forward, where they are quantised.
  [[nodiscard]] std::optional<Bytes> quantised_base() const {
    return lora ? quantised_bytes(lora->base) : std::nullopt;
  }
  // In which the frozen matrices of a part lie.
  [[nodiscard]] BaseWeights base_weights(ParameterRole role) const;
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
