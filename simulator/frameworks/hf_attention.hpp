// SPDX-License-Identifier: Apache-2.0
// The attention that the keys of a Hugging Face config.json describe (hf_config.hpp).
#pragma once

#include <cstdint>

#include "frameworks/hf_fields.hpp"
#include "stepcast/graph/model_spec.hpp"

namespace stepcast {

// Which layers have the window if 'layer_types' does not say.
enum class WindowRule {
  kAll,
  kFromMaxWindowLayers,  // the layers from number 'max_window_layers' on
  kEverySecond,          // the first, the third, ...
  kPattern,              // all but every 'sliding_window_pattern'-th, 6 if it is absent
  kUnsettled             // versions of transformers differ
};

// What the class of a type in transformers takes absent keys for.
struct AttentionDefaults {
  std::int64_t kv_heads = 0;  // 0: as many as query heads
  std::int64_t head_dim = 0;  // 0: hidden size / heads
  std::int64_t sliding_window = 0;
  bool window_switch = false;  // the window needs "use_sliding_window": true
  WindowRule window_rule = WindowRule::kAll;
};

// All of these expect sizes, layers and query heads in `model`.
void read_gqa(MappingReader& fields, const AttentionDefaults& defaults, ModelSpec& model);
// Without the key what `model` has stays.
void read_attention_bias(MappingReader& fields, ModelSpec& model);
void read_window(MappingReader& fields, const AttentionDefaults& defaults, ModelSpec& model);
void read_mla(MappingReader& fields, ModelSpec& model);

}  // namespace stepcast
