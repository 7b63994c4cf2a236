// SPDX-License-Identifier: Apache-2.0
// Models by the names under which huggingface.co publishes them: those that configs/models has, and
// the sizes of others that people train most, from their config.json.
//
//   meta-llama/Llama-3.1-8B-Instruct, NousResearch/Meta-Llama-3.1-8B   llama3.1_8b
//   Qwen/Qwen2.5-0.5B                                                  24 layers of 896, tied ends
//
// Capitals, the organisation, and endings that change no size (Instruct, chat, hf) do not count. A
// name that is none of them may be a model of configs/models, or a folder or config.json that lies
// beside the file; weights that are stored quantised (bnb-4bit, AWQ, GPTQ) are other models.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/setting_reader.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// The model that the key `key` of a file names. Nothing, and an error of that key, where it is not
// known.
std::optional<ModelSpec> published_model(const std::string& name, const ImportInput& input,
                                         FrameworkReader& settings, std::string_view key);

}  // namespace stepcast
