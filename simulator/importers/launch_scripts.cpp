// SPDX-License-Identifier: Apache-2.0
#include "importers/published_run.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "frameworks/bridge_recipe.hpp"
#include "frameworks/words.hpp"
#include "importers/published_names.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

// --- launch scripts ---------------------------------------------------------------------------

// The rows that a script launched: those of a source whose title has the words, of a model, on a
// GPU and with so many stages in all; empty and 0 stand for any.
struct LaunchScript {
  std::string_view source{};
  std::string_view title{};
  std::string_view model{};
  std::string_view gpus{};  // words
  std::string_view dtype{};
  std::int64_t stages = 0;
  // What it says; empty where it says nothing.
  bool lays_out = false;       // stages, with one module that predicts a further token, as Megatron
                               // Bridge's recipes of the model have them for so many
  std::string_view modules{};  // recomputed
  std::int64_t offloaded_layers = 0;
  std::int64_t micro_batch = 0;  // in the place of the row's
  std::string_view cluster{};
  std::string_view software{};  // in the place of the framework's undated set
  std::string_view file{};
};

constexpr std::string_view kBridge = "megatron-bridge";
constexpr std::string_view kRecipe = "recipes/deepseek/deepseek_v3.py of its release";
constexpr std::string_view kWorkloads = "scripts/performance/configs of its release";
constexpr std::string_view kOffloads =
    "cpu_offloading_num_layers of scripts/performance/configs/llama3* at cac49dcd7";
constexpr std::string_view k2509 = "25.09";
constexpr std::string_view k2511 = "25.11";
constexpr std::string_view kMlperf6 = "mlperf-training-v6.0";
constexpr std::string_view kMlperfLayout = "config_GB200_*.sh, PIPELINE_LAYOUT";
constexpr std::string_view kBenchmarks = "nvidia-dgxc-benchmarking";
constexpr std::string_view kBenchmark = "v25.05.05 deepseek_v3";
constexpr std::string_view kLaunchScript = "deepseek_v3/pretraining/launch.sh";

// All that fit a row are followed in their order.
constexpr auto kScripts = std::to_array<LaunchScript>({
    {.source = kBridge, .model = "deepseek_v3", .lays_out = true, .file = kRecipe},
    {.source = kBridge,
     .model = "deepseek_v3",
     .gpus = "h100_sxm",
     .modules = "mla_up_proj mlp",
     .file = kWorkloads},
    {.source = kBridge,
     .model = "deepseek_v3",
     .gpus = "gb200 b200",
     .modules = "mla_up_proj",
     .file = kWorkloads},
    {.source = kBridge,
     .model = "gpt_oss_120b",
     .gpus = "h100_sxm gb200 b200",
     .modules = "layernorm moe_act",
     .file = kWorkloads},
    // The tables say FSDP and nothing of it.
    {.source = kBridge,
     .title = k2509,
     .model = "llama3.1_70b",
     .gpus = "gb200",
     .dtype = "fp8",
     .offloaded_layers = 40,
     .file = kOffloads},
    {.source = kBridge,
     .title = k2509,
     .model = "llama3.1_405b",
     .gpus = "gb200",
     .dtype = "fp8",
     .offloaded_layers = 95,
     .file = kOffloads},
    // The table says 4. GPT_OSS_120B_PRETRAIN_CONFIG_H100_BF16_V1 has four stages and takes the
    // micro-batch of its base, 1.
    {.source = kBridge,
     .title = k2511,
     .model = "gpt_oss_120b",
     .gpus = "h100_sxm",
     .micro_batch = 1,
     .file = kWorkloads},
    {.source = kMlperf6,
     .model = "deepseek_v3",
     .gpus = "gb300 gb200",
     .stages = 16,
     .lays_out = true,
     .file = kMlperfLayout},
    {.source = kMlperf6,
     .model = "deepseek_v3",
     .gpus = "gb200",
     .stages = 16,
     .cluster = "gb200_mlperf_v6",
     .file = kMlperfLayout},
    {.source = kBenchmarks,
     .title = kBenchmark,
     .model = "deepseek_v3",
     .gpus = "gb200",
     .modules = "core_attn",
     .file = kLaunchScript},
    {.source = kBenchmarks,
     .title = kBenchmark,
     .model = "deepseek_v3",
     .gpus = "h100_sxm",
     .modules = "mla_up_proj",
     .file = kLaunchScript},
    {.source = kBenchmarks,
     .title = kBenchmark,
     .model = "deepseek_v3",
     .gpus = "gb200 h100_sxm",
     .software = "nemo_2025_04",
     .file = kLaunchScript},
});

std::string model_of(const Record& experiment) {
  const Record& model = experiment["model"];
  return model.is_string() ? model.get<std::string>() : model.value("base", "");
}

bool is_of_gpu(const LaunchScript& script, const std::string& gpu) {
  return script.gpus.empty() || std::ranges::count(words_in(script.gpus), gpu) > 0;
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
  const auto of_layout = [](const Record& entry) {
    return entry.get<std::string>().starts_with("plan.stage_layout");
  };
  assumed.erase(std::remove_if(assumed.begin(), assumed.end(), of_layout), assumed.end());
  assumed.push_back("plan.stage_layout " + layout + because(script));
}

void recompute(const LaunchScript& script, Record& training, Record& assumed) {
  if (training.contains("recompute")) {
    return;
  }
  training["recompute"] = "selective";
  training["recompute_modules"] = words_in(script.modules);
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
  if (script.offloaded_layers > 0) {
    experiment["training"]["offload"] = {{"activations", {{"layers", script.offloaded_layers}}}};
    assumed.push_back("training.offload.activations.layers " +
                      std::to_string(script.offloaded_layers) + because(script));
  }
  if (script.micro_batch > 0) {
    experiment["training"]["micro_batch_size"] = script.micro_batch;
    assumed.push_back("training.micro_batch_size " + std::to_string(script.micro_batch) +
                      because(script));
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

// --- adapters ---------------------------------------------------------------------------------

constexpr std::string_view kMlperf = "mlperf-training";

// What recipes adapt where a row is silent.
struct KnownAdapter {
  std::int64_t rank = 0;
  Record targets;
  bool dropout = false;
  std::string reason;
  bool packs_questions = false;  // into its sequences
};

KnownAdapter adapter_of(StatedObject& row) {
  if (row.object("source").text("key") == kMlperf) {
    return {16,
            {"qkv", "o"},
            true,
            "rank 16 of qkv and o with dropout: mlcommons/training fixes them for its benchmark "
            "llama2_70b_lora"};
  }
  // NVIDIA/NeMo, llm/recipes/llama3_8b.py and llama3_70b.py in their performance mode; Megatron
  // Bridge, recipes/llama and perf_recipes/llama.
  constexpr std::int64_t kLayersOf8B = 32;
  const bool small = row.object("model").count("num_layers").value_or(0) <= kLayersOf8B;
  return {small ? 8 : 16,
          {"qkv"},
          false,
          std::string("rank ") + (small ? "8" : "16") +
              " of qkv: the performance recipes of NeMo and Megatron Bridge adapt linear_qkv, with "
              "rank 8 of Llama 3 8B and 16 of 70B",
          true};
}

void pack_questions(Record& training, Record& assumed) {
  training["documents"] = {{"length", 200}, {"lengths", "geometric"}};
  assumed.push_back(
      "training.documents of 200 tokens: the recipes pack questions of SQuAD, whose paragraphs "
      "have about 120 words (arXiv 1606.05250), and keep them apart");
}

// NVIDIA's recipes fine-tune on the data set that they adapt on; how long others' documents are is
// not known, and they count as long as their sequence.
void settle_packing(StatedObject& row, Record& training, Record& assumed) {
  const FrameworkFamily family = software_for(row.object("train").text("framework")).family();
  if (family == FrameworkFamily::kNemo || family == FrameworkFamily::kMegatronBridge) {
    pack_questions(training, assumed);
  } else {
    assumed.push_back("training.documents: each as long as its sequence, none is stated");
  }
}

// What the configuration of a submission to MLPerf says besides its plan: CUDA graphs, attention in
// 8 bits, activation inputs kept in 8 bits.
struct Submission {
  std::string_view system;
  std::string_view set;
  bool graphs = false;
  bool attention_8bit = false;
  bool stores_8bit = false;
  std::string_view file;
};
constexpr auto kSubmissions = std::to_array<Submission>({
    {"eos_ngc24.09", "mlperf_lora_4.1", false, true, false, "config_DGXH100_1x8x4xtp4pp1cp1.sh"},
    {"eos_n8_ngc24.09", "mlperf_lora_4.1", true, false, false, "config_DGXH100_8x8x1xtp4pp1cp2.sh"},
    {"eos_n128_ngc24.09", "mlperf_lora_4.1", true, false, false,
     "config_DGXH100_128x8x1xtp4pp1cp2.sh"},
    {"b200_preview", "mlperf_lora_4.1", true, true, false, "config_DGXB200_1x8x2xtp1pp1cp2.sh"},
    {"nyx_n1_ngc25.04", "mlperf_lora_5.0", false, true, true, "config_DGXB200_1x8x1xtp1pp1cp1.sh"},
    {"tyche_ngpu8_ngc25.04", "mlperf_lora_5.0", false, true, true,
     "config_GB200_2x4x1xtp1pp1cp1.sh"},
    {"tyche_ngpu512_ngc25.04", "mlperf_lora_5.0", true, true, false,
     "config_GB200_128x4x1xtp1pp1cp8.sh"},
    {"tyche_ngpu512_ngc25.09", "mlperf_lora_5.1", true, true, false,
     "config_GB200_128x4x1xtp1pp1cp8.sh"},
    {"theia_ngpu8_ngc25.09", "mlperf_lora_5.1", true, true, false,
     "config_GB300_2x4x1xtp1pp1cp1_fp4.sh"},
});

void follow_submission(const Submission& known, Record& plan, RunSoftware& software,
                       Record& assumed) {
  software.base = known.set;
  software.changes["cuda_graph"] = known.graphs;
  software.changes["attention_8bit"] = known.attention_8bit;
  if (known.stores_8bit) {
    software.changes["memory"]["activation_input"] = "1 B";
  }
  assumed.push_back("software " + software.base + " with cuda_graph " +
                    (known.graphs ? "true" : "false") + " and attention_8bit " +
                    (known.attention_8bit ? "true" : "false") + ": " + std::string(known.file));
  const bool by_heads = known.set != "mlperf_lora_4.1" && plan.value("cp", 1) > 1;
  if (by_heads) {
    plan["cp_algorithm"] = "all_to_all";
    assumed.push_back("plan.cp_algorithm all_to_all: cp_comm_type a2a of the submission");
  }
}

void settle_mlperf(StatedObject& row, const DeviceSpec& device, Record& plan, RunSoftware& software,
                   Record& assumed) {
  if (device.architecture.attention.native == AttentionKernel::kAiter) {
    software.base = "mlperf_lora_amd";
    assumed.push_back(
        "software mlperf_lora_amd: submissions on AMD parts run AMD's configurations, "
        "config_MI325X_1x8x1.sh and its like");
    return;
  }
  const std::string id = row.text("id");
  if (const Submission* const known = row_within(kSubmissions, &Submission::system, id)) {
    return follow_submission(*known, plan, software, assumed);
  }
  software.base = "mlperf_lora_5.1";
  assumed.push_back("software mlperf_lora_5.1: no configuration of the submission is known");
}

}  // namespace

void follow_launch_script(StatedObject& row, const std::string& gpu, const DataRoot& data,
                          Record& experiment, Record& assumed) {
  StatedObject& source = row.object("source");
  const std::string key = source.text("key");
  const std::string title = source.text("title");
  const std::string model = model_of(experiment);
  const std::string dtype = experiment["training"].value("dtype", "");
  const Record& plan = experiment["plan"];
  const std::int64_t stages =
      plan.value("pp", std::int64_t{1}) * plan.value("vpp", std::int64_t{1});
  for (const LaunchScript& script : kScripts) {
    if (script.source == key && script.model == model && mentions(title, script.title) &&
        is_of_gpu(script, gpu) && (script.dtype.empty() || script.dtype == dtype) &&
        (script.stages == 0 || script.stages == stages)) {
      const std::string layout =
          script.lays_out ? bridge_table_layout(model, stages, data) : std::string();
      follow(script, layout, row, experiment, assumed);
    }
  }
}

RunTask task_of(StatedObject& row) {
  constexpr std::array kTasks = {
      std::pair{std::string_view(), RunTask::kPretraining},
      std::pair{std::string_view("pretrain"), RunTask::kPretraining},
      std::pair{std::string_view("pretraining"), RunTask::kPretraining},
      std::pair{std::string_view("sft"), RunTask::kFineTuning},
      std::pair{std::string_view("sft full"), RunTask::kFineTuning},
      std::pair{std::string_view("full fine-tuning"), RunTask::kFineTuning},
      std::pair{std::string_view("lora"), RunTask::kAdapters},
  };
  const std::string task = row.text("task");
  const std::string word = ascii::lower_case(task);
  const auto* const known =
      std::ranges::find_if(kTasks, [&](const auto& entry) { return entry.first == word; });
  if (known == kTasks.end()) {
    throw RefusedRow{"feature unsupported: the task " + task + " (generation, frozen weights)"};
  }
  return known->second;
}

void settle_task(StatedObject& row, const DeviceSpec& device, Record& training, Record& plan,
                 RunSoftware& software, Record& assumed) {
  const RunTask task = task_of(row);
  if (task == RunTask::kFineTuning) {
    return settle_packing(row, training, assumed);
  }
  if (task != RunTask::kAdapters) {
    return;
  }
  const KnownAdapter known = adapter_of(row);
  const std::optional<std::int64_t> rank = row.object("model").count("lora_rank");
  training["lora"] = {
      {"rank", rank.value_or(known.rank)}, {"targets", known.targets}, {"dropout", known.dropout}};
  assumed.push_back("training.lora " + known.reason);
  if (known.packs_questions) {
    pack_questions(training, assumed);
  }
  if (row.object("source").text("key") == kMlperf) {
    settle_mlperf(row, device, plan, software, assumed);
  } else {
    software.changes["async_tp"] = false;
    assumed.push_back("software.async_tp false: the same recipes set tp_comm_overlap false");
  }
}

}  // namespace stepcast
