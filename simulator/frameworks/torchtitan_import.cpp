// SPDX-License-Identifier: Apache-2.0
#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/python_recipe.hpp"
#include "frameworks/python_tokens.hpp"
#include "frameworks/setting.hpp"
#include "frameworks/text_form.hpp"
#include "frameworks/torchtitan.hpp"
#include "frameworks/torchtitan_launch.hpp"
#include "frameworks/torchtitan_words.hpp"
#include "frameworks/words.hpp"
#include "stepcast/base/text_list.hpp"

namespace stepcast {
namespace {

// As TOML writes it, texts without their quotes.
std::string written(const toml::node& node) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  std::ostringstream out;
  node.visit([&out](const auto& value) { out << value; });
  return out.str();
}

ConfigNode value_of(const toml::node& node, const std::shared_ptr<const std::string>& file) {
  const toml::source_position at = node.source().begin;
  const ConfigPlace place{file, static_cast<int>(at.line), static_cast<int>(at.column)};
  const auto* list = node.as_array();
  if (list == nullptr) {
    return scalar_at(place, written(node));
  }
  ConfigNode value = empty_at(place, ConfigNode::Kind::kSequence);
  for (const toml::node& item : *list) {
    value.items.push_back(value_of(item, file));
  }
  return value;
}

void collect(const toml::table& table, const std::string& prefix,
             const std::shared_ptr<const std::string>& file, std::vector<Setting>& settings) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      collect(*inner, name + ".", file, settings);
    } else {
      settings.push_back({name, value_of(node, file)});
    }
  }
}

// A TOML file as settings with dotted names, in their order: `tensor_parallel_degree = 8` under
// [parallelism] is parallelism.tensor_parallel_degree. Throws ConfigError at the place of a fault
// of syntax.
std::vector<Setting> toml_settings(std::string_view text, const std::string& file) {
  std::vector<Setting> settings;
  try {
    const toml::table root = toml::parse(text, file);
    collect(root, {}, std::make_shared<const std::string>(file), settings);
  } catch (const toml::parse_error& fault) {
    const toml::source_position where = fault.source().begin;
    throw ConfigError({file, static_cast<int>(where.line), static_cast<int>(where.column)},
                      "is no TOML: " + std::string(fault.description()));
  }
  return settings;
}

using Kind = PythonValue::Kind;

ConfigNode node_of(const PythonValue& value) {
  ConfigNode node = text_setting({}, value.text, value.where).value;
  if (value.kind == Kind::kList) {
    node.kind = ConfigNode::Kind::kSequence;
    for (const PythonValue& item : value.items) {
      node.items.push_back(node_of(item));
    }
  }
  return node;
}

// "Float8LinearConverter" of "Float8LinearConverter.Config".
std::string class_of(const PythonValue& value) {
  return value.text.substr(0, value.text.find('.'));
}

// All names and texts that stand in a recipe's file, whose other functions and imports are of the
// same time.
std::vector<std::string> names_of_recipe(std::string_view text, const std::string& file) {
  std::vector<std::string> names;
  for (const PythonStatement& statement : python_statements(text, file)) {
    for (const PythonToken& token : statement.tokens) {
      if (token.kind == PythonToken::Kind::kName || token.kind == PythonToken::Kind::kString) {
        names.push_back(token.text);
      }
    }
  }
  return names;
}

class Flattening {
 public:
  std::vector<Setting> settings(const PythonValue& root) {
    for (const auto& [name, value] : root.keywords) {
      put_section(name, value);
    }
    return std::move(settings_);
  }

 private:
  void put(std::string name, std::string text, const PythonValue& value) {
    settings_.push_back(text_setting(std::move(name), std::move(text), value.where));
  }
  void put(std::string name, const PythonValue& value) {
    settings_.push_back({std::move(name), node_of(value)});
  }
  void put_all(const std::string& prefix, const PythonValue& value) {
    for (const auto& [name, inner] : value.keywords) {
      if (inner.kind == Kind::kCall) {
        put_all(prefix + name + ".", inner);
      } else {
        put(prefix + name, inner);
      }
    }
  }

  void put_section(const std::string& name, const PythonValue& value) {
    if (name == "model_spec") {
      put_model(value);
    } else if (name == "model_converters") {
      put_converters_section(value);
    } else if (name == "activation_checkpoint") {
      put_checkpointing(value);
    } else if (value.kind != Kind::kCall) {
      put(name, value);
    } else {
      if (name == "optimizer" || name == "loss") {
        put(name + ".class", class_of(value), value);
      }
      put_all(name + ".", value);
    }
  }

  void put_model(const PythonValue& registry) {
    if (!registry.items.empty()) {
      put("model.flavor", registry.items.front());
    }
    for (const auto& [name, value] : registry.keywords) {
      if (name == "converters" && value.kind == Kind::kList) {
        put_converters(value);
      } else {
        put("model." + name, value);
      }
    }
  }

  // Up to April 2026 beside the model: ModelConvertersContainer.Config(converters=[...]).
  void put_converters_section(const PythonValue& section) {
    for (const auto& [name, value] : section.keywords) {
      if (name == "converters" && value.kind == Kind::kList) {
        put_converters(value);
      } else {
        put("model." + name, value);
      }
    }
  }

  void put_converters(const PythonValue& list) {
    ConfigNode names = node_of(list);
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      names.items[i].text = class_of(list.items[i]);
      put_all("converters." + class_of(list.items[i]) + ".", list.items[i]);
    }
    settings_.push_back({"model.converters", std::move(names)});
  }

  void put_checkpointing(const PythonValue& value) {
    const std::string policy = class_of(value);
    const std::string section = "activation_checkpoint.";
    if (policy == "ActivationCheckpointConfig") {
      // Its fields say the mode.
    } else if (policy == "SelectiveAC") {
      put(section + "mode", "selective", value);
    } else if (policy == "FullAC") {
      put(section + "mode", "full", value);
    } else if (policy == "MemoryBudgetAC") {
      put(section + "mode", "memory_budget", value);
    } else {
      put(section + "mode", policy == "None" ? "none" : policy, value);
    }
    put_all(section, value);
  }

  std::vector<Setting> settings_;
};

std::string chosen_function(std::string_view text, const std::string& file) {
  const std::vector<std::string> functions = recipe_functions(text, file);
  if (functions.size() == 1) {
    return functions.front();
  }
  throw ConfigError({file, 0, 0}, functions.empty()
                                      ? "has no function that builds a configuration"
                                      : "has several configurations; add CONFIG=NAME with one of " +
                                            text_list(functions).substr(0, 1000));
}

// A configuration function of torchtitan (config_registry.py, since 2026) as settings under the
// names of its job configs, `section.key`.
//
//   model_spec=model_registry("70B", converters=[...])  ->  model.flavor, model.converters
//   activation_checkpoint=FullAC.Config()               ->  activation_checkpoint.mode full
//   ActivationCheckpointConfig(mode="full")             ->  the same, up to June 2026
//
// `function` may be empty where the file has one alone. Throws ConfigError.
std::vector<Setting> torchtitan_recipe(std::string_view text, const std::string& file,
                                       const std::string& function) {
  const std::string name = function.empty() ? chosen_function(text, file) : function;
  const PythonValue root = python_result(text, file, name);
  if (root.kind != Kind::kCall || root.keywords.empty()) {
    throw ConfigError(root.where, "function '" + name + "' does not return a Trainer.Config(...)");
  }
  return Flattening().settings(root);
}

// What keys of 2024 and early 2025 are called since; a name that ends in '.' stands for a section.
constexpr auto kRenamed = std::to_array<Word>({
    {"training.batch_size", "training.local_batch_size"},
    {"training.compile", "compile.enable"},
    {"training.data_parallel_degree", "parallelism.data_parallel_shard_degree"},
    {"training.data_parallel_shard_degree", "parallelism.data_parallel_shard_degree"},
    {"training.data_parallel_replicate_degree", "parallelism.data_parallel_replicate_degree"},
    {"training.tensor_parallel_degree", "parallelism.tensor_parallel_degree"},
    {"training.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
    {"training.fsdp_reshard_after_forward", "parallelism.fsdp_reshard_after_forward"},
    {"experimental.context_parallel_degree", "parallelism.context_parallel_degree"},
    {"experimental.context_parallel_rotate_method", "parallelism.context_parallel_rotate_method"},
    {"experimental.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
    {"experimental.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule"},
    {"experimental.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"},
    {"float8.", "quantize.linear.float8."},
    {"mx.", "quantize.linear.mx."},
});

void rename(std::vector<Setting>& settings) {
  for (Setting& setting : settings) {
    const auto* const found = std::find_if(kRenamed.begin(), kRenamed.end(), [&](const Word& row) {
      return row.theirs.ends_with('.') ? setting.name.starts_with(row.theirs)
                                       : setting.name == row.theirs;
    });
    if (found != kRenamed.end()) {
      setting.name = std::string(found->ours) + setting.name.substr(found->theirs.size());
    }
  }
}

// The last value of `name`, which is taken out.
std::string taken(std::vector<Setting>& settings, std::string_view name) {
  std::string value;
  std::erase_if(settings, [&](const Setting& setting) {
    if (setting.name != name) {
      return false;
    }
    value = setting.value.text;
    return true;
  });
  return value;
}

bool is_recipe(const ImportInput& input) {
  return input.file.ends_with(".py") || input.text.find("Trainer.Config") != std::string::npos;
}

// Whether a recipe states its batch in tokens, as since 20 August 2026 (73aed7f6c), and not in
// sequences. One that says nothing of its batch is of that time.
bool counts_tokens(const std::vector<Setting>& settings) {
  return std::none_of(settings.begin(), settings.end(), [](const Setting& setting) {
    return setting.name == "training.local_batch_size" || setting.name == "training.seq_len";
  });
}

bool is_module(const std::vector<ModelFlavor>& flavors, std::string_view name) {
  return std::any_of(flavors.begin(), flavors.end(),
                     [name](const ModelFlavor& row) { return row.module == name; });
}

// The last name of a folder, "." too; empty for none.
std::string folder_name(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path whole =
      folder.empty() ? folder : std::filesystem::absolute(folder, error) / "";
  return whole.lexically_normal().parent_path().filename().string();
}

// Of a recipe: what was said, its folder, or the beginning of the function's name. The registry of
// another folder is of a module that is not known.
std::string module_of(const std::string& said, const ImportInput& input,
                      const std::string& function) {
  if (!said.empty()) {
    return said;
  }
  const FrameworkWords words = torchtitan_words(input.data);
  if (std::string folder = folder_name(input.folder); is_module(words.models(), folder)) {
    return folder;
  }
  if (std::filesystem::path(input.file).filename() == "config_registry.py" &&
      !input.folder.empty()) {
    return folder_name(input.folder);
  }
  for (const ModelFlavor& row : words.models()) {
    if (function.starts_with(row.module + "_")) {
      return row.module;
    }
  }
  return "llama3";
}

ImportedExperiment import_job(const ImportInput& input, std::vector<SettingDoubt> doubts) {
  std::vector<Setting> overrides = assignment_settings(input.overrides);
  TorchtitanJob job;
  job.recipe = is_recipe(input);
  std::vector<Setting> settings;
  std::vector<std::string> names;
  if (job.recipe) {
    std::string function = taken(overrides, "CONFIG");
    function = function.empty() ? taken(overrides, "config") : function;
    std::string module = taken(overrides, "MODULE");
    module = module.empty() ? taken(overrides, "module") : module;
    job.module = module_of(module, input, function);
    settings = torchtitan_recipe(input.text, input.file, function);
    names = names_of_recipe(input.text, input.file);
  } else {
    settings = toml_settings(input.text, input.file);
    if (settings.empty() && kept_assignments(input.text).empty()) {
      throw ConfigError({input.file, 1, 1},
                        "the file has no key; it needs sections such as [model] and [training]");
    }
  }
  const TorchtitanForm form = job.recipe ? TorchtitanForm::kRecipe : TorchtitanForm::kToml;
  job.release = release_of(age_of(form, settings, names), input.release, input.data);
  job.counts_tokens = job.recipe && counts_tokens(settings);
  settings.insert(settings.end(), overrides.begin(), overrides.end());
  rename(settings);
  Diagnostics diagnostics;
  FrameworkReader reader(std::move(settings), diagnostics);
  reader.add_doubts(std::move(doubts));
  FrameworkExperiment parts = read_torchtitan(reader, job, input);
  return assembled(reader, std::move(parts), input);
}

}  // namespace

ImportedExperiment import_torchtitan(const ImportInput& input) {
  if (form_of(input.text, input.file) != TextForm::kShell) {
    return import_job(input, {});
  }
  TorchtitanLaunch launch = read_torchtitan_launch(input);
  return import_job(launch.input, std::move(launch.doubts));
}

}  // namespace stepcast
