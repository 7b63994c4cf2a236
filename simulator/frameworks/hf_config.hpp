// SPDX-License-Identifier: Apache-2.0
// The model that a Hugging Face config.json describes, as the transformers library would build it.
//
//   $ stepcast import config.json        {"model_type": "llama", "hidden_size": 4096, ...}
//
// Supported: the types of hf_config.cpp; some others are refused there with what they lack. Of a
// model with encoders, the text model. A key that is absent means what the class of its type in
// transformers takes it for, where all versions agree; a width that the class would make up is an
// error here. Keys without effect on shapes (rotary base and scaling, activation, precision, loss
// weights) are not looked at, and positions are rotary in all of these types.
//
// When it is wrong: a model file knows only some patterns of layers, "after the first F layers
// every n-th has experts" and "every n-th layer has full attention". Any other pattern is an error,
// and so are the biases of multi-head latent attention. Code of the checkpoint's own is not looked
// at.
#pragma once

#include <string>
#include <string_view>

#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// The model of `json_text`, called `model_name`; `file_name` is what diagnostics and the model's
// source call the text. Throws ConfigError with all problems found.
ModelSpec import_hf_config(std::string_view json_text, const std::string& file_name,
                           const std::string& model_name);

}  // namespace stepcast
