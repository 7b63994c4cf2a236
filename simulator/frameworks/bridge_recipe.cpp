// SPDX-License-Identifier: Apache-2.0
// Source: NVIDIA-NeMo/Megatron-Bridge at 067f987d, src/megatron/bridge/perf_recipes and
// scripts/performance.
#include "frameworks/bridge_recipe.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <ranges>

#include "frameworks/words.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/plan/stage_layout.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kEnd = "_config";
constexpr std::string_view kLayout = "pipeline_model_parallel_layout";

// The table of the longest name of a model that `name` begins with; nothing where there is none.
std::optional<ConfigNode> table_of(std::string_view name, const DataRoot& data) {
  constexpr std::size_t kLongestName = 200;
  if (name.size() > kLongestName || name.find('/') != std::string_view::npos) {
    return std::nullopt;
  }
  for (std::size_t end = name.size(); end != std::string_view::npos && end > 0;
       end = name.rfind('_', end - 1)) {
    const std::filesystem::path file = data.folder / "configs/recipes/megatron_bridge" /
                                       (bridge_model(name.substr(0, end)) + ".yaml");
    if (is_there(file)) {
      return load_config(file);
    }
  }
  return std::nullopt;
}

const ConfigNode* part_of(const ConfigNode& table, std::string_view part, std::string_view name) {
  const ConfigNode* mapping = table.find(part);
  return mapping == nullptr ? nullptr : mapping->find(name);
}

void append(const ConfigNode* mapping, std::vector<Setting>& settings) {
  if (mapping == nullptr) {
    return;
  }
  for (const ConfigEntry& entry : mapping->entries) {
    std::erase_if(settings, [&](const Setting& setting) { return setting.name == entry.key; });
    settings.push_back({entry.key, entry.value});
  }
}

BridgeTableEntry entry_of(const ConfigNode& table, std::string name) {
  BridgeTableEntry entry{std::move(name), {}};
  if (const ConfigNode* library = table.find("library")) {
    entry.of_library = std::ranges::any_of(
        library->items, [&](const ConfigNode& item) { return item.text == entry.name; });
  }
  append(table.find("common"), entry.settings);
  append(part_of(table, "recipes", entry.name), entry.settings);
  return entry;
}

void append_names(const ConfigNode& table, std::string_view part, std::vector<std::string>& names) {
  if (const ConfigNode* mapping = table.find(part)) {
    for (const ConfigEntry& entry : mapping->entries) {
      names.push_back(entry.key);
    }
  }
}

std::vector<std::string> recipe_names(const std::optional<ConfigNode>& table) {
  std::vector<std::string> names;
  if (table) {
    append_names(*table, "recipes", names);
  }
  return names;
}

constexpr std::array kGpus = {Word{"h100", "h100_sxm"}, Word{"h200", "h200_sxm"},
                              Word{"b200", "b200"},     Word{"b300", "b300"},
                              Word{"gb200", "gb200"},   Word{"gb300", "gb300"},
                              Word{"a100", "a100_80gb"}};
constexpr std::array kModels = {Word{"llama31_", "llama3.1_"}, Word{"llama32_", "llama3.2_"},
                                Word{"llama33_", "llama3.3_"}, Word{"qwen25_", "qwen2.5_"}};
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

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '_') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// A model whose name starts with the word of one side of the table, with that of the other.
std::string with_start(std::string_view model, std::string_view Word::*from,
                       std::string_view Word::*to) {
  for (const Word& entry : kModels) {
    if (model.starts_with(entry.*from)) {
      return std::string(entry.*to) + std::string(model.substr((entry.*from).size()));
    }
  }
  return std::string(model);
}

}  // namespace

std::optional<BridgeRecipe> parse_bridge_recipe(std::string_view name) {
  constexpr std::string_view kUnit = "gpu";
  name.remove_suffix(name.ends_with(kEnd) ? kEnd.size() : 0);
  const std::vector<std::string> words = words_of(name);
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
  recipe.model = text_list(std::vector<std::string>(words.begin(), task), "_");
  recipe.task = *task;
  recipe.gpu = *(task + 2);
  recipe.precision = *(task + 3);
  recipe.variant = text_list(std::vector<std::string>(task + 4, words.end()), "_");
  return recipe;
}

std::string bridge_recipe_name(const BridgeRecipe& recipe) {
  return recipe.model + "_" + recipe.task + "_" + std::to_string(recipe.gpus) + "gpu_" +
         recipe.gpu + "_" + recipe.precision + (recipe.variant.empty() ? "" : "_") +
         recipe.variant + "_config";
}

std::string bridge_gpu(std::string_view gpu) { return std::string(ours_of(kGpus, gpu)); }

std::string bridge_gpu_name(std::string_view ours) { return std::string(theirs_of(kGpus, ours)); }

std::string bridge_gpu_names() { return text_list(kGpus, ", ", &Word::theirs); }

std::string bridge_model(std::string_view model) {
  return with_start(model, &Word::theirs, &Word::ours);
}

std::string bridge_model_name(std::string_view ours) {
  return with_start(ours, &Word::ours, &Word::theirs);
}

std::optional<std::vector<Setting>> bridge_precision(std::string_view precision,
                                                     const Location& where) {
  std::string name(precision);
  std::erase(name, '_');
  const Precision* const known = row_with(kPrecisions, &Precision::name, name);
  if (known == nullptr) {
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

std::optional<BridgeTableEntry> bridge_table_entry(std::string_view name, const DataRoot& data) {
  const std::optional<ConfigNode> table = table_of(name, data);
  if (!table) {
    return std::nullopt;
  }
  std::string whole(name);
  whole += name.ends_with(kEnd) ? std::string_view{} : kEnd;
  if (const ConfigNode* alias = part_of(*table, "aliases", whole)) {
    whole = alias->text;
  }
  return part_of(*table, "recipes", whole) == nullptr ? std::nullopt
                                                      : std::optional(entry_of(*table, whole));
}

std::optional<BridgeTableEntry> bridge_table_largest(const BridgeRecipe& recipe,
                                                     const DataRoot& data) {
  BridgeRecipe wanted = recipe;
  std::optional<ConfigNode> table = table_of(bridge_recipe_name(recipe), data);
  const std::vector<std::string> names = recipe_names(table);
  std::optional<BridgeRecipe> largest;
  for (const std::string& name : names) {
    const std::optional<BridgeRecipe> other = parse_bridge_recipe(name);
    wanted.gpus = other ? other->gpus : 0;
    if (other && bridge_recipe_name(wanted) == name && (!largest || other->gpus > largest->gpus)) {
      largest = other;
    }
  }
  return largest ? std::optional(entry_of(*table, bridge_recipe_name(*largest))) : std::nullopt;
}

std::string bridge_table_usual(const BridgeRecipe& recipe, std::string_view field,
                               const DataRoot& data) {
  const std::optional<ConfigNode> table = table_of(recipe.model, data);
  const std::vector<std::string> names = recipe_names(table);
  std::map<std::string, int> counts;
  for (const std::string& name : names) {
    const std::optional<BridgeRecipe> other = parse_bridge_recipe(name);
    if (!other || other->task != recipe.task || !other->variant.empty()) {
      continue;
    }
    for (const Setting& setting : entry_of(*table, name).settings) {
      counts[setting.value.text] += setting.name == field ? 1 : 0;
    }
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() || most->second == 0 ? std::string() : most->first;
}

std::vector<std::string> bridge_table_names(std::string_view name, const DataRoot& data) {
  std::vector<std::string> names;
  if (const std::optional<ConfigNode> table = table_of(name, data)) {
    append_names(*table, "aliases", names);
    append_names(*table, "recipes", names);
  }
  return names;
}

std::string bridge_table_layout(std::string_view model, std::int64_t stages, const DataRoot& data) {
  const std::optional<ConfigNode> table = table_of(model, data);
  const ConfigNode* recipes = table ? table->find("recipes") : nullptr;
  if (recipes == nullptr) {
    return {};
  }
  for (const ConfigEntry& recipe : recipes->entries) {
    const ConfigNode* layout = recipe.value.find(kLayout);
    if (layout != nullptr &&
        static_cast<std::int64_t>(parse_layout(layout->text).stages.size()) == stages) {
      return layout->text;
    }
  }
  return {};
}

}  // namespace stepcast
