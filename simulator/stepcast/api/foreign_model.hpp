// SPDX-License-Identifier: Apache-2.0
// A model that an experiment names by a config.json of Hugging Face, or by the folder of one, read
// in its place as `import hf` reads it.
//
//   stepcast project --model Qwen3-8B/config.json --gpu h100_sxm --nodes 1
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

// What a model is called whose file does not say: a file that is called as all are has the name of
// its folder.
std::string usual_model_name(const std::filesystem::path& file);

// "model=FILE" with the model in the place of such a file, which lies in `folder`; another
// assignment as it is. Throws ConfigError where the file is no model that is known.
std::string with_foreign_model(const std::string& assignment, const std::filesystem::path& folder,
                               const DataRoot& data);
// The key `model` of an experiment likewise, as an assignment; nothing where it names no such file.
std::optional<std::string> foreign_model_of(const ConfigNode& root,
                                            const std::filesystem::path& folder,
                                            const DataRoot& data);

}  // namespace stepcast
