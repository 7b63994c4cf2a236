// SPDX-License-Identifier: Apache-2.0
#include "frameworks/bridge_table.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

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

}  // namespace

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
  std::vector<std::string> names;
  if (table) {
    append_names(*table, "recipes", names);
  }
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
  std::vector<std::string> names;
  if (table) {
    append_names(*table, "recipes", names);
  }
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
