// SPDX-License-Identifier: Apache-2.0
// The file of a software set: switches on top of another set, and recipes for some runs.
#include <algorithm>
#include <utility>

#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/data_root.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {
namespace {

constexpr int kLongestChain = 8;  // sets on top of each other

// The mapping of a set with what its bases say beneath it.
ConfigNode with_bases(const std::filesystem::path& file, const std::filesystem::path& folder) {
  ConfigNode root = load_config(file);
  for (int depth = 0; depth < kLongestChain; ++depth) {
    const ConfigNode* base = root.find("base");
    if (base == nullptr) {
      return root;
    }
    const Location where = base->location();
    const std::optional<std::filesystem::path> below = file_named(folder, base->text);
    if (!below) {
      throw ConfigError(where, "unknown software set '" + base->text.substr(0, 60) +
                                   "'; 'stepcast list software' shows what there is");
    }
    std::erase_if(root.entries, [](const ConfigEntry& entry) { return entry.key == "base"; });
    ConfigNode beneath = load_config(*below);
    std::erase_if(beneath.entries, [](const ConfigEntry& entry) {
      return std::ranges::find(kSpanKeys, entry.key) != kSpanKeys.end();
    });
    root = changed(std::move(beneath), root);
  }
  throw ConfigError(root.location(),
                    "the sets that 'base' names go in a circle, or are more than " +
                        std::to_string(kLongestChain));
}

std::vector<Dtype> read_dtypes(MappingReader& reader) {
  const std::span<const std::string_view> names = training_dtype_names();
  std::vector<Dtype> dtypes;
  for (const std::string& written : reader.optional_texts("dtypes")) {
    const auto known = std::ranges::find(names, written);
    if (known == names.end()) {
      reader.error("dtypes", "has no number format of training '" + written.substr(0, 60) + "'");
      continue;
    }
    dtypes.push_back(*dtype_named(written));
  }
  return dtypes;
}

SoftwareRecipe read_recipe(MappingReader reader, SoftwareSpec probe) {
  SoftwareRecipe recipe;
  recipe.models = reader.optional_texts("models");
  recipe.latent = reader.optional_flag("latent").value_or(false);
  recipe.gpus = reader.optional_texts("gpus");
  recipe.dtypes = read_dtypes(reader);
  if (const ConfigNode* changes = reader.take_required("set")) {
    recipe.changes = *changes;
    MappingReader switches(*changes, "set", reader.diagnostics());
    read_software_switches(switches, probe);
    switches.finish();
  }
  reader.finish();
  return recipe;
}

void read_recipes(MappingReader& reader, SoftwareSpec& software) {
  const ConfigNode* list = reader.take("recipes");
  if (list == nullptr) {
    return;
  }
  if (list->kind != ConfigNode::Kind::kSequence) {
    reader.error("recipes", "must be a list of mappings: {models, latent, gpus, dtypes, set}");
    return;
  }
  software.recipes.reserve(list->items.size());
  for (const ConfigNode& item : list->items) {
    software.recipes.push_back(
        read_recipe(MappingReader(item, "recipes", reader.diagnostics()), software));
  }
}

std::vector<Schedule> read_schedules(MappingReader& lists, const ConfigNode& list) {
  std::vector<Schedule> schedules;
  for (const ConfigNode& value : list.items) {
    if (const auto schedule = lists.choice<Schedule>("schedule", value, enum_names<Schedule>())) {
      schedules.push_back(*schedule);
    }
  }
  return schedules;
}

// Schedules of pipelines, and switches, each value of which is read as the switch that it would be.
void read_offers(MappingReader& reader, SoftwareSpec& software) {
  const ConfigNode* mapping = reader.take("offers");
  if (mapping == nullptr) {
    return;
  }
  if (mapping->kind != ConfigNode::Kind::kMapping) {
    reader.error("offers", "must be a mapping of switches to lists of values");
    return;
  }
  MappingReader lists(*mapping, "offers", reader.diagnostics());
  for (const ConfigEntry& entry : mapping->entries) {
    SoftwareOffer offer{entry.key, lists.optional_texts(entry.key)};
    if (entry.key == "schedule") {
      software.offered_schedules = read_schedules(lists, entry.value);
      continue;
    }
    for (const ConfigNode& value : entry.value.items) {
      ConfigNode one = *mapping;
      one.entries = {{entry.key, entry.line, entry.column, value}};
      SoftwareSpec probe = software;
      MappingReader switches(one, "offers", reader.diagnostics());
      read_software_switches(switches, probe);
      switches.finish();
    }
    software.offers.push_back(std::move(offer));
  }
}

template <typename T, typename V>
bool names(const std::vector<T>& list, const V& value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

}  // namespace

std::vector<std::string> bases_of(const std::string& name, const std::filesystem::path& folder) {
  std::vector<std::string> bases;
  std::optional<std::filesystem::path> file = file_named(folder, name);
  while (file && bases.size() < kLongestChain) {
    const ConfigNode root = load_config(*file);
    const ConfigNode* base = root.find("base");
    if (base == nullptr) {
      break;
    }
    bases.push_back(base->text);
    file = file_named(folder, base->text);
  }
  return bases;
}

SoftwareSpec load_software(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const ConfigNode root = with_bases(file, folder);
  Diagnostics diagnostics;
  MappingReader reader(root, "", diagnostics);
  SoftwareSpec software;
  software.name = required_name(reader);
  software.title = reader.required_text("title");
  software.source = reader.required_text("source");
  software.date = reader.optional_text("date", "");
  software.span = read_span(reader);
  software.evidence = read_evidence(reader, root);
  read_software_switches(reader, software);
  read_recipes(reader, software);
  read_offers(reader, software);
  reader.finish();
  diagnostics.throw_if_any();
  return software;
}

void follow_recipes(const RecipeSubject& subject, SoftwareSpec& software) {
  const std::vector<SoftwareRecipe> recipes = std::exchange(software.recipes, {});
  Diagnostics diagnostics;
  for (const SoftwareRecipe& recipe : recipes) {
    if ((subject.latent || !recipe.latent) && names(recipe.models, subject.model) &&
        names(recipe.gpus, subject.gpu) && names(recipe.dtypes, subject.dtype)) {
      MappingReader switches(recipe.changes, "set", diagnostics);
      read_software_switches(switches, software);
    }
  }
  diagnostics.throw_if_any();
}

}  // namespace stepcast
