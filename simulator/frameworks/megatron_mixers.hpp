// SPDX-License-Identifier: Apache-2.0
// Layers that mix positions otherwise than by attention, in Megatron's fields and Primus': which
// they are and how wide.
//
//   experimental_attention_variant gated_delta_net     with linear_attention_freq and linear_*
//   experimental_attention_variant dsa                 with dsa_indexer_*
//   lfm_layer_types [conv, conv, full_attention]       with conv_L_cache; Primus' alone
//   model_type deepseek_v4                             with compress_ratios, index_*, o_groups
//   model_type kimi_k3                                 with linear_*, attn_res_block_size
//
// Sources: Megatron-LM, core/transformer/transformer_config.py (linear_attention_freq: every n-th
// layer has attention, or a list with 1 for the others) and core/ssm/gated_delta_net.py;
// AMD-AGI/Primus, primus/configs/models/megatron/{lfm_base,deepseek_v4_base,kimi_k3_base}.yaml.
#pragma once

#include <cstdint>
#include <string_view>

#include "frameworks/megatron_core.hpp"

namespace stepcast {

// What model_type says of the layers.
enum class MegatronLayers { kUsual, kDeepseekV4, kKimiK3 };
MegatronLayers megatron_layers(FrameworkReader& settings);

void read_megatron_mixers(const MegatronFields& fields, ModelSpec& model);
// The attention of DeepSeek-V4, in place of what other fields say; what no field says is as in
// `model`, where that has such attention.
void read_megatron_shared_kv(const MegatronFields& fields, ModelSpec& model);

RouterScore megatron_score(std::string_view name);
// Of what routed experts read, 0 for the hidden state itself; `named` where nothing says it.
std::int64_t megatron_latent_width(FrameworkReader& settings, std::int64_t named);

}  // namespace stepcast
