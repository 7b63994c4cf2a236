// SPDX-License-Identifier: Apache-2.0
// DeepSpeed configurations that axolotl and LLaMA-Factory ship, which files of theirs name by a
// path in their repositories: what of each changes a prediction.
//
//   deepspeed: deepspeed_configs/zero3_bf16.json     stage 3, bf16
#pragma once

#include <string>
#include <vector>

#include "frameworks/setting_reader.hpp"

namespace stepcast {

// Settings under "deepspeed."; nothing for a path that no tool ships. What is taken is told.
std::vector<Setting> shipped_settings(const std::string& path, const ConfigPlace& place,
                                      std::vector<ImportRemark>& remarks);

}  // namespace stepcast
