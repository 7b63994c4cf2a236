// SPDX-License-Identifier: Apache-2.0
#include "importers/published_names.hpp"

#include <array>
#include <cctype>

namespace stepcast {
namespace {

struct Alias {
  std::string_view published;
  std::string_view ours;
};

constexpr std::array kModels = {
    Alias{"DeepSeek-V2-236B", "deepseek_v2"},
    Alias{"DeepSeek-V2-Lite-16B", "deepseek_v2_lite"},
    Alias{"DeepSeek-V3-16B (torchtitan flavor)", "deepseek_v3_16b"},
    Alias{"DeepSeek-V3-671B", "deepseek_v3"},
    Alias{"GPT 1.7B (Megatron)", "megatron_gpt_1.7b"},
    Alias{"GPT 119B (Megatron)", "megatron_gpt_119b"},
    Alias{"GPT 16B (Megatron)", "megatron_gpt_16b"},
    Alias{"GPT 177B (Megatron)", "megatron_gpt_177b"},
    Alias{"GPT 314B (Megatron)", "megatron_gpt_314b"},
    Alias{"GPT 32B (Megatron)", "megatron_gpt_32b"},
    Alias{"GPT 462B (Megatron)", "megatron_gpt_462b"},
    Alias{"GPT 7.1B (Megatron)", "megatron_gpt_7.1b"},
    Alias{"GPT 70B (Megatron)", "megatron_gpt_70b"},
    Alias{"GPT-2 XL 1.5B", "gpt2_xl"},
    Alias{"GPT-3-175B", "gpt3_175b"},
    Alias{"GPT-3-5B", "gpt3_5b"},
    Alias{"GPT-OSS-120B", "gpt_oss_120b"},
    Alias{"Grok-1-314B", "grok1_nemo"},
    Alias{"InternLM-7B", "internlm_7b"},
    Alias{"Llama-2-70B", "llama2_70b"},
    Alias{"Llama-2-7B", "llama2_7b"},
    Alias{"Llama-3-70B 4-layer proxy", "llama3_70b_4l"},
    Alias{"Llama-3.1-405B", "llama3.1_405b"},
    Alias{"Llama-3.1-405B (SimuMax variant kv_heads=16)", "llama3.1_405b_kv16"},
    Alias{"Llama-3/3.1-70B", "llama3.1_70b"},
    Alias{"Llama-3/3.1-8B", "llama3.1_8b"},
    Alias{"Llama-4-Maverick-400B", "llama4_17b128e"},
    Alias{"Llama-like 70B (arch not stated)", "llama2_70b"},
    Alias{"MPT-125m", "mpt_125m"},
    Alias{"MPT-13b", "mpt_13b"},
    Alias{"MPT-1b", "mpt_1b"},
    Alias{"MPT-30b", "mpt_30b"},
    Alias{"MPT-350m", "mpt_350m"},
    Alias{"MPT-3b", "mpt_3b"},
    Alias{"MPT-70b", "mpt_70b"},
    Alias{"MPT-760m", "mpt_760m"},
    Alias{"MPT-7b", "mpt_7b"},
    Alias{"Mixtral-8x22B", "mixtral_8x22b"},
    Alias{"Mixtral-8x7B", "mixtral_8x7b"},
    Alias{"Nemotron4-15B", "nemotron4_15b"},
    Alias{"Nemotron4-340B", "nemotron4_340b"},
    Alias{"OLMo2-7B", "olmo2_7b"},
    Alias{"Qwen3-235B-A22B", "qwen3_235b_a22b"},
    Alias{"Qwen3-30B-A3B", "qwen3_30b_a3b"},
    Alias{"Qwen3-32B", "qwen3_32b"},
    Alias{"Qwen3-4B", "qwen3_4b"},
    Alias{"megatron_1t", "megatron_1t"},
    Alias{"megatron_22b", "megatron_22b"},
    Alias{"megatron_530b", "megatron_530b"},
    Alias{"megatron_175b", "gpt3_175b"},
};

// The first whose words are all in the published name.
constexpr std::array kGpus = {
    Alias{"96gb", "h100_96gb_500w"}, Alias{"gb300", "gb300"},   Alias{"gb200", "gb200"},
    Alias{"b300", "b300"},           Alias{"b200", "b200"},     Alias{"h200", "h200_sxm"},
    Alias{"h800", "h800"},           Alias{"h100", "h100_sxm"}, Alias{"a100 40", "a100_40gb"},
    Alias{"a100", "a100_80gb"},      Alias{"mi355", "mi355x"},  Alias{"mi350", "mi355x"},
    Alias{"mi325", "mi325x"},        Alias{"mi300", "mi300x"},
};

constexpr std::array kSoftware = {
    Alias{"torchtitan", "torchtitan"},
    Alias{"olmo", "torchtitan"},
    Alias{"primus", "primus_turbo"},
    Alias{"rocm docker", "primus_legacy"},
    Alias{"mlperf", "mlperf"},
    Alias{"nemo", "nemo"},
    Alias{"megatron-bridge", "nemo"},
    Alias{"megatron", "megatron"},
    Alias{"maxtext", "nemo"},
    Alias{"llm-foundry", "llm_foundry"},
    Alias{"internevo", "internevo"},
    Alias{"colossal", "colossalai"},
    Alias{"deepspeed", "deepspeed"},
    Alias{"nanotron", "nanotron"},
    Alias{"pytorch", "pytorch_compiled"},
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

bool has_words(const std::string& text, std::string_view words) {
  while (!words.empty()) {
    const std::size_t space = words.find(' ');
    if (text.find(words.substr(0, space)) == std::string::npos) {
      return false;
    }
    words = space == std::string_view::npos ? std::string_view{} : words.substr(space + 1);
  }
  return true;
}

template <std::size_t N>
std::string first_match(const std::array<Alias, N>& aliases, std::string_view published) {
  const std::string text = lower(published);
  for (const Alias& alias : aliases) {
    if (has_words(text, alias.published)) {
      return std::string(alias.ours);
    }
  }
  return {};
}

}  // namespace

std::string model_for(std::string_view published) {
  for (const Alias& alias : kModels) {
    if (alias.published == published) {
      return std::string(alias.ours);
    }
  }
  return {};
}

std::string gpu_for(std::string_view published) { return first_match(kGpus, published); }

std::string software_for(std::string_view framework) {
  std::string name = first_match(kSoftware, framework);
  return name.empty() ? "megatron" : name;
}

}  // namespace stepcast
