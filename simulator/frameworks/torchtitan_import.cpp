// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "frameworks/assignment_settings.hpp"
#include "frameworks/toml_settings.hpp"
#include "frameworks/torchtitan.hpp"
#include "frameworks/torchtitan_flavors.hpp"
#include "frameworks/torchtitan_reader.hpp"
#include "frameworks/torchtitan_recipe.hpp"

namespace stepcast {
namespace {

// What keys of 2024 and early 2025 are called since; a name that ends in '.' stands for a section.
struct Renamed {
  std::string_view before;
  std::string_view since;
};
constexpr std::array kRenamed = {
    Renamed{"training.batch_size", "training.local_batch_size"},
    Renamed{"training.compile", "compile.enable"},
    Renamed{"training.data_parallel_degree", "parallelism.data_parallel_shard_degree"},
    Renamed{"training.data_parallel_shard_degree", "parallelism.data_parallel_shard_degree"},
    Renamed{"training.data_parallel_replicate_degree",
            "parallelism.data_parallel_replicate_degree"},
    Renamed{"training.tensor_parallel_degree", "parallelism.tensor_parallel_degree"},
    Renamed{"training.fsdp_reshard_after_forward", "parallelism.fsdp_reshard_after_forward"},
    Renamed{"experimental.context_parallel_degree", "parallelism.context_parallel_degree"},
    Renamed{"experimental.context_parallel_rotate_method",
            "parallelism.context_parallel_rotate_method"},
    Renamed{"experimental.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
    Renamed{"experimental.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule"},
    Renamed{"experimental.enable_async_tensor_parallel",
            "parallelism.enable_async_tensor_parallel"},
    Renamed{"float8.", "quantize.linear.float8."},
    Renamed{"mx.", "quantize.linear.mx."},
};

void rename(std::vector<Setting>& settings) {
  for (Setting& setting : settings) {
    const auto* const found =
        std::find_if(kRenamed.begin(), kRenamed.end(), [&](const Renamed& row) {
          return row.before.ends_with('.') ? setting.name.starts_with(row.before)
                                           : setting.name == row.before;
        });
    if (found != kRenamed.end()) {
      setting.name = std::string(found->since) + setting.name.substr(found->before.size());
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

bool is_module(std::string_view name) {
  const auto flavors = torchtitan_flavors();
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

// Of a recipe: what was said, its folder, or the beginning of the function's name.
std::string module_of(const std::string& said, const ImportInput& input,
                      const std::string& function) {
  if (!said.empty()) {
    return said;
  }
  if (std::string folder = folder_name(input.folder); is_module(folder)) {
    return folder;
  }
  for (const ModelFlavor& row : torchtitan_flavors()) {
    if (function.starts_with(std::string(row.module) + "_")) {
      return std::string(row.module);
    }
  }
  return "llama3";
}

}  // namespace

ImportedExperiment import_torchtitan(const ImportInput& input) {
  std::vector<Setting> overrides = assignment_settings(input.overrides);
  TorchtitanJob job{is_recipe(input), {}};
  std::vector<Setting> settings;
  if (job.recipe) {
    std::string function = taken(overrides, "CONFIG");
    function = function.empty() ? taken(overrides, "config") : function;
    std::string module = taken(overrides, "MODULE");
    module = module.empty() ? taken(overrides, "module") : module;
    job.module = module_of(module, input, function);
    settings = torchtitan_recipe(input.text, input.file, function);
  } else {
    settings = toml_settings(input.text, input.file);
    if (settings.empty() && kept_assignments(input.text).empty()) {
      throw ConfigError({input.file, 1, 1},
                        "the file has no key; it needs sections such as [model] and [training]");
    }
  }
  settings.insert(settings.end(), overrides.begin(), overrides.end());
  rename(settings);
  Diagnostics diagnostics;
  FrameworkReader reader(std::move(settings), diagnostics);
  FrameworkExperiment parts = read_torchtitan(reader, job, input);
  reader.finish(input.unknown);
  diagnostics.throw_if_any();
  parts.remarks = reader.take_remarks();
  return assembled(std::move(parts), input);
}

}  // namespace stepcast
