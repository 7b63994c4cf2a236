// SPDX-License-Identifier: Apache-2.0
#include "importers/published_run.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "frameworks/bridge_recipe.hpp"
#include "importers/published_names.hpp"
#include "importers/remark.hpp"

namespace stepcast {
namespace {

// The rows that a script launched: those of a source whose title has the words, of a model, on a
// GPU and with so many stages in all; empty and 0 stand for any.
struct LaunchScript {
  std::string_view source{};
  std::string_view title{};
  std::string_view model{};
  std::string_view gpu{};
  std::int64_t stages = 0;
  // What it says; empty where it says nothing.
  bool lays_out = false;       // stages, with one module that predicts a further token, as Megatron
                               // Bridge's recipes of the model have them for so many
  std::string_view modules{};  // recomputed
  std::string_view cluster{};
  std::string_view software{};  // in the place of the framework's undated set
  std::string_view file{};
};

constexpr std::string_view kBridge = "megatron-bridge";
constexpr std::string_view kRecipe = "recipes/deepseek/deepseek_v3.py of its release";
constexpr std::string_view kWorkloads = "scripts/performance/configs of its release";
constexpr std::string_view kMlperf6 = "mlperf-training-v6.0";
constexpr std::string_view kMlperfLayout = "config_GB200_*.sh, PIPELINE_LAYOUT";
constexpr std::string_view kBenchmarks = "nvidia-dgxc-benchmarking";
constexpr std::string_view kLaunch = "deepseek_v3/pretraining/launch.sh";

constexpr std::array kScripts = {
    LaunchScript{.source = kBridge, .model = "deepseek_v3", .lays_out = true, .file = kRecipe},
    LaunchScript{.source = kBridge,
                 .model = "deepseek_v3",
                 .gpu = "h100_sxm",
                 .modules = "mla_up_proj mlp",
                 .file = kWorkloads},
    LaunchScript{.source = kBridge,
                 .model = "deepseek_v3",
                 .gpu = "gb200",
                 .modules = "mla_up_proj",
                 .file = kWorkloads},
    LaunchScript{.source = kBridge,
                 .model = "deepseek_v3",
                 .gpu = "b200",
                 .modules = "mla_up_proj",
                 .file = kWorkloads},
    LaunchScript{.source = kBridge,
                 .model = "gpt_oss_120b",
                 .gpu = "h100_sxm",
                 .modules = "layernorm moe_act",
                 .file = kWorkloads},
    LaunchScript{.source = kBridge,
                 .model = "gpt_oss_120b",
                 .gpu = "gb200",
                 .modules = "layernorm moe_act",
                 .file = kWorkloads},
    LaunchScript{.source = kBridge,
                 .model = "gpt_oss_120b",
                 .gpu = "b200",
                 .modules = "layernorm moe_act",
                 .file = kWorkloads},
    LaunchScript{.source = kMlperf6,
                 .model = "deepseek_v3",
                 .gpu = "gb300",
                 .stages = 16,
                 .lays_out = true,
                 .file = kMlperfLayout},
    LaunchScript{.source = kMlperf6,
                 .model = "deepseek_v3",
                 .gpu = "gb200",
                 .stages = 16,
                 .lays_out = true,
                 .cluster = "gb200_mlperf_v6",
                 .file = kMlperfLayout},
    LaunchScript{.source = kBenchmarks,
                 .title = "v25.05.05 deepseek_v3",
                 .model = "deepseek_v3",
                 .gpu = "gb200",
                 .modules = "core_attn",
                 .software = "nemo_2025_04",
                 .file = kLaunch},
    LaunchScript{.source = kBenchmarks,
                 .title = "v25.05.05 deepseek_v3",
                 .model = "deepseek_v3",
                 .gpu = "h100_sxm",
                 .modules = "mla_up_proj",
                 .software = "nemo_2025_04",
                 .file = kLaunch}};

std::string model_of(const Record& experiment) {
  const Record& model = experiment["model"];
  return model.is_string() ? model.get<std::string>() : model.value("base", "");
}

std::string because(const LaunchScript& script) { return ": " + std::string(script.file); }

// A row that says "w/o MTP" ran without the module.
void lay_out(const LaunchScript& script, std::string layout, StatedObject& row, Record& experiment,
             Record& assumed) {
  const bool without = mentions(short_remark(row.text("notes")), "w/o mtp");
  if (without) {
    layout.erase(layout.find('m'), 1);
  }
  Record& model = experiment["model"];
  model = {{"base", model_of(experiment)}, {"mtp_layers", without ? 0 : 1}};
  experiment["plan"]["stage_layout"] = layout;
  assumed.erase(std::remove_if(assumed.begin(), assumed.end(),
                               [](const Record& entry) {
                                 return entry.get<std::string>().starts_with("plan.stage_layout");
                               }),
                assumed.end());
  assumed.push_back("plan.stage_layout " + layout + because(script));
}

void recompute(const LaunchScript& script, Record& training, Record& assumed) {
  if (training.contains("recompute")) {
    return;
  }
  Record modules = Record::array();
  std::istringstream words{std::string(script.modules)};
  for (std::string module; words >> module;) {
    modules.push_back(module);
  }
  training["recompute"] = "selective";
  training["recompute_modules"] = modules;
  assumed.push_back("training.recompute_modules " + std::string(script.modules) + because(script));
}

void follow(const LaunchScript& script, const std::string& layout, StatedObject& row,
            Record& experiment, Record& assumed) {
  if (!layout.empty()) {
    lay_out(script, layout, row, experiment, assumed);
  }
  if (!script.modules.empty()) {
    recompute(script, experiment["training"], assumed);
  }
  if (!script.software.empty()) {
    experiment["software"] = script.software;
    assumed.push_back("software " + std::string(script.software) + ": the container of" +
                      because(script).substr(1));
  }
  if (!script.cluster.empty()) {
    experiment["cluster"]["name"] = script.cluster;
    assumed.push_back("cluster.name " + std::string(script.cluster) +
                      ": the rate of its network is derived from runs of the same source");
  }
}

}  // namespace

void follow_launch_script(StatedObject& row, const std::string& gpu, const DataRoot& data,
                          Record& experiment, Record& assumed) {
  StatedObject& source = row.object("source");
  const std::string key = source.text("key");
  const std::string title = source.text("title");
  const std::string model = model_of(experiment);
  const Record& plan = experiment["plan"];
  const std::int64_t stages =
      plan.value("pp", std::int64_t{1}) * plan.value("vpp", std::int64_t{1});
  for (const LaunchScript& script : kScripts) {
    if (script.source == key && script.model == model && mentions(title, script.title) &&
        (script.gpu.empty() || script.gpu == gpu) &&
        (script.stages == 0 || script.stages == stages)) {
      const std::string layout =
          script.lays_out ? bridge_table_layout(model, stages, data) : std::string();
      follow(script, layout, row, experiment, assumed);
    }
  }
}

}  // namespace stepcast
