// SPDX-License-Identifier: Apache-2.0
// Source: mlcommons/training_results v3.0 to v6.0, NVIDIA's config_*.sh of its language models.
#include <algorithm>
#include <array>

#include "frameworks/job_size.hpp"
#include "frameworks/megatron_core.hpp"
#include "frameworks/megatron_import.hpp"
#include "frameworks/shell_script.hpp"
#include "frameworks/words.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/scalar.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

struct MlperfModel {
  std::string_view part;  // of a path or a file's name
  std::string_view ours;
  std::int64_t sequence;
  std::string_view size = {};  // MODEL_SIZE or SIZE, where a folder has configurations of several
  std::string_view software = "mlperf";
  bool lora = false;
};
constexpr std::array kMlperfModels = {
    MlperfModel{"llama2_70b_lora", "llama2_70b", 8192, "", "mlperf_lora_5.1", true},
    MlperfModel{"llama31_405b", "llama3.1_405b", 8192, "405b"},
    MlperfModel{"llama31_8b", "llama3.1_8b", 8192, "8b"},
    MlperfModel{"llama3_8b", "llama3.1_8b", 8192, "8b"},
    MlperfModel{"common_8b", "llama3.1_8b", 8192, "8b"},
    MlperfModel{"deepseekv3", "deepseek_v3", 4096, "", "mlperf_6.0"},
    MlperfModel{"gpt_oss_20b", "gpt_oss_20b", 8192},
    MlperfModel{"gpt3", "gpt3_175b", 2048},
    MlperfModel{"large_language_model", "gpt3_175b", 2048},
};
struct MlperfGpu {
  std::string_view part;
  std::string_view ours;
  std::string_view lora_software = {};  // where the vendor's submissions have a set of their own
};
constexpr std::string_view kAmdLora = "mlperf_lora_amd";
constexpr std::array kMlperfGpus = {MlperfGpu{"gb300", "gb300"},
                                    MlperfGpu{"gb200", "gb200"},
                                    MlperfGpu{"b300", "b300"},
                                    MlperfGpu{"b200", "b200"},
                                    MlperfGpu{"h200", "h200_sxm"},
                                    MlperfGpu{"h100", "h100_sxm"},
                                    MlperfGpu{"mi355x", "mi355x", kAmdLora},
                                    MlperfGpu{"mi350x", "mi350x", kAmdLora},
                                    MlperfGpu{"mi325x", "mi325x", kAmdLora},
                                    MlperfGpu{"mi300x", "mi300x", kAmdLora}};

std::string_view first_digits(std::string_view text) {
  return text.substr(0, std::min(text.size(), text.find_first_not_of("0123456789")));
}

// "_128x4x240x" of a file's name: nodes, processes of each, MINIBS; empty without them.
std::vector<std::string> sizes_in(std::string_view name) {
  constexpr std::array<std::size_t, 3> kMostDigits = {6, 3, 6};
  for (std::size_t at = name.find('_'); at != std::string_view::npos; at = name.find('_', at + 1)) {
    std::string_view rest = name.substr(at + 1);
    std::vector<std::string> sizes;
    for (const std::size_t most : kMostDigits) {
      const std::string_view digits = first_digits(rest);
      if (digits.empty() || digits.size() > most || !rest.substr(digits.size()).starts_with('x')) {
        break;
      }
      sizes.emplace_back(digits);
      rest.remove_prefix(digits.size() + 1);
    }
    if (sizes.size() == kMostDigits.size()) {
      return sizes;
    }
  }
  return {};
}

// The degree of "tp" in "xtp2pp4ep32cp1", two letters and a number each; empty without it.
std::string degree_in(std::string_view name, std::string_view wanted) {
  constexpr std::size_t kMostDigits = 5;
  for (std::size_t at = name.find('x'); at != std::string_view::npos; at = name.find('x', at + 1)) {
    std::string_view rest = name.substr(at + 1);
    std::string_view found;
    while (rest.size() > 2 && ascii::is_lower(rest[0]) && ascii::is_lower(rest[1])) {
      const std::string_view digits = first_digits(rest.substr(2));
      if (digits.empty()) {
        break;
      }
      found = rest.starts_with(wanted) ? digits.substr(0, kMostDigits) : found;
      rest.remove_prefix(2 + digits.size());
    }
    if (!found.empty()) {
      return std::string(found);
    }
  }
  return {};
}

// What the name of a file says: config_GB200_128x4x240xtp2pp4ep32cp1_mxfp8.sh.
struct NamedShape {
  std::vector<Setting> settings;
  std::string minibs;
};
NamedShape shape_of_name(const std::string& name) {
  NamedShape shape;
  const Location where{name, 0, 0};
  if (name.size() > 300) {
    return shape;
  }
  if (const std::vector<std::string> sizes = sizes_in(name); !sizes.empty()) {
    shape.settings.push_back(text_setting("nnodes", sizes[0], where));
    shape.settings.push_back(text_setting("nproc_per_node", sizes[1], where));
    shape.minibs = sizes[2];
  }
  for (const Word& entry :
       {Word{"tp", "tensor_model_parallel_size"}, Word{"pp", "pipeline_model_parallel_size"},
        Word{"cp", "context_parallel_size"}, Word{"ep", "expert_model_parallel_size"}}) {
    if (std::string degree = degree_in(name, entry.theirs); !degree.empty()) {
      shape.settings.push_back(text_setting(std::string(entry.ours), std::move(degree), where));
    }
  }
  return shape;
}

class MlperfFile {
 public:
  explicit MlperfFile(const ImportInput& input)
      : input_(input), words_(load_framework_words(input.data, "mlperf")) {
    const ShellSources sources = [&](const std::string& name) { return sourced(name); };
    script_ = run_script(input.text, input.file, shell_assignments(input.overrides), sources);
    name_ = std::filesystem::path(input.file).filename().string();
    places_ = ascii::lower_case(input.file + " " + input.folder.string() + places_);
  }

  std::vector<Setting> settings() {
    NamedShape shape = shape_of_name(name_);
    std::vector<Setting> stated;
    for (const FrameworkWord& row : words_.words()) {
      for (const std::string& name : row.theirs) {
        if (std::string value = variable(name); !value.empty()) {
          stated.push_back(
              text_setting(name, std::move(value), {name + " of " + input_.file, 0, 0}));
        }
      }
    }
    for (Setting& setting : words_.as_fields(std::move(stated))) {
      shape.settings.push_back(std::move(setting));
    }
    minibs_ = variable("MINIBS").empty() ? shape.minibs : variable("MINIBS");
    read_precision(shape.settings);
    read_graph(shape.settings);
    return std::move(shape.settings);
  }

  [[nodiscard]] std::optional<std::int64_t> minibs() const {
    const std::int64_t number = leading_number(minibs_).value_or(0);
    return number > 0 && number < (1 << 30) ? std::optional(number) : std::nullopt;
  }
  // By the size that the file states, else by where it lies.
  [[nodiscard]] const MlperfModel* model() const {
    const std::string stated =
        variable("MODEL_SIZE").empty() ? variable("SIZE") : variable("MODEL_SIZE");
    const MlperfModel* const found =
        stated.empty() ? nullptr : row_with(kMlperfModels, &MlperfModel::size, stated);
    return found == nullptr ? row_within(kMlperfModels, &MlperfModel::part, places_) : found;
  }
  [[nodiscard]] const MlperfGpu* gpu() const {
    const std::string name =
        ascii::lower_case(name_ + " " + variable("DGXSYSTEM") + " " + variable("GPU_ARCH"));
    return row_within(kMlperfGpus, &MlperfGpu::part, name);
  }
  // Variables that nothing here reads.
  [[nodiscard]] std::vector<std::string> others() const {
    constexpr std::string_view kRead =
        "MINIBS MODEL_SIZE SIZE FP8 FP8_HYBRID FP8_RECIPE FP4 DGXSYSTEM GPU_ARCH LAYER_CUDA_GRAPH "
        "MCORE_CUDA_GRAPH FULL_CUDA_GRAPH CUDA_GRAPH_SCOPE";
    std::vector<std::string> names;
    for (const auto& variable : script_.variables) {
      const std::string& name = variable.first;
      const bool known = is_among(kRead, name) || words_.word(name) != nullptr;
      if (!known) {
        names.push_back(name);
      }
    }
    return names;
  }

 private:
  std::optional<std::string> sourced(const std::string& name) {
    places_ += " " + std::filesystem::path(name).filename().string();
    return text_beside(input_, name);
  }

  [[nodiscard]] std::string variable(std::string_view name) const {
    const auto found = script_.variables.find(std::string(name));
    return found == script_.variables.end() || found->second.empty() ? std::string{}
                                                                     : found->second.front();
  }
  [[nodiscard]] bool is_true(std::string_view name) const {
    const std::string value = ascii::lower_case(variable(name));
    return value == "true" || value == "1";
  }

  void add(std::string_view field, const std::string& value, std::vector<Setting>& settings) const {
    if (!value.empty()) {
      settings.push_back(text_setting(std::string(field), value, {input_.file, 0, 0}));
    }
  }

  void read_precision(std::vector<Setting>& settings) const {
    const std::string name = ascii::lower_case(name_);
    const bool fp4 = is_true("FP4") || name.find("fp4") != std::string::npos;
    const bool fp8 = is_true("FP8") || name.find("fp8") != std::string::npos;
    if (fp4) {
      add("fp4", "e2m1", settings);
    } else if (fp8) {
      add("fp8", "hybrid", settings);
      const std::string stated = variable("FP8_RECIPE");
      add("fp8_recipe",
          name.find("mxfp8") != std::string::npos && stated.empty() ? "mxfp8" : stated, settings);
    }
  }

  void read_graph(std::vector<Setting>& settings) const {
    const bool any = is_true("LAYER_CUDA_GRAPH") || is_true("MCORE_CUDA_GRAPH");
    const bool full = is_true("FULL_CUDA_GRAPH");
    const bool stated = !variable("LAYER_CUDA_GRAPH").empty() ||
                        !variable("MCORE_CUDA_GRAPH").empty() ||
                        !variable("FULL_CUDA_GRAPH").empty();
    if (stated) {
      add("cuda_graph_impl",
          full  ? "full_iteration"
          : any ? "transformer_engine"
                : "none",
          settings);
    }
  }

  const ImportInput& input_;
  FrameworkWords words_;
  ShellScript script_;
  std::string name_;
  std::string places_;  // where a model's name may stand
  std::string minibs_;
};

// The global batch that MINIBS means, and the model, beneath what is given.
void complete(const MlperfFile& file, const ImportInput& input, FrameworkReader& settings,
              MegatronSource& source) {
  const MlperfModel* model = file.model();
  const std::string named =
      settings.text("model", "model")
          .value_or(model == nullptr ? std::string{} : std::string(model->ours));
  if (named.empty()) {
    throw ConfigError(source.whole_file,
                      "names no model, nor does its folder; give model=NAME behind the file");
  }
  source.model = load_named_model(named, input.data, source.whole_file);
  source.model_is_named = true;
  const auto degree = [&](std::string_view name) {
    return std::max<std::int64_t>(1, settings.count(name, {}).value_or(1));
  };
  const auto nodes = settings.count("nnodes", "cluster.nodes");
  source.gpus_per_node = settings.count("nproc_per_node", "cluster.gpus_per_node");
  source.gpus = cluster_gpus(input, nodes, source.gpus_per_node, source.gpu);
  std::vector<Setting> usual;
  const auto add = [&](std::string_view name, const std::string& value) {
    usual.push_back(text_setting(std::string(name), value, source.whole_file));
  };
  add("seq_length", std::to_string(model == nullptr ? 8192 : model->sequence));
  if (model != nullptr && model->lora) {
    add("cp_comm_type", "a2a");
  }
  add("bf16", "true");
  add("expert_tensor_parallel_size", "1");
  add("sequence_parallel", "true");
  if (file.minibs() && source.gpus) {
    const std::int64_t rank = degree("tensor_model_parallel_size") *
                              degree("pipeline_model_parallel_size") *
                              degree("context_parallel_size");
    add("global_batch_size",
        std::to_string(*file.minibs() * std::max<std::int64_t>(1, *source.gpus / rank)));
  }
  settings.add_defaults(std::move(usual));
}

}  // namespace

ImportedExperiment import_mlperf(const ImportInput& input) {
  MlperfFile file(input);
  std::vector<Setting> all = file.settings();
  const FrameworkWords words = megatron_words(input.data);
  for (Setting& setting : override_settings(input.overrides, words)) {
    all.push_back(std::move(setting));
  }
  Diagnostics diagnostics;
  FrameworkReader settings(std::move(all), diagnostics);
  MegatronSource source;
  source.whole_file = {input.file, 0, 0};
  source.distributed_optimizer = true;
  const MlperfModel* const model = file.model();
  const MlperfGpu* const gpu = file.gpu();
  const bool lora = model != nullptr && model->lora;
  source.gpu = gpu == nullptr ? std::string_view{} : gpu->ours;
  source.software = model == nullptr ? "mlperf" : model->software;
  if (lora && gpu != nullptr && !gpu->lora_software.empty()) {
    source.software = gpu->lora_software;
  }
  complete(file, input, settings, source);
  for (const std::string& name : file.others()) {
    settings.remark({ImportOutcome::kWithoutEffect, name, {}, {}, {}, {}});
  }
  FrameworkExperiment parts = read_megatron(settings, source, words, UnknownSettings::kRemarked);
  diagnostics.throw_if_any();
  if (lora) {
    parts.training.entries.push_back(
        {"lora", 0, 0, parse_config("{rank: 16, targets: [qkv, o], dropout: true}", input.file)});
  }
  return assembled(std::move(parts), input);
}

}  // namespace stepcast
