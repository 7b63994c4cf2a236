// SPDX-License-Identifier: Apache-2.0
// The model that a Hugging Face config.json describes, as the transformers library would build it.
//
//   $ stepcast import hf config.json        {"model_type": "llama", "hidden_size": 4096, ...}
//
// The types are rows of configs/hugging_face_types.yaml (hf_types.hpp); some others are refused
// there with what they lack. Of a model with encoders, the text model. A key that is absent means
// what the class of its type in transformers takes it for; sizes that are the class's are named in
// the model's note. Keys without effect on shapes (rotary base and scaling, activation, precision,
// loss weights) are not looked at.
//
// When it is wrong: a model file knows only some patterns of layers with experts, "after the first
// F layers every n-th has them"; any other pattern is an error. Multipliers of the stream, of
// scores and of logits, and positions that some layers leave out, are not priced. Code of the
// checkpoint's own is not looked at.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "frameworks/hf_types.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// Lists of quantised layers make some files long.
inline constexpr std::size_t kLargestHfConfig = 16U << 20U;  // bytes

// The model of `json_text`, called `model_name`; `file_name` is what diagnostics and the model's
// source call the text. Throws ConfigError with all problems found.
ModelSpec import_hf_config(std::string_view json_text, const std::string& file_name,
                           const std::string& model_name, const HfTypes& types);

}  // namespace stepcast
