// SPDX-License-Identifier: Apache-2.0
#include "importers/published_run.hpp"

#include <algorithm>
#include <array>

#include "importers/published_names.hpp"
#include "importers/remark.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kMlperf = "mlperf-training";

// What recipes adapt where a row is silent.
struct KnownAdapter {
  std::int64_t rank = 0;
  Record targets;
  bool dropout = false;
  std::string reason;
  Record documents{};  // that the sequences are packed of; null: of one
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
          Record{{"length", 200}, {"lengths", "geometric"}}};
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
constexpr std::array kSubmissions = {
    Submission{"eos_ngc24.09", "mlperf_lora_4.1", false, true, false,
               "config_DGXH100_1x8x4xtp4pp1cp1.sh"},
    Submission{"eos_n8_ngc24.09", "mlperf_lora_4.1", true, false, false,
               "config_DGXH100_8x8x1xtp4pp1cp2.sh"},
    Submission{"eos_n128_ngc24.09", "mlperf_lora_4.1", true, false, false,
               "config_DGXH100_128x8x1xtp4pp1cp2.sh"},
    Submission{"b200_preview", "mlperf_lora_4.1", true, true, false,
               "config_DGXB200_1x8x2xtp1pp1cp2.sh"},
    Submission{"nyx_n1_ngc25.04", "mlperf_lora_5.0", false, true, true,
               "config_DGXB200_1x8x1xtp1pp1cp1.sh"},
    Submission{"tyche_ngpu8_ngc25.04", "mlperf_lora_5.0", false, true, true,
               "config_GB200_2x4x1xtp1pp1cp1.sh"},
    Submission{"tyche_ngpu512_ngc25.04", "mlperf_lora_5.0", true, true, false,
               "config_GB200_128x4x1xtp1pp1cp8.sh"},
    Submission{"tyche_ngpu512_ngc25.09", "mlperf_lora_5.1", true, true, false,
               "config_GB200_128x4x1xtp1pp1cp8.sh"},
    Submission{"theia_ngpu8_ngc25.09", "mlperf_lora_5.1", true, true, false,
               "config_GB300_2x4x1xtp1pp1cp1_fp4.sh"},
};

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
  const auto* const known =
      std::find_if(kSubmissions.begin(), kSubmissions.end(),
                   [&](const Submission& entry) { return mentions(id, entry.system); });
  if (known != kSubmissions.end()) {
    return follow_submission(*known, plan, software, assumed);
  }
  software.base = "mlperf_lora_5.1";
  assumed.push_back("software mlperf_lora_5.1: no configuration of the submission is known");
}

}  // namespace

bool trains_adapters(StatedObject& row) {
  const std::string task = row.text("task");
  if (task == "LoRA") {
    return true;
  }
  if (task != "pretrain" && !task.empty()) {
    throw RefusedRow{"feature unsupported: the task " + task + " (generation, frozen weights)"};
  }
  return false;
}

void settle_adapter(StatedObject& row, const DeviceSpec& device, Record& training, Record& plan,
                    RunSoftware& software, Record& assumed) {
  if (!trains_adapters(row)) {
    return;
  }
  const KnownAdapter known = adapter_of(row);
  const std::optional<std::int64_t> rank = row.object("model").count("lora_rank");
  training["lora"] = {
      {"rank", rank.value_or(known.rank)}, {"targets", known.targets}, {"dropout", known.dropout}};
  assumed.push_back("training.lora " + known.reason);
  if (!known.documents.is_null()) {
    training["documents"] = known.documents;
    assumed.push_back(
        "training.documents of 200 tokens: the recipes pack questions of SQuAD, whose paragraphs "
        "have about 120 words (arXiv 1606.05250), and keep them apart");
  }
  if (row.object("source").text("key") == kMlperf) {
    settle_mlperf(row, device, plan, software, assumed);
  } else {
    software.changes["async_tp"] = false;
    assumed.push_back("software.async_tp false: the same recipes set tp_comm_overlap false");
  }
}

}  // namespace stepcast
