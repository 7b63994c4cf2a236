// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <utility>

#include "frameworks/bridge_adapters.hpp"
#include "frameworks/bridge_python.hpp"
#include "frameworks/bridge_recipe.hpp"
#include "frameworks/job_size.hpp"
#include "frameworks/launch_command.hpp"
#include "frameworks/megatron_core.hpp"
#include "frameworks/megatron_import.hpp"
#include "frameworks/primus_import.hpp"
#include "frameworks/shell_script.hpp"
#include "frameworks/text_form.hpp"
#include "frameworks/trainer_files.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/scalar.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kPresetSet = "megatron_bridge";
constexpr std::string_view kLibrarySet = "megatron_bridge_plain";
constexpr std::string_view kLauncher = "setup_experiment.py";
constexpr LaunchedProgram kRecipeProgram{"Megatron Bridge's run_recipe.py", "run_recipe",
                                         ArgumentForm::kAssignments};

// Options of the launcher, and fields of recipes, that change nothing that is predicted.
constexpr std::string_view kLauncherOptions =
    "m model_family_name a account p partition i container_image d dryrun t time_limit hf hf_token "
    "nh nemo_home l log_dir wandb_* wdk wdp wde wdj max_steps domain use_recipes detach "
    "max_retries offline en enable_nsys vb enable_vboost data packed_* container_* cm custom_* cmd "
    "lock_gpu_freq additional_slurm_params dedicated_buffers high_priority_a2a_comm_stream "
    "init_model_with_meta_device moe_mlp_glu_interleave_size moe_hybridep_* use_te_rng_tracker "
    "should_pad_vocab moe_permute_fusion_into_hybridep cfg use_tokenizer_vocab_size "
    "bias_activation_fusion bootstrap_backend enabled moe_pad_experts_for_cuda_graph_inference";

// --- the launcher's command ---------------------------------------------------------------------

// The settings of a command's words: "-g 8", "--num_gpus=8", "model.seq_length=4096". What stands
// behind one of them is more of its value.
void add_settings(std::span<const ShellWord> words, std::vector<Setting>& settings) {
  for (const ShellWord& word : words) {
    const std::string& text = word.text;
    const std::size_t equals = text.find('=');
    const bool option =
        text.size() > 1 && text.front() == '-' && ascii::is_letter(text[text[1] == '-' ? 2 : 1]);
    if (option) {
      const std::size_t begin = text[1] == '-' ? 2 : 1;
      const bool given = equals != std::string::npos;
      settings.push_back(
          text_setting(bridge_field(text.substr(begin, (given ? equals : text.size()) - begin)),
                       given ? text.substr(equals + 1) : "true", word.where));
    } else if (equals != std::string::npos) {
      settings.push_back(
          text_setting(bridge_field(text.substr(0, equals)), text.substr(equals + 1), word.where));
    } else if (!settings.empty() && settings.back().value.text == "true") {
      settings.back().value.text = text;
    } else if (!settings.empty()) {
      settings.back().value.text += " " + text;
    }
  }
}

BridgeFile read_launcher(const ImportInput& input) {
  const ShellScript script =
      run_script(input.text, input.file, shell_assignments(input.overrides),
                 [](const std::string&) { return std::optional<std::string>{}; });
  BridgeFile file;
  file.recipe.task = "pretrain";
  file.changes_recipe = true;
  for (const ShellCommand& command : script.commands) {
    const auto launcher = std::ranges::find_if(
        command.words, [](const ShellWord& word) { return word.text.ends_with(kLauncher); });
    if (launcher != command.words.end()) {
      add_settings({launcher + 1, command.words.end()}, file.settings);
    }
  }
  return file;
}

// Takes a setting that says what the recipe is out of the others.
std::string taken(std::vector<Setting>& settings, std::string_view name, const std::string& usual) {
  std::string value = usual;
  for (const Setting& setting : settings) {
    value = setting.name == name ? setting.value.text : value;
  }
  std::erase_if(settings, [name](const Setting& setting) { return setting.name == name; });
  return value;
}

void name_recipe(BridgeFile& file) {
  BridgeRecipe& recipe = file.recipe;
  recipe.model = taken(file.settings, "model_recipe_name", recipe.model);
  // Launchers of 2025 had the two parts of the name apart.
  const std::string older = taken(file.settings, "model_name", {});
  const std::string size = taken(file.settings, "model_size", {});
  if (recipe.model.empty()) {
    recipe.model = older + (older.empty() || size.empty() ? "" : "_") + size;
  }
  recipe.gpu = taken(file.settings, "gpu", recipe.gpu);
  recipe.precision = taken(file.settings, "compute_dtype", recipe.precision);
  std::erase(recipe.precision, '_');
  recipe.variant = taken(file.settings, "config_variant", recipe.variant);
  recipe.task = taken(file.settings, "task", recipe.task);
  recipe.gpus = leading_number(taken(file.settings, "num_gpus", std::to_string(recipe.gpus)))
                    .value_or(recipe.gpus);
  file.has_plan =
      file.has_plan ||
      std::any_of(file.settings.begin(), file.settings.end(), [](const Setting& setting) {
        return setting.name == "tensor_model_parallel_size" ||
               setting.name == "pipeline_model_parallel_size";
      });
}

// A recipe by its name: as the table has it, else what its name says.
BridgeFile read_name(const std::string& name, const ImportInput& input) {
  const std::optional<BridgeTableEntry> known = bridge_table_entry(name, input.data);
  const std::optional<BridgeRecipe> named = parse_bridge_recipe(known ? known->name : name);
  if (!named) {
    throw ConfigError({input.file, 0, 0},
                      "is no recipe that is known" +
                          did_you_mean(name, {bridge_table_names(name, input.data)}) +
                          "; a name is such as llama3_8b_pretrain_8gpu_h100_bf16_config");
  }
  BridgeFile file;
  file.recipe = *named;
  file.changes_recipe = true;
  return file;
}

bool is_one_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), ascii::is_word);
}

// run_recipe.py --recipe NAME KEY=VALUE ..., as a script starts it on the GPUs of its launcher.
BridgeFile read_recipe_launch(const ImportInput& input, const std::string& wanted) {
  LaunchCommand command = launched_script(kRecipeProgram, input).command;
  std::vector<Setting> settings;
  add_settings(command.arguments, settings);
  const std::string given = taken(settings, "recipe", {});
  const std::string name = wanted.empty() ? given : wanted;
  if (name.empty()) {
    throw ConfigError({input.file, 0, 0},
                      "starts run_recipe.py with no --recipe; give recipe=NAME behind the file");
  }
  if (!bridge_table_entry(name, input.data) && !parse_bridge_recipe(name)) {
    throw ConfigError({input.file, 0, 0},
                      "starts the recipe '" + name.substr(0, 100) + "', which is not known here" +
                          did_you_mean(name, {bridge_table_names(name, input.data)}) +
                          "; give recipe=NAME behind the file");
  }
  BridgeFile file = read_name(name, input);
  file.settings = std::move(settings);
  file.doubts = std::move(command.doubts);
  file.size = launch_size(command.launcher);
  file.keeps_batch = true;
  file.grows_segments = command.grows_segments;
  return file;
}

BridgeFile read_bridge_file(const ImportInput& input, const std::string& wanted) {
  const std::string trimmed = input.text.substr(0, input.text.find_last_not_of(" \r\n") + 1);
  if (is_one_word(trimmed)) {
    return read_name(trimmed, input);
  }
  if (input.text.find(kLauncher) != std::string::npos) {
    return read_launcher(input);
  }
  if (form_of(input.text, input.file) == TextForm::kShell) {
    return read_recipe_launch(input, wanted);
  }
  return read_python_recipe(input, wanted);
}

std::int64_t ranks_of_replica(const std::vector<Setting>& settings) {
  return degree_in(settings, "tensor_model_parallel_size") *
         degree_in(settings, "pipeline_model_parallel_size") *
         degree_in(settings, "context_parallel_size");
}

// The launcher keeps the batch of a replica where the number of replicas is another than the
// recipe's: scripts/performance/utils/overrides.py, set_post_overrides.
void scale_batch(const BridgeTableEntry& base, std::vector<Setting>& settings,
                 const BridgeFile& file) {
  constexpr std::string_view kBatch = "global_batch_size";
  const auto given = [&](const Setting& setting) { return setting.name == kBatch; };
  const std::int64_t base_gpus = parse_bridge_recipe(base.name).value_or(BridgeRecipe{}).gpus;
  const std::int64_t base_replicas = base_gpus / ranks_of_replica(base.settings);
  const std::int64_t replicas = file.recipe.gpus / ranks_of_replica(settings);
  const bool stated = std::any_of(file.settings.begin(), file.settings.end(), given);
  const auto batch = std::find_if(settings.begin(), settings.end(), given);
  if (batch != settings.end() && !stated && !file.keeps_batch && base_replicas > 0 &&
      replicas != base_replicas) {
    const std::int64_t size = leading_number(batch->value.text).value_or(0);
    batch->value.text = std::to_string(size * replicas / base_replicas);
  }
}

// What the recipe that the name or the launcher's options choose says, before what changes it.
void begin_from_recipe(BridgeFile& file, const ImportInput& input) {
  if (!file.changes_recipe) {
    return;
  }
  std::optional<BridgeTableEntry> base =
      bridge_table_entry(bridge_recipe_name(file.recipe), input.data);
  base = base ? base : bridge_table_largest(file.recipe, input.data);
  if (base) {
    std::vector<Setting> settings = base->settings;
    settings.insert(settings.end(), file.settings.begin(), file.settings.end());
    scale_batch(*base, settings, file);
    file.settings = std::move(settings);
    file.has_plan = true;
    file.base = base->name;
    file.of_library = base->of_library;
  }
}

MegatronSource bridge_source(const BridgeFile& file, const ImportInput& input) {
  const BridgeRecipe& recipe = file.recipe;
  const Location where{input.file, 0, 0};
  MegatronSource source;
  source.whole_file = where;
  source.software = file.of_library ? kLibrarySet : kPresetSet;
  source.grouped_by_switch = false;
  source.uneven_stages = true;
  source.distributed_optimizer = true;
  source.gpu = bridge_gpu(recipe.gpu);
  if (source.gpu.empty() && !recipe.gpu.empty() && input.gpu.empty()) {
    throw ConfigError(where, "runs on the GPU '" + recipe.gpu.substr(0, 60) +
                                 "', of which there is no profile; give --gpu");
  }
  if (!input.nodes) {
    source.gpus = cluster_gpus(input, file.size.nodes, file.size.gpus_per_node, source.gpu);
    source.gpus = source.gpus ? source.gpus : file.size.gpus;
    source.gpus = !source.gpus && recipe.gpus > 0 ? recipe.gpus : source.gpus;
  }
  if (recipe.model.empty()) {
    throw ConfigError(where,
                      "has no recipe: neither a function that builds one nor a command of "
                      "setup_experiment.py with --model_recipe_name");
  }
  const std::string model = shipped_model(bridge_model(recipe.model), input.data);
  if (model.empty()) {
    throw ConfigError(where, "has the model '" + recipe.model.substr(0, 60) +
                                 "', which is no shipped one; 'stepcast list models' shows them");
  }
  source.model = load_named_model(model, input.data, where);
  source.model_is_named = true;
  return source;
}

// What recipes have where they say nothing: the sequence that is usual for the model and the task,
// or where no recipe shows one the 4,096 tokens of most. A recipe of the table says all that it
// overlaps (training/comm_overlap.py: off), so that what its software set has for others is off.
std::vector<Setting> usual_fields(const BridgeFile& file, const DataRoot& data,
                                  std::vector<Setting> precision, const Location& where) {
  const std::string sequence = bridge_table_usual(file.recipe, "seq_length", data);
  if (!file.base.empty()) {
    precision.push_back(text_setting("overlap_moe_expert_parallel_comm", "false", where));
    precision.push_back(text_setting("delay_wgrad_compute", "false", where));
  }
  precision.push_back(text_setting("seq_length", sequence.empty() ? "4096" : sequence, where));
  precision.push_back(text_setting("expert_tensor_parallel_size", "1", where));
  precision.push_back(text_setting("sequence_parallel", "true", where));
  return precision;
}

void remark_on(const BridgeFile& file, FrameworkReader& settings) {
  for (const std::string& call : file.calls) {
    settings.assume("recipe", call, "a call that is not followed");
  }
  for (const std::string& value : file.values) {
    settings.assume("recipe", value, "its value is no literal and is left out");
  }
  if (!file.base.empty() && file.base != bridge_recipe_name(file.recipe)) {
    settings.assume("recipe", file.base,
                    "for " + std::to_string(file.recipe.gpus) +
                        " GPUs, with the batch of a replica, as the launcher does");
  }
  if (file.of_library) {
    settings.assume("software", std::string(kLibrarySet),
                    "a recipe of the library and no performance preset: no graphs, and what its "
                    "fields do not turn on is off");
  }
  if (!file.has_plan) {
    settings.assume("plan", "not stated",
                    "the table of recipes has no " + bridge_recipe_name(file.recipe) +
                        ": a sensible plan is taken");
  }
}

}  // namespace

ImportedExperiment import_megatron_bridge(const ImportInput& input) {
  const FrameworkWords words = megatron_words(input.data);
  std::vector<Setting> given = override_settings(input.overrides, words);
  for (Setting& setting : given) {
    setting.name = bridge_field(setting.name);
  }
  BridgeFile file = read_bridge_file(input, taken(given, "recipe", {}));
  file.settings.insert(file.settings.end(), given.begin(), given.end());
  name_recipe(file);
  begin_from_recipe(file, input);
  MegatronSource source = bridge_source(file, input);
  const Location where{input.file, 0, 0};
  const auto precision =
      bridge_precision(file.recipe.precision.empty() ? "bf16" : file.recipe.precision, where);
  if (!precision) {
    throw ConfigError(where, "has the precision '" + file.recipe.precision.substr(0, 60) +
                                 "'; known are bf16, fp8cs, fp8ds, fp8sc, fp8mx and nvfp4");
  }
  if (input.nodes) {
    source.gpus = cluster_gpus(input, {}, {}, source.gpu);
  }
  Diagnostics diagnostics;
  FrameworkReader settings(std::move(file.settings), diagnostics);
  settings.add_doubts(std::move(file.doubts));
  settings.add_defaults(usual_fields(file, input.data, *precision, where));
  remark_on(file, settings);
  settings.without_effect(kLauncherOptions);
  source.gpus_per_node = settings.count("gpus_per_node", "cluster.gpus_per_node");
  const std::optional<ConfigNode> adapters = read_bridge_adapters(settings, file.recipe.task);
  FrameworkExperiment parts = read_megatron(settings, source, words, input.unknown);
  diagnostics.throw_if_any();
  add_adapters(adapters, parts);
  if (!file.has_plan) {
    parts.plan.entries.clear();
  }
  parts.grows_segments = file.grows_segments;
  return assembled(std::move(parts), input);
}

}  // namespace stepcast
