// SPDX-License-Identifier: Apache-2.0
// LoRA as recipes of Megatron Bridge say it, as training.lora.
//
// Source: NVIDIA-NeMo/Megatron-Bridge at 067f987d, src/megatron/bridge/peft/lora.py: 32 ranks, and
// adapters at all four products, where a recipe says nothing else.
#pragma once

#include <optional>
#include <string_view>

#include "frameworks/setting_reader.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast {

// The mapping `lora` of a recipe whose task is `task`; nothing where all weights are trained.
std::optional<ConfigNode> read_bridge_adapters(FrameworkReader& settings, std::string_view task);

}  // namespace stepcast
