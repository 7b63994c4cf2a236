// SPDX-License-Identifier: Apache-2.0
// The parameters of what mixes positions, and of several residuals (parameter_inventory.hpp).
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast {
namespace {

constexpr ParameterRole kMixerRole = ParameterRole::kAttention;

void add_qk_norm(ParameterList& list, const ModelSpec& model, const AttentionHeads& heads) {
  const AttentionSpec& a = model.attention;
  if (a.qk_norm == QkNorm::kHead) {
    list.push_back(norm_tensor(model, "q_norm", heads.qk_dim));
    list.push_back(norm_tensor(model, "k_norm", heads.qk_dim));
  } else if (a.qk_norm == QkNorm::kFull) {
    list.push_back(norm_tensor(model, "q_norm", heads.query * heads.qk_dim));
    list.push_back(norm_tensor(model, "k_norm", heads.kv * heads.qk_dim));
  }
}

void add_gqa(ParameterList& list, const ModelSpec& model, const AttentionHeads& heads) {
  const AttentionSpec& a = model.attention;
  const std::int64_t queries = heads.query * heads.qk_dim;
  constexpr auto kStack = StackedMatrix::kQkv;
  list.push_back(
      column_tensor("q", kMixerRole, model.hidden, queries, Bias{a.qkv_bias}, heads.query, kStack));
  list.push_back(column_tensor("k", kMixerRole, model.hidden, heads.kv * heads.qk_dim,
                               Bias{a.qkv_bias}, heads.kv, kStack));
  list.push_back(column_tensor("v", kMixerRole, model.hidden, heads.kv * heads.v_dim,
                               Bias{a.qkv_bias}, heads.kv, kStack));
}

void add_mla(ParameterList& list, const ModelSpec& model, const AttentionHeads& heads) {
  const MlaSpec& m = model.attention.mla;
  const std::int64_t queries = heads.query * heads.qk_dim;
  if (m.q_lora_rank > 0) {
    list.push_back(whole_tensor("q_down", kMixerRole, model.hidden, m.q_lora_rank));
    list.push_back(norm_tensor(model, "q_lora_norm", m.q_lora_rank));
    list.push_back(
        column_tensor("q_up", kMixerRole, m.q_lora_rank, queries, Bias::kNone, heads.query));
  } else {
    list.push_back(column_tensor("q", kMixerRole, model.hidden, queries, Bias::kNone, heads.query));
  }
  constexpr auto kStack = StackedMatrix::kKvDown;
  list.push_back(whole_tensor("kv_down", kMixerRole, model.hidden, m.kv_lora_rank, kStack));
  list.push_back(whole_tensor("k_rope", kMixerRole, model.hidden, m.qk_rope_head_dim, kStack));
  list.push_back(norm_tensor(model, "kv_lora_norm", m.kv_lora_rank));
  list.push_back(column_tensor("kv_up", kMixerRole, m.kv_lora_rank,
                               heads.query * (m.qk_nope_head_dim + heads.v_dim), Bias::kNone,
                               heads.query));
}

// DeepSeek-V4, inference/model.py of its checkpoint: wq_a, q_norm, wq_b, wkv, kv_norm.
void add_shared_kv(ParameterList& list, const ModelSpec& model, const AttentionHeads& heads) {
  const std::int64_t rank = model.attention.mla.q_lora_rank;
  list.push_back(whole_tensor("q_down", kMixerRole, model.hidden, rank));
  list.push_back(norm_tensor(model, "q_lora_norm", rank));
  list.push_back(column_tensor("q_up", kMixerRole, rank, heads.query * heads.qk_dim, Bias::kNone,
                               heads.query));
  list.push_back(whole_tensor("kv", kMixerRole, model.hidden, heads.qk_dim));
  list.push_back(norm_tensor(model, "kv_norm", heads.qk_dim));
}

// Values and scores of a window's positions, a table of scores by position and the norm of what
// they make (DeepSeek-V4, Compressor). Windows that overlap have both twice.
void add_compressor(ParameterList& list, const ModelSpec& model, std::int64_t ratio,
                    std::int64_t width, bool overlap) {
  const std::int64_t channels = (overlap ? 2 : 1) * width;
  list.push_back(whole_tensor("compressor", kMixerRole, model.hidden, 2 * channels));
  list.push_back({"compressor_positions", kMixerRole, ratio * channels});
  list.push_back(norm_tensor(model, "compressor_norm", width));
}

// Queries come of the latent ones, keys of the hidden state behind a norm with a bias, or of keys
// compressed as those of the attention are (DeepSeek-V3.2-Exp and DeepSeek-V4, Indexer).
void add_indexer(ParameterList& list, const ModelSpec& model, std::int64_t ratio) {
  const IndexerSpec& indexer = *model.attention.indexer;
  const std::int64_t rank = model.attention.mla.q_lora_rank;
  list.push_back(whole_tensor("index_q", kMixerRole, rank > 0 ? rank : model.hidden,
                              indexer.heads * indexer.head_dim));
  list.push_back(whole_tensor("index_weights", kMixerRole, model.hidden, indexer.heads));
  if (ratio > 0) {
    add_compressor(list, model, ratio, indexer.head_dim, true);
  } else {
    list.push_back(whole_tensor("index_k", kMixerRole, model.hidden, indexer.head_dim));
    list.push_back({"index_norm", ParameterRole::kNorm, 2 * indexer.head_dim});
  }
}

// Of the indexer those are trained that a loss of its own reaches.
void add_choice_of_keys(ParameterList& list, const ModelSpec& model, LayerKind kind) {
  if (kind.compression > 0) {
    const bool overlap = kind.compression == model.attention.compression.indexed_ratio;
    add_compressor(list, model, kind.compression, heads_of(model, kind).qk_dim, overlap);
  }
  if (chooses_keys(model, kind)) {
    add_indexer(list, model, kind.compression);
  }
}

void add_attention(ParameterList& list, const ModelSpec& model, LayerKind kind) {
  const AttentionSpec& a = model.attention;
  const AttentionHeads heads = heads_of(model, kind);
  switch (a.kind) {
    case AttentionKind::kGqa:
      add_gqa(list, model, heads);
      break;
    case AttentionKind::kMla:
      add_mla(list, model, heads);
      break;
    case AttentionKind::kSharedKv:
      add_shared_kv(list, model, heads);
      break;
  }
  add_qk_norm(list, model, heads);
  if (a.output_gate) {
    list.push_back(column_tensor("output_gate", kMixerRole, model.hidden, heads.query * heads.v_dim,
                                 Bias::kNone, heads.query));
  }
  add_choice_of_keys(list, model, kind);
  if (a.sinks) {
    list.push_back({"sinks", ParameterRole::kAttention, heads.query, 1, heads.query});
  }
  if (a.output_lora_rank > 0) {
    const std::int64_t rank = a.output_lora_rank;
    list.push_back(column_tensor("o_down", kMixerRole, heads.query / a.output_groups * heads.v_dim,
                                 a.output_groups * rank, Bias::kNone, a.output_groups));
    return add_row_tensor(list, "o", {}, kMixerRole, a.output_groups * rank, model.hidden,
                          Bias::kNone, a.output_groups);
  }
  add_row_tensor(list, "o", "o_bias", ParameterRole::kAttention, heads.query * heads.v_dim,
                 model.hidden, Bias{a.output_bias}, heads.query);
}

// Products of the hidden state with 3 H outputs and back, and the filter of each channel.
void add_convolution(ParameterList& list, const ModelSpec& model) {
  const ConvolutionSpec& convolution = *model.mixers.convolution;
  const std::int64_t hidden = model.hidden;
  list.push_back(column_tensor("convolution_in", kMixerRole, hidden, 3 * hidden,
                               Bias{convolution.bias}, hidden));
  list.push_back(filter_tensor("convolution", kMixerRole, convolution.width, hidden,
                               Bias{convolution.bias}, hidden));
  add_row_tensor(list, "convolution_out", "convolution_out_bias", kMixerRole, hidden, hidden,
                 Bias{convolution.bias}, hidden);
}

// transformers, modeling_qwen3_next.py: in_proj_qkvz, in_proj_ba, conv1d, dt_bias, A_log, norm and
// out_proj. Of Kimi Delta Attention (Primus, kimi_delta_attention.py) the decays come through rank
// d_k, with a bias of each channel, and the gate perhaps through a rank.
void add_linear_attention(ParameterList& list, const ModelSpec& model) {
  const LinearAttentionSpec& linear = *model.mixers.linear_attention;
  const bool kimi = linear.rule == DeltaRule::kKimiDelta;
  const std::int64_t qk = linear.qk_width();
  const std::int64_t v = linear.v_width();
  const std::int64_t parts = linear.qk_heads;
  const auto columns = [&](std::string_view name, std::int64_t inputs, std::int64_t outputs) {
    list.push_back(column_tensor(name, kMixerRole, inputs, outputs, Bias::kNone, parts));
  };
  columns("linear_qkv", model.hidden, 2 * qk + v);
  if (linear.gate_rank > 0) {
    list.push_back(whole_tensor("linear_gate_down", kMixerRole, model.hidden, linear.gate_rank));
  }
  columns("linear_gate", linear.gate_rank > 0 ? linear.gate_rank : model.hidden, v);
  columns("linear_step", model.hidden, linear.heads);
  if (kimi) {
    list.push_back(whole_tensor("linear_decay_down", kMixerRole, model.hidden, linear.qk_head_dim));
  }
  columns("linear_decay", kimi ? linear.qk_head_dim : model.hidden, kimi ? qk : linear.heads);
  columns("linear_decay_bias", 1, kimi ? qk : linear.heads);
  columns("linear_decay_rate", 1, linear.heads);
  list.push_back(filter_tensor("linear_convolution", kMixerRole, linear.convolution_width,
                               2 * qk + v, Bias::kNone, parts));
  list.push_back({"linear_norm", ParameterRole::kNorm, linear.v_head_dim});
  add_row_tensor(list, "linear_out", {}, kMixerRole, v, model.hidden, Bias::kNone, parts);
}

// One reading of the streams: a weight of each for what the block reads and one for what it adds,
// and those of each with each; a bias of all and a scale of each of the three.
constexpr std::int64_t kStreamScales = 3;
std::int64_t stream_elements(const ModelSpec& model) {
  const std::int64_t n = model.residual_streams;
  const std::int64_t weights = (2 + n) * n;
  return weights * n * model.hidden + weights + kStreamScales;
}

}  // namespace

ParameterTensor norm_tensor(const ModelSpec& model, std::string_view name, std::int64_t width) {
  return {name, ParameterRole::kNorm,
          width * ((model.norm_weight ? 1 : 0) + (model.norm_bias ? 1 : 0))};
}

ParameterTensor whole_tensor(std::string_view name, ParameterRole role, std::int64_t inputs,
                             std::int64_t outputs, StackedMatrix stacked) {
  return column_tensor(name, role, inputs, outputs, Bias::kNone, 1, stacked);
}

ParameterTensor column_tensor(std::string_view name, ParameterRole role, std::int64_t inputs,
                              std::int64_t outputs, Bias bias, std::int64_t parts,
                              StackedMatrix stacked) {
  ParameterTensor tensor = filter_tensor(name, role, inputs, outputs, bias, parts);
  if (inputs > 1) {
    tensor.matrix = {inputs, outputs, DividedBy::kOutputs, stacked};
  }
  return tensor;
}

ParameterTensor filter_tensor(std::string_view name, ParameterRole role, std::int64_t width,
                              std::int64_t channels, Bias bias, std::int64_t parts) {
  return {name, role, width * channels + (bias == Bias::kOne ? channels : 0), 1, parts};
}

void add_row_tensor(ParameterList& list, std::string_view name, std::string_view bias_name,
                    ParameterRole role, std::int64_t inputs, std::int64_t outputs, Bias bias,
                    std::int64_t parts) {
  list.push_back({name, role, inputs * outputs, 1, parts});
  list.back().matrix = {inputs, outputs, DividedBy::kInputs};
  if (bias == Bias::kOne) {
    list.push_back({bias_name, role, outputs});
  }
}

void add_mixer_tensors(ParameterList& list, const ModelSpec& model, LayerKind kind) {
  switch (kind.mixer) {
    case Mixer::kAttention:
      return add_attention(list, model, kind);
    case Mixer::kConvolution:
      return add_convolution(list, model);
    case Mixer::kLinearAttention:
      return add_linear_attention(list, model);
    case Mixer::kNone:
      return;
  }
}

// Attention residuals score what they sum with a vector, behind a norm; the mixer of a layer that
// has nothing kept before it is left out (Primus, kimi_k3/attention_residual.py).
void add_residual_tensors(ParameterList& list, const ModelSpec& model, LayerKind kind) {
  constexpr ParameterRole kOfResiduals = ParameterRole::kNorm;
  if (model.residual_streams > 1) {
    list.push_back({"attention_streams", kOfResiduals, stream_elements(model)});
    list.push_back({"mlp_streams", kOfResiduals, stream_elements(model)});
  }
  if (kind.kept_residuals > 0) {
    list.push_back({"attention_residuals", kOfResiduals, 2 * model.hidden});
  }
  if (kind.kept_residuals > 0 || kind.opens_residual_block) {
    list.push_back({"mlp_residuals", kOfResiduals, 2 * model.hidden});
  }
}

void add_head_residual_tensors(ParameterList& list, const ModelSpec& model) {
  const std::int64_t n = model.residual_streams;
  if (n > 1) {
    list.push_back({"head_streams", ParameterRole::kNorm, n * n * model.hidden + n + 1});
  }
  if (model.residual_block > 0) {
    list.push_back({"head_residuals", ParameterRole::kNorm, 2 * model.hidden});
  }
}

}  // namespace stepcast
