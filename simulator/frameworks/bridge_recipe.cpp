// SPDX-License-Identifier: Apache-2.0
// Source: NVIDIA-NeMo/Megatron-Bridge at 067f987d, src/megatron/bridge/perf_recipes and
// scripts/performance.
#include "frameworks/bridge_recipe.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace stepcast {
namespace {

struct OtherName {
  std::string_view theirs;
  std::string_view ours;
};
constexpr std::array kGpus = {OtherName{"h100", "h100_sxm"}, OtherName{"h200", "h200_sxm"},
                              OtherName{"b200", "b200"},     OtherName{"b300", "b300"},
                              OtherName{"gb200", "gb200"},   OtherName{"gb300", "gb300"},
                              OtherName{"a100", "a100_80gb"}};
constexpr std::array kModels = {
    OtherName{"llama31_", "llama3.1_"}, OtherName{"llama32_", "llama3.2_"},
    OtherName{"llama33_", "llama3.3_"}, OtherName{"qwen25_", "qwen2.5_"}};
constexpr std::array<std::string_view, 5> kTasks = {"pretrain", "sft", "lora", "peft", "finetune"};

// fp8 and its recipe, or fp4.
struct Precision {
  std::string_view name;
  std::string_view fp8_recipe;  // empty: not in 8 bits
  bool fp4 = false;
};
constexpr std::array kPrecisions = {Precision{"bf16", ""},         Precision{"fp8cs", "tensorwise"},
                                    Precision{"fp8ds", "delayed"}, Precision{"fp8sc", "blockwise"},
                                    Precision{"fp8mx", "mxfp8"},   Precision{"nvfp4", "", true}};

std::vector<std::string> words_of(std::string_view text, char between) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == between) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string without_underscore(std::string_view text) {
  std::string name(text);
  std::erase(name, '_');
  return name;
}

}  // namespace

std::optional<BridgeRecipe> parse_bridge_recipe(std::string_view name) {
  constexpr std::string_view kEnd = "_config";
  constexpr std::string_view kUnit = "gpu";
  name.remove_suffix(name.ends_with(kEnd) ? kEnd.size() : 0);
  const std::vector<std::string> words = words_of(name, '_');
  const auto task = std::find_first_of(words.begin(), words.end(), kTasks.begin(), kTasks.end());
  if (task == words.begin() || words.end() - task < 4 || !(task + 1)->ends_with(kUnit)) {
    return std::nullopt;
  }
  BridgeRecipe recipe;
  const std::string& count = *(task + 1);
  const auto read = std::from_chars(count.data(), count.data() + count.size(), recipe.gpus);
  if (read.ec != std::errc{} || read.ptr != count.data() + count.size() - kUnit.size() ||
      recipe.gpus < 1 || recipe.gpus > (1 << 24)) {
    return std::nullopt;
  }
  for (auto word = words.begin(); word != task; ++word) {
    recipe.model += (recipe.model.empty() ? "" : "_") + *word;
  }
  recipe.task = *task;
  recipe.gpu = *(task + 2);
  recipe.precision = *(task + 3);
  for (auto word = task + 4; word != words.end(); ++word) {
    recipe.variant += (recipe.variant.empty() ? "" : "_") + *word;
  }
  return recipe;
}

std::string bridge_recipe_name(const BridgeRecipe& recipe) {
  return recipe.model + "_" + recipe.task + "_" + std::to_string(recipe.gpus) + "gpu_" +
         recipe.gpu + "_" + recipe.precision + (recipe.variant.empty() ? "" : "_") +
         recipe.variant + "_config";
}

std::string bridge_gpu(std::string_view gpu) {
  const auto* const found = std::find_if(
      kGpus.begin(), kGpus.end(), [gpu](const OtherName& entry) { return entry.theirs == gpu; });
  return found == kGpus.end() ? std::string{} : std::string(found->ours);
}

std::string bridge_gpu_name(std::string_view ours) {
  const auto* const found = std::find_if(
      kGpus.begin(), kGpus.end(), [ours](const OtherName& entry) { return entry.ours == ours; });
  return found == kGpus.end() ? std::string{} : std::string(found->theirs);
}

std::string bridge_gpu_names() {
  std::string names;
  for (const OtherName& gpu : kGpus) {
    names += (names.empty() ? "" : ", ") + std::string(gpu.theirs);
  }
  return names;
}

std::string bridge_model(std::string_view model) {
  for (const OtherName& entry : kModels) {
    if (model.starts_with(entry.theirs)) {
      return std::string(entry.ours) + std::string(model.substr(entry.theirs.size()));
    }
  }
  return std::string(model);
}

std::string bridge_model_name(std::string_view ours) {
  for (const OtherName& entry : kModels) {
    if (ours.starts_with(entry.ours)) {
      return std::string(entry.theirs) + std::string(ours.substr(entry.ours.size()));
    }
  }
  return std::string(ours);
}

std::optional<std::vector<Setting>> bridge_precision(std::string_view precision,
                                                     const Location& where) {
  const std::string name = without_underscore(precision);
  const auto* const known =
      std::find_if(kPrecisions.begin(), kPrecisions.end(),
                   [&](const Precision& entry) { return entry.name == name; });
  if (known == kPrecisions.end()) {
    return std::nullopt;
  }
  std::vector<Setting> settings = {text_setting("bf16", "true", where)};
  if (known->fp4) {
    settings.push_back(text_setting("fp4", "e2m1", where));
  } else if (!known->fp8_recipe.empty()) {
    settings.push_back(text_setting("fp8", "hybrid", where));
    settings.push_back(text_setting("fp8_recipe", std::string(known->fp8_recipe), where));
  }
  return settings;
}

}  // namespace stepcast
