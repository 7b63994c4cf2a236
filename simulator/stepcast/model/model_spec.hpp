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
#include "stepcast/model/layer_counts.hpp"
#include "stepcast/model/mixer_spec.hpp"

namespace stepcast {

// kGqa with G = A is MHA, with G = 1 is MQA. kSharedKv: one head is key and value at once,
// positions in part of it, and the result goes through groups of low rank (DeepSeek-V4).
enum class AttentionKind { kGqa, kMla, kSharedKv };
enum class QkNorm { kNone, kHead, kFull };  // a norm over d of each head, or over all heads at once
enum class NormKind { kRmsNorm, kLayerNorm };
enum class Positions { kRope, kLearned, kAlibi, kNone };
enum class RouterScore { kSoftmax, kSigmoid, kSqrtSoftplus };

// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434).
struct MlaSpec {
  std::int64_t q_lora_rank = 0;  // 0: queries come straight from the hidden state
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
};

// Which keys a query attends to, chosen by scores of their own (DeepSeek Sparse Attention,
// DeepSeek-V3.2-Exp): I(t, s) = sum over index heads of w(t, head) ReLU(q(t, head) . k(s)), and the
// `chosen` largest of each query.
struct IndexerSpec {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t chosen = 0;
  // Whether a loss of its own trains it, on inputs that the model's loss does not reach.
  bool trained = true;
  bool operator==(const IndexerSpec&) const = default;
};

// Keys that each stand for `ratio` positions: a weighted sum of them (DeepSeek-V4). A query attends
// to them beside the window of its layer; where the ratio is `indexed_ratio` to those that the
// indexer chooses, else to all. Those that it chooses among overlap: each is of twice as many.
struct CompressionSpec {
  // One of each layer, 0 for none; multi-token prediction may follow. Empty: none anywhere.
  std::vector<std::int64_t> ratios;
  std::int64_t indexed_ratio = 0;
  bool operator==(const CompressionSpec&) const = default;
};

struct AttentionSpec {
  AttentionKind kind = AttentionKind::kGqa;
  // With kind kGqa layers may differ in these (OpenELM, arXiv 2404.14619; Step-3.5-Flash).
  LayerCounts heads;
  LayerCounts kv_heads;
  LayerCounts qk_head_dim;  // D_qk; for MLA nope + rope
  LayerCounts v_head_dim;   // D_v
  QkNorm qk_norm = QkNorm::kNone;
  bool qkv_bias = false;
  bool output_bias = false;
  bool output_gate = false;               // a sigmoid gate of A d_v on the output (Qwen3-Next)
  std::int64_t rope_head_dim = 0;         // of a head that positions turn; 0: all of it
  bool sinks = false;                     // one learned logit a head (GPT-OSS)
  LayerCounts sliding_window;             // 0: full attention
  std::int64_t full_attention_every = 0;  // with a window: every n-th layer is full; 0: none is
  MlaSpec mla;                            // used unless kind is kGqa
  std::int64_t output_groups = 1;         // of heads, each with a matrix of its own ...
  std::int64_t output_lora_rank = 0;      // ... of this rank before the one of all; 0: none
  std::optional<IndexerSpec> indexer;
  CompressionSpec compression;
};

struct MlpSpec {
  LayerCounts ffn_hidden;     // 0: the layer has no feed-forward (Llama-Nemotron, arXiv 2505.00949)
  bool gated = true;          // SwiGLU-like: 3 matrices instead of 2
  bool soft_clamped = false;  // its inputs are drawn towards a limit by a tanh first (Kimi K3)
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
  // Experts read and write a narrower tensor, which two matrices a layer and a norm lie around; 0:
  // they read the hidden state (Kimi K3).
  std::int64_t latent_hidden = 0;
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
  bool norm_weight = true;  // false: norms without a gain (OLMo, arXiv 2402.00838)
  bool norm_bias = false;
  bool embedding_norm = false;       // a norm behind the embedding (BLOOM, arXiv 2211.05100)
  std::int64_t norms_per_layer = 2;  // 4 with norms before and after each block
  // Attention and feed-forward read the layer's input, through one norm where norms_per_layer is 1
  // (GPT-J) or through one each (GPT-NeoX).
  bool parallel_blocks = false;
  bool tied_embeddings = false;
  bool head_bias = false;
  AttentionSpec attention;
  MixerSpec mixers;
  MlpSpec mlp;  // of the dense layers
  std::optional<MoeSpec> moe;
  std::int64_t mtp_layers = 0;  // multi-token prediction modules (DeepSeek-V3, section 2.2)
  // Residual streams that blocks read from and add to through weights of each token, doubly
  // stochastic among themselves (manifold-constrained hyper-connections, arXiv 2512.24880).
  std::int64_t residual_streams = 1;
  // Every n-th layer's input is kept, and each block reads a weighted sum of those kept before and
  // of the stream (attention residuals of Kimi K3); 0: none.
  std::int64_t residual_block = 0;
  PublishedCounts published;
};

// The heads of one layer's attention.
struct AttentionHeads {
  std::int64_t query = 0;
  std::int64_t kv = 0;
  std::int64_t qk_dim = 0;
  std::int64_t v_dim = 0;
  auto operator<=>(const AttentionHeads&) const = default;
};

// What distinguishes one layer of a model from another.
struct LayerKind {
  bool moe = false;
  std::int64_t window = 0;  // 0: full attention
  // Whether backward goes on to what lies before the layer (trained_weights.hpp).
  bool input_gradient = true;
  Mixer mixer = Mixer::kAttention;
  std::int64_t compression = 0;  // positions of a compressed key; 0: none
  std::int64_t kept_residuals =
      0;  // inputs of earlier layers that its blocks read beside the stream
  bool opens_residual_block = false;  // its own input is kept as well
  std::int64_t widths_of = 0;         // the first layer that has the same heads and feed-forward
  auto operator<=>(const LayerKind&) const = default;
};

// The kind of layer `index`, 0 <= index < layers.
LayerKind layer_kind(const ModelSpec& model, std::int64_t index);
// How many kinds of layers there are, counted to one more than `most`.
std::size_t layer_kinds(const ModelSpec& model, std::size_t most);
// The kind of the layer inside a multi-token prediction module: as the model's last layer, without
// what it reads of earlier ones.
LayerKind mtp_layer_kind(const ModelSpec& model);

// The heads of a layer's attention, all zero if it has none, and the width of its feed-forward
// without experts.
AttentionHeads heads_of(const ModelSpec& model, LayerKind kind);
std::int64_t ffn_hidden_of(const ModelSpec& model, LayerKind kind);
// Whether attention and feed-forward of a layer read the output of one norm.
bool shares_norm(const ModelSpec& model);
// Whether the layer has a feed-forward, of experts or without.
bool feeds_forward(const ModelSpec& model, LayerKind kind);
// The heads of its attention, one of each kind where layers differ.
std::vector<AttentionHeads> attention_heads(const ModelSpec& model);
// Whether layers differ in heads, windows or the width of the feed-forward, beyond every n-th of
// full attention.
bool layers_differ(const ModelSpec& model);

// Values of a token that routed experts read and write.
std::int64_t routed_width(const ModelSpec& model);
// Values of a token that a stage of a pipeline sends to the next: all residual streams, or the
// stream with as many kept ones beside it as the model has in the end, for which places are held
// from the start (Primus, kimi_k3_block.py).
std::int64_t residual_width(const ModelSpec& model);
// Whether the layer attends to keys that an indexer chooses.
bool chooses_keys(const ModelSpec& model, LayerKind kind);

// Reads a model from a mapping; problems go to the reader's diagnostics.
ModelSpec read_model(MappingReader& reader);
// Reads a model file. Throws ConfigError with all of its problems.
ModelSpec load_model(const std::filesystem::path& file);
// The model as a file that load_model reads back to the same model.
std::string to_yaml(const ModelSpec& model);

}  // namespace stepcast
