// SPDX-License-Identifier: Apache-2.0
// A transformer as its paper describes it: no parallelism, no hardware, no software.
//
// Symbols in comments: H hidden size, L layers, V vocabulary, A query heads, G key/value heads,
// d head dimension, F width of the feed-forward block, E experts, k experts a token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

enum class AttentionKind { kGqa, kMla };    // kGqa with G = A is MHA, with G = 1 is MQA
enum class QkNorm { kNone, kHead, kFull };  // a norm over d of each head, or over all heads at once
enum class NormKind { kRmsNorm, kLayerNorm };
enum class Positions { kRope, kLearned, kAlibi, kNone };
enum class RouterScore { kSoftmax, kSigmoid };

// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434).
struct MlaSpec {
  std::int64_t q_lora_rank = 0;  // 0: queries come straight from the hidden state
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
};

struct AttentionSpec {
  AttentionKind kind = AttentionKind::kGqa;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t qk_head_dim = 0;  // D_qk; for MLA nope + rope
  std::int64_t v_head_dim = 0;   // D_v
  QkNorm qk_norm = QkNorm::kNone;
  bool qkv_bias = false;
  bool output_bias = false;
  bool output_gate = false;               // a sigmoid gate of A d_v on the output (Qwen3-Next)
  bool sinks = false;                     // one learned logit a head (GPT-OSS)
  std::int64_t sliding_window = 0;        // 0: full attention everywhere
  std::int64_t full_attention_every = 0;  // with a window: every n-th layer is full; 0: none is
  MlaSpec mla;                            // used if kind is kMla
};

struct MlpSpec {
  std::int64_t ffn_hidden = 0;
  bool gated = true;  // SwiGLU-like: 3 matrices instead of 2
  bool bias = false;
};

struct RouterSpec {
  RouterScore score = RouterScore::kSoftmax;
  std::int64_t groups = 1;       // node-limited routing: experts fall in groups ...
  std::int64_t topk_groups = 1;  // ... of which a token uses this many
  bool expert_bias = false;      // a bias an expert that balances load without a loss
  bool linear_bias = false;      // the router's matrix has a bias
};

struct MoeSpec {
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_ffn_hidden = 0;
  std::int64_t shared_expert_ffn_hidden = 0;  // of all shared experts together
  bool shared_expert_gate = false;            // a sigmoid gate on the shared expert (Qwen2-MoE)
  bool expert_bias = false;
  bool clamped_activation = false;  // its inputs are cut at a limit first (GPT-OSS, swiglu_limit)
  std::int64_t first_dense_layers = 0;
  std::int64_t every = 1;  // of the layers after those, every n-th has experts
  RouterSpec router;
};

struct PublishedCounts {
  std::string total;  // as published: "671 B", or a whole number
  std::string active;
  std::string source;
};

struct ModelSpec {
  std::string name;
  std::string title;
  std::string family;
  std::string source;
  std::string note;

  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t vocabulary = 0;
  Positions positions = Positions::kRope;
  std::int64_t max_positions = 0;  // rows of the learned table
  NormKind norm = NormKind::kRmsNorm;
  bool norm_bias = false;
  std::int64_t norms_per_layer = 2;  // 4 with norms before and after each block
  bool parallel_blocks = false;      // attention and feed-forward read the same norm
  bool tied_embeddings = false;
  bool head_bias = false;
  AttentionSpec attention;
  MlpSpec mlp;  // of the dense layers
  std::optional<MoeSpec> moe;
  std::int64_t mtp_layers = 0;  // multi-token prediction modules (DeepSeek-V3, section 2.2)
  PublishedCounts published;
};

// What distinguishes one layer of a model from another.
struct LayerKind {
  bool moe = false;
  std::int64_t window = 0;  // 0: full attention
  // Whether backward goes on to what lies before the layer (trained_weights.hpp).
  bool input_gradient = true;
  auto operator<=>(const LayerKind&) const = default;
};

// The kind of layer `index`, 0 <= index < layers.
LayerKind layer_kind(const ModelSpec& model, std::int64_t index);
// The kind of the layer inside a multi-token prediction module: as the model's last layer.
LayerKind mtp_layer_kind(const ModelSpec& model);

// Reads a model from a mapping; problems go to the reader's diagnostics.
ModelSpec read_model(MappingReader& reader);
// Reads a model file. Throws ConfigError with all of its problems.
ModelSpec load_model(const std::filesystem::path& file);
// The model as a file that load_model reads back to the same model.
std::string to_yaml(const ModelSpec& model);

}  // namespace stepcast
