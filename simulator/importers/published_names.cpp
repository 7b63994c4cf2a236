// SPDX-License-Identifier: Apache-2.0
#include "importers/published_names.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "frameworks/setting.hpp"
#include "frameworks/words.hpp"
#include "importers/foreign_row.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/hardware/part_names.hpp"

namespace stepcast {
namespace {

constexpr std::array kModels = {
    Word{"DeepSeek-V2-236B", "deepseek_v2"},
    Word{"DeepSeek-V2-Lite-16B", "deepseek_v2_lite"},
    Word{"DeepSeek-V3-16B (torchtitan flavor)", "deepseek_v3_16b"},
    Word{"DeepSeek-V3-671B", "deepseek_v3"},
    Word{"GPT 1.7B (Megatron)", "megatron_gpt_1.7b"},
    Word{"GPT 119B (Megatron)", "megatron_gpt_119b"},
    Word{"GPT 16B (Megatron)", "megatron_gpt_16b"},
    Word{"GPT 177B (Megatron)", "megatron_gpt_177b"},
    Word{"GPT 314B (Megatron)", "megatron_gpt_314b"},
    Word{"GPT 32B (Megatron)", "megatron_gpt_32b"},
    Word{"GPT 462B (Megatron)", "megatron_gpt_462b"},
    Word{"GPT 7.1B (Megatron)", "megatron_gpt_7.1b"},
    Word{"GPT 70B (Megatron)", "megatron_gpt_70b"},
    Word{"GPT-2 XL 1.5B", "gpt2_xl"},
    Word{"GPT-3-175B", "gpt3_175b"},
    Word{"GPT-3-5B", "gpt3_5b"},
    Word{"DeepSeek-V4-Flash", "deepseek_v4_flash"},
    Word{"GPT-OSS-120B", "gpt_oss_120b"},
    Word{"GPT-OSS-20B", "gpt_oss_20b"},
    Word{"Grok-1-314B", "grok1_nemo"},
    Word{"InternLM-7B", "internlm_7b"},
    Word{"Llama-2-70B", "llama2_70b"},
    Word{"Llama-2-7B", "llama2_7b"},
    Word{"Llama-3-70B 4-layer proxy", "llama3_70b_4l"},
    Word{"Llama-3.1-405B", "llama3.1_405b"},
    Word{"Llama-3.1-405B (SimuMax variant kv_heads=16)", "llama3.1_405b_kv16"},
    Word{"Llama-3/3.1-70B", "llama3.1_70b"},
    Word{"Llama-3/3.1-8B", "llama3.1_8b"},
    Word{"Llama-4-Maverick-400B", "llama4_17b128e"},
    Word{"Llama-like 70B (arch not stated)", "llama2_70b"},
    Word{"MPT-125m", "mpt_125m"},
    Word{"MPT-13b", "mpt_13b"},
    Word{"MPT-1b", "mpt_1b"},
    Word{"MPT-30b", "mpt_30b"},
    Word{"MPT-350m", "mpt_350m"},
    Word{"MPT-3b", "mpt_3b"},
    Word{"MPT-70b", "mpt_70b"},
    Word{"MPT-760m", "mpt_760m"},
    Word{"MPT-7b", "mpt_7b"},
    Word{"Mixtral-8x22B", "mixtral_8x22b"},
    Word{"Mixtral-8x7B", "mixtral_8x7b"},
    Word{"Nemotron4-15B", "nemotron4_15b"},
    Word{"Nemotron4-340B", "nemotron4_340b"},
    Word{"OLMo2-7B", "olmo2_7b"},
    Word{"Qwen3-235B-A22B", "qwen3_235b_a22b"},
    Word{"Qwen3-30B-A3B", "qwen3_30b_a3b"},
    Word{"Qwen3-32B", "qwen3_32b"},
    Word{"Qwen3-4B", "qwen3_4b"},
    Word{"megatron_1t", "megatron_1t"},
    Word{"megatron_22b", "megatron_22b"},
    Word{"megatron_530b", "megatron_530b"},
    Word{"megatron_175b", "gpt3_175b"},
};

// The names of each schedule, with blanks between them.
constexpr auto kSchedules = std::to_array<Word>({
    {"1F1B 1f1b", "1f1b"},
    {"Interleaved1F1B interleaved 1f1b-interleaved 1f1b-interleaved-vpp3 1f1b-interleaved-vpp4",
     "interleaved_1f1b"},
    {"GPipe gpipe", "gpipe"},
    {"ZBVZeroBubble zbv zbv-formatted", "zbv"},
    {"zero-bubble zbb", "zb_h1"},
    {"v-half", "v_half"},
    {"v-min", "v_min"},
    {"DualPipeV", "dualpipev"},
    {"InterleavedZeroBubble izb", "interleaved_zero_bubble"},
});

// A framework by its name in lower case without versions, the remark that follows it in
// parentheses, and our set of its software.
struct PublishedFramework {
  std::string_view name;
  std::string_view remark;  // that must be there; empty: any
  std::string_view software;
  std::string_view assumed = {};  // where our set is not the framework's own
};
constexpr auto kFrameworks = std::to_array<PublishedFramework>({
    {"torchtitan", "", "torchtitan"},
    {"primus", "", "primus_turbo"},
    {"primus megatron", "te fp8 hybrid, delayed scaling; turbo off", "primus_legacy"},
    {"primus megatron", "", "primus_turbo"},
    {"primus/megatron", "", "primus_turbo"},
    {"megatron-lm/primus", "", "primus_turbo"},
    {"nemo", "mlperf", "mlperf"},
    {"nemo / megatron-bridge", "mlperf", "mlperf"},
    {"nemo", "", "nemo"},
    {"nemo/megatron-core", "", "nemo"},
    {"megatron-lm/nemo", "", "nemo"},
    {"megatron-bridge", "", "megatron_bridge"},
    {"primus megatron-bridge", "", "megatron_bridge"},
    {"nemo automodel", "", "nemo_automodel"},
    {"nemo-automodel", "", "nemo_automodel"},
    {"megatron-lm", "rocm docker", "primus_legacy"},
    {"megatron-lm", "", "megatron"},
    {"megatron-core", "", "megatron"},
    {"maxtext", "", "maxtext"},
    {"llm-foundry", "", "llm_foundry"},
    {"llm-foundry/composer pytorch fsdp", "", "llm_foundry"},
    {"internevo", "", "internevo"},
    {"colossalai", "", "colossalai"},
    {"colossal-ai", "", "colossalai"},
    {"deepspeed", "", "deepspeed"},
    {"nanotron", "", "nanotron"},
    {"pytorch", "", "pytorch_compiled"},
    {"pytorch ddp", "", "pytorch_ddp"},
    {"plain pytorch ddp", "", "pytorch_ddp"},
    {"plain ddp", "", "pytorch_ddp"},
    {"ddp", "", "pytorch_ddp"},
    {"torchtune", "", "torchtune"},
    {"torchtune full_finetune_distributed", "", "torchtune"},
    {"meta internal 4d parallel", "", "megatron",
     "Meta's own framework has no software set; its kernels and overlap are "
     "described like Megatron-LM's"},
});

// Frameworks of reinforcement learning, by their names in lower case.
constexpr std::array<std::string_view, 7> kReinforcement = {
    "prime-rl", "verl", "openrlhf", "slime", "areal", "skyrl", "nemo-rl"};

// The first whose beginning a set's name has.
struct SetFamily {
  std::string_view beginning;
  SourceFamily family;
};
constexpr std::array kFamilies = {
    SetFamily{"torchtitan", SourceFamily::kTorchtitan},
    SetFamily{"pytorch", SourceFamily::kPytorch},
    SetFamily{"primus", SourceFamily::kPrimus},
    SetFamily{"nemo_automodel", SourceFamily::kOther},
    SetFamily{"nemo", SourceFamily::kNemo},
    SetFamily{"megatron_bridge", SourceFamily::kMegatronBridge},
    SetFamily{"megatron", SourceFamily::kMegatron},
    SetFamily{"maxtext", SourceFamily::kMaxtext},
    SetFamily{"mlperf", SourceFamily::kMlperf},
    SetFamily{"huggingface", SourceFamily::kHuggingFace},
};

// What stands before the first parenthesis, and inside it.
std::pair<std::string_view, std::string_view> with_remark(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) {
    return {text, {}};
  }
  const std::string_view inside = text.substr(open + 1);
  return {text.substr(0, open), inside.substr(0, inside.find(')'))};
}

// "Megatron-LM 23e00ed0 + TE 2.11" without what names versions.
std::string without_versions(std::string_view text) {
  std::string name;
  bool libraries = false;
  for (const std::string& word : words_in(ascii::lower_case(text))) {
    const bool version = word != "4d" && std::ranges::any_of(word, ascii::is_digit);
    libraries = libraries || word == "+";
    if (!version && !(libraries && (word == "+" || word == "te"))) {
      name += (name.empty() ? "" : " ") + word;
    }
  }
  return name;
}

// --- sources ----------------------------------------------------------------------------------

// The keys of each publisher, with blanks between them.
struct Publisher {
  std::string_view keys;
  PublishedSource source;
};
constexpr auto kPublishers = std::to_array<Publisher>({
    {"amd-maxtext-slurm", {"maxtext-slurm"}},
    {"amd-primus-dsv4 amd-primus-moe-package amd-primus-moe-package-2 amd-primus-pipeline "
     "amd-primus-projection gdn-1b-tuning-guide primus-fla-parity primus-maxtext-commits "
     "primus-mlperf-examples primus-qwen3-235b-lora primus-v4-routing",
     {"Primus"}},
    {"primus-turbo-qwen3-ladder", {"Primus", false, {}, SourceFigures::kPrimusLadder}},
    {"primus-maxtext-mi325x-memory", {"Primus", false, {}, SourceFigures::kPrimusMaxtext}},
    {"primus-commit-log", {"Primus", false, {}, SourceFigures::kPrimusCommits}},
    {"primus-gptoss20b-mlperf", {"Primus", false, {}, SourceFigures::kPrimusGptOss}},
    {"colossalai-readme", {"ColossalAI"}},
    {"deepseek-v3-readme", {"DeepSeek-V3"}},
    {"google-gpu-recipes", {"gpu-recipes"}},
    {"internevo", {"InternEvo"}},
    {"llama3-paper-table", {"glennklockwood.com"}},
    {"megatron-bridge", {"Megatron-Bridge"}},
    {"megatron-lm-llama-example megatron-lm-readme", {"Megatron-LM"}},
    {"mlperf-training mlperf-training-v6.0", {"training_results"}},
    {"nvidia-dgxc-benchmarking", {"dgxc-benchmarking"}},
    {"olmo-core", {"OLMo-core"}},
    {"primus-turbo-expert-gemm primus-turbo-gfx1250", {"Primus-Turbo"}},
    {"pytorch-blog-nebius-b200", {"pytorch.org"}},
    {"rocm-cvs", {"cvs"}},
    {"rocm-te-issues", {"TransformerEngine"}},
    {"sonicmoe-ep-pr54", {"sonic-moe"}},
    {"torchtitan-pr-deepep", {"torchtitan"}},
    {"torchtitan-distmoe-gb300",
     {"torchtitan",
      false,
      {"torchtitan_distmoe", "torchtitan_distmoe",
       "the source runs torchtitan with the DistMoE package and captures the step"}}},
    {"nebius-h100-qwen3",
     {"nebius-h100-qwen3",
      false,
      {"megatron_bridge_plain", "megatron_bridge_plain",
       "the source runs Megatron Bridge's library recipes with degrees of its own and names no "
       "performance preset"},
      SourceFigures::kBridgeLibrary,
      true}},
    {"gb300-vr200-matrix", {"gb300-vr200-matrix", false, {}, SourceFigures::kBridgeMatrix, true}},
    {"trl-sft-h100", {"trl-sft-h100", false, {}, SourceFigures::kTrlBenchmark, true}},
    {"together-b200-dgxc", {"together-b200-dgxc", false, {}, SourceFigures::kAsStated, true}},
    {"simumax-b200",
     {"SimuMax",
      true,
      {"megatron_eager", "megatron_eager_mla",
       "the source's scripts run Megatron-LM without CUDA graphs and without overlap of "
       "gradients",
       "9.13", "attention that the source timed by itself is as slow as cuDNN was before 9.17"}}},
});

}  // namespace

SourceFamily family_of(std::string_view software) {
  const auto* const known = std::ranges::find_if(kFamilies, [software](const SetFamily& family) {
    return software.starts_with(family.beginning);
  });
  return known == kFamilies.end() ? SourceFamily::kOther : known->family;
}

std::string model_for(std::string_view published) {
  return std::string(ours_of(kModels, published));
}

std::string schedule_for(std::string_view published) {
  const auto* const known = std::ranges::find_if(
      kSchedules, [published](std::string_view names) { return is_among(names, published); },
      &Word::theirs);
  return known == kSchedules.end() ? std::string() : std::string(known->ours);
}

std::string gpu_for(const std::string& published, ProfileCache& profiles) {
  std::vector<std::string> parts = parts_of_device({published, {}, {}}, profiles.known_parts());
  return parts.size() == 1 ? std::move(parts.front()) : std::string();
}

SoftwareName software_for(std::string_view framework) {
  if (const std::string_view set = trainer_set(framework); !set.empty()) {
    return {std::string(set), {}};
  }
  const auto [before, remark] = with_remark(framework);
  const std::string name = without_versions(before);
  for (const PublishedFramework& known : kFrameworks) {
    const bool remarked = known.remark.empty() || ascii::lower_case(remark) == known.remark;
    if (name == known.name && remarked) {
      return {std::string(known.software), std::string(known.assumed)};
    }
  }
  return {};
}

void refuse_framework(const std::string& framework) {
  const std::string name = without_versions(with_remark(framework).first);
  if (std::ranges::find(kReinforcement, name) != kReinforcement.end()) {
    throw RefusedRow{"feature unsupported: " + name +
                     ", whose trainer no software set describes and whose steps wait for text that "
                     "models generate"};
  }
}

PublishedSource published_source(std::string_view key) {
  const auto* const known = std::ranges::find_if(
      kPublishers, [key](std::string_view keys) { return is_among(keys, key); }, &Publisher::keys);
  return known == kPublishers.end() ? PublishedSource{key} : known->source;
}

}  // namespace stepcast
