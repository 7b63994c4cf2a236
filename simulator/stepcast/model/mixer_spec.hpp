// SPDX-License-Identifier: Apache-2.0
// What mixes the positions of a sequence in a layer, besides attention (model_spec.hpp).
//
// Gated short convolution (LFM2, arXiv 2511.23404; transformers, modeling_lfm2.py):
//
//   [B, C, x] = W_in h        3H wide
//   y = W_out (C * conv(B * x))        conv: depthwise, causal, `width` positions
//
// Gated delta rule (Gated DeltaNet, arXiv 2412.06464; transformers, modeling_qwen3_next.py), of
// each head with the state S of d_k x d_v, a decay a_t and a step b_t of each token:
//
//   S_t = a_t S_{t-1} + b_t k_t (v_t - (a_t S_{t-1})^T k_t)^T        o_t = S_t^T q_t
//
// q, k and v pass a short convolution and SiLU first; o passes a norm over d_v that a gate as wide
// as v scales. Kimi Delta Attention (arXiv 2510.26692) has a decay of each channel of k, through a
// matrix of rank d_k.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/model/layer_counts.hpp"
#include "stepcast/model/linear_attention.hpp"

namespace stepcast {

// kNone: the layer is its feed-forward alone, without a norm for the mixer that it lacks.
enum class Mixer { kAttention, kConvolution, kLinearAttention, kNone };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<Mixer> = {"attention", "convolution",
                                                                    "linear_attention", "none"};

struct ConvolutionSpec {
  std::int64_t width = 0;  // positions that one result is of
  bool bias = false;       // of the convolution and of both products
  bool operator==(const ConvolutionSpec&) const = default;
};

struct LinearAttentionSpec {
  DeltaRule rule = DeltaRule::kGatedDelta;
  std::int64_t heads = 0;     // of values, and states
  std::int64_t qk_heads = 0;  // of queries and keys, each of which several value heads share
  std::int64_t qk_head_dim = 0;
  std::int64_t v_head_dim = 0;
  std::int64_t convolution_width = 0;
  std::int64_t gate_rank = 0;  // of the matrices that make the gate; 0: one of full rank
  std::int64_t chunk = 64;     // positions whose products run together (flash-linear-attention)

  [[nodiscard]] std::int64_t qk_width() const { return qk_heads * qk_head_dim; }
  [[nodiscard]] std::int64_t v_width() const { return heads * v_head_dim; }
  bool operator==(const LinearAttentionSpec&) const = default;
};

// Which layer has which, and what they are.
struct MixerSpec {
  // One of each layer; a shorter list begins again behind its end. Empty: attention in all.
  std::vector<Mixer> pattern;
  std::optional<ConvolutionSpec> convolution;
  std::optional<LinearAttentionSpec> linear_attention;

  [[nodiscard]] Mixer of_layer(std::int64_t index) const {
    return pattern.empty() ? Mixer::kAttention
                           : pattern[static_cast<std::size_t>(index) % pattern.size()];
  }
  [[nodiscard]] bool has(Mixer mixer) const;
  bool operator==(const MixerSpec&) const = default;
};

// The keys 'mixers', 'convolution' and 'linear_attention' of a model with `layers` layers.
MixerSpec read_mixers(MappingReader& reader, std::int64_t layers);
void write_mixers(const MixerSpec& mixers, ConfigWriter& writer);

}  // namespace stepcast
