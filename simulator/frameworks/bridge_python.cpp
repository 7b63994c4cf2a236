// SPDX-License-Identifier: Apache-2.0
#include "frameworks/bridge_python.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "frameworks/bridge_table.hpp"
#include "frameworks/python_assignments.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

struct FieldName {
  std::string_view theirs;
  std::string_view field;
};
// Short options of the launcher, and names that recipes have for Megatron's fields.
constexpr std::array kFieldNames = {
    FieldName{"tp", "tensor_model_parallel_size"},
    FieldName{"pp", "pipeline_model_parallel_size"},
    FieldName{"cp", "context_parallel_size"},
    FieldName{"vp", "virtual_pipeline_model_parallel_size"},
    FieldName{"ep", "expert_model_parallel_size"},
    FieldName{"et", "expert_tensor_parallel_size"},
    FieldName{"gb", "global_batch_size"},
    FieldName{"mb", "micro_batch_size"},
    FieldName{"sl", "seq_length"},
    FieldName{"num_moe_experts", "num_experts"},
    FieldName{"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
    FieldName{"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"},
    FieldName{"pp_layout", "pipeline_model_parallel_layout"},
    FieldName{"moe_a2a_overlap", "overlap_moe_expert_parallel_comm"},
    FieldName{"sequence_length", "seq_length"},
    FieldName{"g", "gpu"},
    FieldName{"ng", "num_gpus"},
    FieldName{"gn", "gpus_per_node"},
    FieldName{"c", "compute_dtype"},
    FieldName{"mr", "model_recipe_name"},
    FieldName{"ms", "max_steps"},
    FieldName{"cv", "config_variant"},
};

// Parts of a recipe that change nothing that is predicted.
constexpr auto kIgnored = std::to_array<std::string_view>(
    {"env_vars", "logger", "checkpoint", "rng", "scheduler", "rerun_state_machine", "profiling",
     "dist", "validation", "straggler", "inprocess_restart", "nvrx_straggler", "ft",
     "tensor_inspect", "peft_path"});

// --- a recipe in Python -------------------------------------------------------------------------

std::string precision_in(std::string_view text) {
  constexpr std::array kWords = {FieldName{"mxfp8", "fp8mx"},      FieldName{"fp8_mx", "fp8mx"},
                                 FieldName{"current", "fp8cs"},    FieldName{"fp8_cs", "fp8cs"},
                                 FieldName{"delayed", "fp8ds"},    FieldName{"fp8_ds", "fp8ds"},
                                 FieldName{"subchannel", "fp8sc"}, FieldName{"fp8_sc", "fp8sc"},
                                 FieldName{"nvfp4", "nvfp4"},      FieldName{"bf16", "bf16"}};
  for (const FieldName& entry : kWords) {
    if (text.find(entry.theirs) != std::string_view::npos) {
      return std::string(entry.field);
    }
  }
  return {};
}

// "DEEPSEEK_V3_PRETRAIN_CONFIG_GB300_FP8_MX_V1", of a WorkloadBaseConfig.
std::optional<BridgeRecipe> workload_name(const std::string& name) {
  const std::string lower = ascii::lower_case(name);
  const std::size_t middle = lower.find("_pretrain_config_");
  if (middle == std::string::npos || lower == name) {
    return std::nullopt;
  }
  BridgeRecipe recipe;
  recipe.model = lower.substr(0, middle);
  recipe.task = "pretrain";
  const std::string rest = lower.substr(middle + 17);
  recipe.gpu = rest.substr(0, rest.find('_'));
  recipe.precision = precision_in(rest);
  return recipe;
}

class PythonRecipes {
 public:
  PythonRecipes(const ImportInput& input, const std::string& wanted)
      : input_(input), functions_(python_functions(input.text, input.file)) {
    chosen_ = choose(wanted);
  }

  BridgeFile file() {
    BridgeFile file;
    const std::string& name = functions_[chosen_].name;
    const std::optional<BridgeRecipe> workload = workload_name(name);
    file.recipe = workload ? *workload : parse_bridge_recipe(name).value_or(BridgeRecipe{});
    follow(chosen_, 0, file);
    return file;
  }

 private:
  std::size_t choose(const std::string& wanted) const {
    std::vector<std::size_t> recipes;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const std::string& name = functions_[i].name;
      if (name == wanted ||
          (wanted.empty() && (parse_bridge_recipe(name) || workload_name(name)))) {
        recipes.push_back(i);
      }
    }
    if (recipes.size() == 1) {
      return recipes.front();
    }
    if (recipes.empty() && wanted.empty() && functions_.size() == 1) {
      return 0;
    }
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(recipes.size(), 5); ++i) {
      names += (i > 0 ? ", " : ": ") + functions_[recipes[i]].name;
    }
    throw ConfigError(
        {input_.file, 0, 0},
        recipes.empty() ? "has no recipe" + (wanted.empty() ? std::string{} : " '" + wanted + "'") +
                              "; a recipe is a function such as "
                              "llama3_8b_pretrain_8gpu_h100_bf16_config"
                        : "has " + std::to_string(recipes.size()) +
                              " recipes; give recipe=NAME behind the file, one of" + names);
  }

  void follow(std::size_t index, int depth, BridgeFile& file) {
    for (const PythonAssignment& assignment : functions_[index].assignments) {
      const std::size_t dot = assignment.target.find('.');
      if (dot == std::string::npos && !assignment.literal) {
        begin_from(assignment.value.text, depth, file);
      } else if (dot != std::string::npos) {
        take(assignment, file);
      }
    }
    for (const std::string& call : functions_[index].calls) {
      if (call.starts_with("set_deepseek_v3_pipeline_model_parallel_layout")) {
        lays_out_ = true;
      } else if (!call.starts_with("return") && call.find('(') != std::string::npos) {
        file.calls.push_back(call.substr(0, call.find('(')));
      }
    }
    if (depth == 0 && lays_out_) {
      lay_out(file);
    }
  }

  // cfg = other_recipe(): one of this file, or one of the framework's own.
  void begin_from(const std::string& value, int depth, BridgeFile& file) {
    constexpr int kDeepestRecipe = 8;
    std::string name = value.substr(0, value.find('('));
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      if (functions_[i].name == name && depth < kDeepestRecipe && i != chosen_) {
        follow(i, depth + 1, file);
        return;
      }
    }
    name = name.starts_with('_') ? name.substr(1) : name;
    if (const auto known = bridge_table_entry(name, input_.data)) {
      file.settings.insert(file.settings.begin(), known->settings.begin(), known->settings.end());
    }
    const std::size_t task = name.find("_pretrain");
    if (file.recipe.model.empty() && task != std::string::npos) {
      file.recipe.model = name.substr(0, task);
    }
  }

  // What a recipe that this one begins from says of the format does not count beside another one.
  static void forget_precision(BridgeFile& file) {
    constexpr auto kFields = std::to_array<std::string_view>(
        {"fp8", "fp8_recipe", "fp8_param_gather", "fp4", "fp4_recipe", "fp4_param_gather",
         "grad_reduce_in_fp32", "first_last_layers_bf16", "fp8_dot_product_attention",
         "num_layers_at_start_in_bf16", "num_layers_at_end_in_bf16",
         "reuse_grad_buf_for_mxfp8_param_ag"});
    std::erase_if(file.settings, [&](const Setting& setting) {
      return std::find(kFields.begin(), kFields.end(), setting.name) != kFields.end();
    });
  }

  static void take(const PythonAssignment& assignment, BridgeFile& file) {
    const std::string& target = assignment.target;
    const std::size_t first = target.find('.') + 1;
    const std::string section = target.substr(first, target.find('.', first) - first);
    if (std::find(kIgnored.begin(), kIgnored.end(), section) != kIgnored.end()) {
      return;
    }
    if (section == "mixed_precision" && target.find('.', first) == std::string::npos) {
      const std::string precision = precision_in(assignment.value.text);
      forget_precision(file);
      file.recipe.precision = precision.empty() ? file.recipe.precision : precision;
      return;
    }
    if (!assignment.literal) {
      file.values.push_back(target);
      return;
    }
    file.settings.push_back({bridge_field(target.substr(first)), assignment.value});
  }

  // The layout that the framework has for the model and its stages.
  void lay_out(BridgeFile& file) const {
    const std::int64_t stages = degree_in(file.settings, "pipeline_model_parallel_size") *
                                degree_in(file.settings, "virtual_pipeline_model_parallel_size");
    std::string layout = bridge_table_layout(file.recipe.model, stages, input_.data);
    if (!layout.empty()) {
      file.settings.push_back(
          text_setting("pipeline_model_parallel_layout", std::move(layout), {}));
    }
  }

  const ImportInput& input_;
  std::vector<PythonFunction> functions_;
  std::size_t chosen_ = 0;
  bool lays_out_ = false;
};

}  // namespace

std::string bridge_field(std::string_view path) {
  constexpr std::string_view kAdapters = "peft.";
  const std::string_view name = path.substr(path.rfind('.') + 1);
  if (path.starts_with(kAdapters) || path.find(".peft.") != std::string_view::npos) {
    return "peft_" + std::string(name);
  }
  const auto* const known =
      std::find_if(kFieldNames.begin(), kFieldNames.end(),
                   [name](const FieldName& entry) { return entry.theirs == name; });
  return std::string(known == kFieldNames.end() ? name : known->field);
}

std::int64_t degree_in(const std::vector<Setting>& settings, std::string_view name) {
  constexpr std::int64_t kMost = 1024;
  std::int64_t value = 1;
  for (const Setting& setting : settings) {
    const std::string& text = setting.value.text;
    if (setting.name == name) {
      value = 1;
      std::from_chars(text.data(), text.data() + text.size(), value);
    }
  }
  return value > 0 && value < kMost ? value : 1;
}

BridgeFile read_python_recipe(const ImportInput& input, const std::string& wanted) {
  return PythonRecipes(input, wanted).file();
}

}  // namespace stepcast
