// SPDX-License-Identifier: Apache-2.0
// The experts that the keys of a Hugging Face config.json describe (hf_config.hpp).
#pragma once

#include <string_view>
#include <vector>

#include "frameworks/hf_fields.hpp"
#include "stepcast/graph/model_spec.hpp"

namespace stepcast {

// What the class of a type in transformers takes absent keys for.
struct RouterDefaults {
  RouterScore score = RouterScore::kSoftmax;
  std::string_view topk_method = "greedy";
  std::int64_t groups = 1;
  std::int64_t topk_groups = 1;
};

// The number of experts under `count_key` or another of its spellings, their width under
// `width_key`.
MoeSpec read_experts(MappingReader& fields, std::string_view count_key, std::string_view width_key);
// `n_shared_experts` of the same width.
void read_shared_experts(MappingReader& fields, MoeSpec& moe);
// Puts `moe` on the layers of `with_experts`, if a model file can say so.
void place_experts(MappingReader& fields, std::string_view key,
                   const std::vector<bool>& with_experts, MoeSpec moe, ModelSpec& model);
// On every `decoder_sparse_step`-th layer but for those of `mlp_only_layers`.
void place_qwen_experts(MappingReader& fields, const MoeSpec& moe, ModelSpec& model);
// After the first `first_k_dense_replace` layers, on every `moe_layer_freq`-th.
void place_deepseek_experts(MappingReader& fields, const MoeSpec& moe, ModelSpec& model);
void read_groups(MappingReader& fields, const RouterDefaults& defaults, MoeSpec& moe);
void read_deepseek_router(MappingReader& fields, const RouterDefaults& defaults, MoeSpec& moe);

}  // namespace stepcast
