// SPDX-License-Identifier: Apache-2.0
// What no row of configs/hugging_face_types.yaml says of a type: code, by the name that the row
// gives it (`layers_by`).
//
//   openelm        heads and multipliers of the width are lists of one a layer
//   nemotron_nas   'block_configs' gives each layer the query heads of a key head and the
//                  feed-forward's share of the width, or leaves a block out (Llama-Nemotron)
//   qwen_linear    gated delta rule in all but every n-th layer (Qwen3-Next, Qwen3.5)
//   kimi_linear    Kimi Delta Attention and attention residuals
//   deepseek_v4    one head that is key and value, compressed keys, several residual streams
//   lfm2           short convolutions, and a width that is rounded; lfm2_moe without the rounding
//   falcon         two decoders, which a switch tells apart
//
// Source: configuration_<model_type>.py and modeling_<model_type>.py of transformers, or of the
// checkpoint where the row names that.
#pragma once

#include <optional>
#include <string_view>

#include "frameworks/hf_fields.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

struct HfCode {
  // Whether it reads what rows say as well, and not only what they leave.
  enum class Reads { kRest, kAll };
  void (*read)(HfFields&, ModelSpec&) = nullptr;
  Reads reads = Reads::kRest;
};

// Nothing where there is none of that name.
std::optional<HfCode> hf_code_named(std::string_view name);

}  // namespace stepcast
