// SPDX-License-Identifier: Apache-2.0
// The blocks of a layer that the keys of a Hugging Face config.json describe (hf_config.hpp):
// attention and experts.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// What an optional count means if its key is not there, and if its value is null.
struct CountFallback {
  std::int64_t absent = 0;
  std::int64_t null = 0;
};

std::int64_t count_of(MappingReader& fields, std::string_view key, CountFallback fallback,
                      Range<std::int64_t> range);
// A key that must be there but may be null, which means none.
std::int64_t count_or_null(MappingReader& fields, std::string_view key, Range<std::int64_t> range);
// A key with several spellings, the first of which is the usual one, that must not contradict each
// other.
std::int64_t count_of_spellings(MappingReader& fields,
                                std::initializer_list<std::string_view> spellings,
                                Range<std::int64_t> range);

// Which layers have the window if 'layer_types' does not say.
enum class WindowRule {
  kAll,
  kFromMaxWindowLayers,  // the layers from number 'max_window_layers' on
  kEverySecond,          // the first, the third, ...
  kPattern,              // all but every 'sliding_window_pattern'-th, 6 if it is absent
  kUnsettled             // versions of transformers differ
};

// What the class of a type in transformers takes absent keys of attention for.
struct AttentionDefaults {
  std::int64_t kv_heads = 0;  // 0: as many as query heads
  std::int64_t head_dim = 0;  // 0: hidden size / heads
  std::int64_t sliding_window = 0;
  bool window_switch = false;  // the window needs "use_sliding_window": true
  WindowRule window_rule = WindowRule::kAll;
};

// Modules that predict further tokens.
inline constexpr Range<std::int64_t> kMtpLayers{0, 64};

// All of these expect sizes, layers and query heads in `model`.
void read_gqa(MappingReader& fields, const AttentionDefaults& defaults, ModelSpec& model);
// Without the key what `model` has stays.
void read_attention_bias(MappingReader& fields, ModelSpec& model);
void read_window(MappingReader& fields, const AttentionDefaults& defaults, ModelSpec& model);
void read_mla(MappingReader& fields, ModelSpec& model);

// What the class of a type in transformers takes absent keys of its router for.
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
// One of a width of its own, which a gate weighs.
void read_gated_shared_expert(MappingReader& fields, MoeSpec& moe);
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
