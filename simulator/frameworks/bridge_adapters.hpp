// SPDX-License-Identifier: Apache-2.0
// LoRA as recipes of Megatron Bridge and Primus' Megatron say it, as training.lora.
//
// Source: NVIDIA-NeMo/Megatron-Bridge at 067f987d, src/megatron/bridge/peft/lora.py: 32 ranks, and
// adapters at all four products, where a recipe says nothing else. Primus has the same words and
// defaults under `lora` (AMD-AGI/Primus at fd1eeabb, primus/configs/modules/megatron/
// sft_trainer.yaml).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/setting_reader.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/model/trained_weights.hpp"

namespace stepcast {

// The mapping `lora` of a recipe whose task is `task`; nothing where all weights are trained.
std::optional<ConfigNode> read_bridge_adapters(FrameworkReader& settings, std::string_view task);
// The same of the keys lora.enabled, lora.dim, lora.target_modules, lora.dropout of Primus.
std::optional<ConfigNode> read_primus_adapters(FrameworkReader& settings);

// Puts the mapping, if there is one, under `training`: without linear_qkv where attention is
// latent, in which both frameworks find no module of that name and adapt none.
void add_adapters(std::optional<ConfigNode> lora, FrameworkExperiment& parts);

// "linear_qkv" of qkv; empty where neither has a module of its own.
std::string_view adapted_module(LoraTarget target);
// "[linear_qkv, linear_proj]"
std::string adapted_modules(const LoraSpec& lora);

}  // namespace stepcast
