// SPDX-License-Identifier: Apache-2.0
// Source: AI-Hypercomputer/maxtext e591f30cb of 2026-08-22, src/maxtext/configs/models/*.yml.
#include <array>

#include "frameworks/maxtext.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kDeepSeekV32 =
    "{name: maxtext_deepseek3.2_671b, title: DeepSeek-V3.2 671B, source: 'AI-Hypercomputer/maxtext "
    "src/maxtext/configs/models/deepseek3.2-671b.yml', attention: {indexer: {heads: 64, head_dim: "
    "128, chosen: 2048}}}";
constexpr std::string_view kQwen3Next =
    "{name: maxtext_qwen3_next_80b_a3b, title: Qwen3-Next 80B-A3B, source: 'AI-Hypercomputer/"
    "maxtext src/maxtext/configs/models/qwen3-next-80b-a3b.yml', layers: 48, vocabulary: 151936, "
    "moe: {experts: 512, experts_per_token: 10}}";

// mtp_num_layers is 0 in base.yml: no model has multi-token prediction unless the key says so.
constexpr std::array kMaxTextModels = {
    ModelFlavor{"", "llama2-7b", "llama2_7b"},
    ModelFlavor{"", "llama2-13b", "llama2_13b"},
    ModelFlavor{"", "llama2-70b", "llama2_70b"},
    ModelFlavor{"", "llama3-8b", "llama3_8b"},
    ModelFlavor{"", "llama3-70b", "llama3_70b"},
    ModelFlavor{"", "llama3-405b", "llama3.1_405b"},
    ModelFlavor{"", "llama3.1-8b", "llama3.1_8b"},
    ModelFlavor{"", "llama3.1-70b", "llama3.1_70b"},
    ModelFlavor{"", "llama3.1-405b", "llama3.1_405b"},
    ModelFlavor{"", "llama3.3-70b", "llama3.3_70b"},
    ModelFlavor{"", "llama4-17b-16e", "llama4_17b16e"},
    ModelFlavor{"", "llama4-17b-128e", "llama4_17b128e"},
    ModelFlavor{"", "mixtral-8x7b", "mixtral_8x7b"},
    ModelFlavor{"", "mixtral-8x22b", "mixtral_8x22b"},
    ModelFlavor{"", "deepseek2-16b", "deepseek_v2_lite"},
    ModelFlavor{"", "deepseek2-236b", "deepseek_v2"},
    ModelFlavor{"", "deepseek3-671b", "deepseek_v3", {}, true},
    ModelFlavor{"", "deepseek3-671b-2dfsdp", "deepseek_v3", {}, true},
    ModelFlavor{"", "deepseek3-671b-batchsplit", "deepseek_v3", {}, true},
    ModelFlavor{"", "deepseek3.2-671b", "deepseek_v3", kDeepSeekV32, true},
    ModelFlavor{"", "deepseek4-284b", "deepseek_v4_flash", {}, true},
    ModelFlavor{"", "kimi-k2-1t", "kimi_k2"},
    ModelFlavor{"", "qwen2.5-7b", "qwen2.5_7b"},
    ModelFlavor{"", "qwen2.5-14b", "qwen2.5_14b"},
    ModelFlavor{"", "qwen3-4b", "qwen3_4b"},
    ModelFlavor{"", "qwen3-4b-base", "qwen3_4b"},
    ModelFlavor{"", "qwen3-4b-thinking-2507", "qwen3_4b"},
    ModelFlavor{"", "qwen3-8b", "qwen3_8b"},
    ModelFlavor{"", "qwen3-8b-base", "qwen3_8b"},
    ModelFlavor{"", "qwen3-14b", "qwen3_14b"},
    ModelFlavor{"", "qwen3-14b-base", "qwen3_14b"},
    ModelFlavor{"", "qwen3-32b", "qwen3_32b"},
    ModelFlavor{"", "qwen3-30b-a3b", "qwen3_30b_a3b"},
    ModelFlavor{"", "qwen3-30b-a3b-base", "qwen3_30b_a3b"},
    ModelFlavor{"", "qwen3-235b-a22b", "qwen3_235b_a22b"},
    ModelFlavor{"", "qwen3-next-80b-a3b", "qwen3_5_35b_a3b", kQwen3Next, true},
    ModelFlavor{"", "qwen3.5-35b-a3b", "qwen3_5_35b_a3b", {}, true},
    ModelFlavor{"", "gpt-oss-20b", "gpt_oss_20b"},
    ModelFlavor{"", "gpt-oss-120b", "gpt_oss_120b"},
    ModelFlavor{"", "gpt3-175b", "gpt3_175b"},
};

}  // namespace

std::span<const ModelFlavor> maxtext_models() { return kMaxTextModels; }

}  // namespace stepcast
