// SPDX-License-Identifier: Apache-2.0
#include "importers/report_stack.hpp"

#include <algorithm>
#include <array>

#include "importers/published_names.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

// --- sources ----------------------------------------------------------------------------------

// The framework of a repository: by its owner and name, or by the name alone, which forks keep.
struct Repository {
  std::string_view name;
  std::string_view framework;
};
constexpr auto kRepositories = std::to_array<Repository>({
    {"torchtitan", "torchtitan"},
    {"NVIDIA/Megatron-LM", "Megatron-LM"},
    {"alibaba/Pai-Megatron-Patch", "Megatron-LM"},  // scripts around Megatron-LM
    {"NVIDIA-NeMo/RL", "Megatron-LM"},              // its Megatron backend
    {"yanring/Megatron-MoE-ModelZoo", "Megatron-LM"},
    {"NVIDIA-NeMo/Megatron-Bridge", "Megatron-Bridge"},
    {"NVIDIA-NeMo/Automodel", "NeMo AutoModel"},
    {"NVIDIA/NeMo", "NeMo"},
    {"AMD-AGI/Primus", "Primus"},
    {"AI-Hypercomputer/maxtext", "MaxText"},
    {"huggingface/transformers", "transformers"},
    {"huggingface/accelerate", "accelerate"},
    {"huggingface/trl", "TRL"},
    {"hiyouga/LlamaFactory", "LLaMA-Factory"},
    {"axolotl-ai-cloud/axolotl", "axolotl"},
    {"pytorch/torchtune", "torchtune"},
    {"PrimeIntellect-ai/prime-rl", "prime-rl"},
    {"volcengine/verl", "verl"},
    {"hpcaitech/ColossalAI", "ColossalAI"},
    {"huggingface/nanotron", "nanotron"},
    {"mosaicml/llm-foundry", "llm-foundry"},
    {"meta-llama/llama-cookbook", "transformers"},  // its models in a loop of their own
});

// A thread by its source: when it was opened (github.com/OWNER/NAME/issues/NUMBER says it, of pull
// requests too), and what it is about where its repository does not say that.
struct Thread {
  std::string_view source;
  std::string_view opened;
  std::string_view framework = {};
};
constexpr auto kThreads = std::to_array<Thread>({
    {"pytorch/torchtitan#191", "2024-04-04"},
    {"pytorch/torchtitan#676", "2024-11-13"},
    {"pytorch/torchtitan#778", "2025-01-07"},
    {"pytorch/torchtitan#1690", "2025-09-08"},
    {"pytorch/torchtitan#1789", "2025-10-02"},
    {"NousResearch/torchtitan#19", "2025-11-24"},
    {"mlc-ai/pith-train#79", "2026-07-22", "torchtitan"},  // which it is compared with
    {"NVIDIA/Megatron-LM#1000", "2024-08-13"},
    {"NVIDIA/Megatron-LM#2762", "2025-12-26"},
    {"alibaba/Pai-Megatron-Patch#658", "2025-09-02"},
    {"NVIDIA-NeMo/RL#966", "2025-08-22"},
    {"NVIDIA-NeMo/Megatron-Bridge#5225", "2026-07"},  // between 5123 of 07-27 and 5266 of 08-03
    {"NVIDIA-NeMo/Megatron-Bridge#5318", "2026-08-04"},
    {"NVIDIA-NeMo/Megatron-Bridge#5720", "2026-08-20"},
    {"AMD-AGI/Primus#55", "2025-05-30"},
    {"meta-llama/llama-cookbook#100", "2023-08-06"},
    {"hiyouga/LlamaFactory#6999", "2025-02"},  // between 6752 of 01-24 and its comment of 03-14
    // Its README's rates came with pull request 825. Both of its ways train transformers'
    // LlamaModel with FlashAttention in its layers (fsdp_llama2.py, ds_3d_llama2.py:
    // module_replace), the one under FSDP, the other in DeepSpeed's engine with layers split by
    // ATorch.
    {"intelligent-machine-learning/dlrover atorch/examples/llama2", "2023-11-16", "transformers"},
});

std::string framework_of_repository(std::string_view source) {
  const std::string_view repository = source.substr(0, source.find_first_of("# "));
  const std::size_t slash = repository.find('/');
  const std::string_view name =
      slash == std::string_view::npos ? repository : repository.substr(slash + 1);
  for (const std::string_view called : {repository, name}) {
    const auto* const known = std::ranges::find(kRepositories, called, &Repository::name);
    if (known != kRepositories.end()) {
      return std::string(known->framework);
    }
  }
  return {};
}

// --- sets ---------------------------------------------------------------------------------------

bool plan_has(const Record& experiment, const char* key, std::int64_t least) {
  const auto plan = experiment.find("plan");
  return plan != experiment.end() && plan->is_object() && plan->contains(key) &&
         (*plan)[key].is_number_integer() && (*plan)[key].get<std::int64_t>() >= least;
}

// Whether ZeRO shards it and FSDP does not: what runs Trainer does so with DeepSpeed.
bool shards_by_zero(const Record& experiment) {
  return plan_has(experiment, "zero", 1) && !plan_has(experiment, "fsdp", 1) &&
         !plan_has(experiment, "hsdp", 1);
}

// The set that a row names, without its switches; empty without one.
std::string named_set(const Record& experiment) {
  const auto software = experiment.find("software");
  if (software == experiment.end()) {
    return {};
  }
  const Record named = software->is_object() ? software->value("base", Record()) : *software;
  return named.is_string() ? named.get<std::string>() : std::string();
}

// Only who says that layers were compiled ran them so: torchtitan compiles nothing unless told to.
LaunchMode layers_of(const std::string& named, ProfileCache& profiles) {
  const std::vector<std::string> sets = profiles.software_names();
  const bool compiled = std::ranges::find(sets, named) != sets.end() &&
                        profiles.software(named).host.layers == LaunchMode::kCompiled;
  return compiled ? LaunchMode::kCompiled : LaunchMode::kEager;
}

// The last of Megatron Bridge's containers, megatron_bridge_26_06, that is of the month or before.
std::string bridge_container(int month, const ProfileCache& profiles) {
  constexpr std::string_view kBeginning = "megatron_bridge_";
  std::string latest;
  int latest_month = 0;
  for (const std::string& set : profiles.software_names()) {
    const bool dated = set.starts_with(kBeginning);
    const int of_set = dated ? written_month("20" + set.substr(kBeginning.size())) : 0;
    if (of_set > latest_month && (month == 0 || of_set <= month)) {
      latest = set;
      latest_month = of_set;
    }
  }
  if (latest.empty()) {
    throw RefusedRow{"feature unsupported: Megatron Bridge of " + month_text(month) +
                     ", before its first container"};
  }
  return latest;
}

// Pull request 180 of Primus turned Primus-Turbo on in its configurations on 2025-09-09.
std::string primus_set(int month) {
  constexpr int kTurboOn = 202509;
  return month > 0 && month < kTurboOn ? "primus_legacy" : "primus_turbo";
}

// What Megatron-LM's scripts run when they say nothing else; who captures graphs says so.
std::string host_launched_megatron(AttentionKind attention) {
  return attention == AttentionKind::kMla ? "megatron_eager_mla" : "megatron_plain";
}

std::string set_of(const ReportedStack& stack, AttentionKind attention, ProfileCache& profiles,
                   const Record& experiment) {
  refuse_framework(stack.framework);
  const SoftwareName known = software_for(stack.framework);
  if (known.software.empty()) {
    throw RefusedRow{"feature unsupported: no software set describes the framework '" +
                     stack.framework + "'"};
  }
  switch (known.family()) {
    case SourceFamily::kTorchtitan:
      return torchtitan_release(layers_of(named_set(experiment), profiles), stack.month, profiles);
    case SourceFamily::kHuggingFace:
      return shards_by_zero(experiment) ? "huggingface_deepspeed" : known.software;
    case SourceFamily::kMegatronBridge:
      return bridge_container(stack.month, profiles);
    case SourceFamily::kPrimus:
      return primus_set(stack.month);
    case SourceFamily::kMegatron:
      return host_launched_megatron(attention);
    case SourceFamily::kPytorch:
    case SourceFamily::kNemo:
    case SourceFamily::kMaxtext:
    case SourceFamily::kMlperf:
    case SourceFamily::kOther:
      break;
  }
  return known.software;
}

}  // namespace

ReportedStack reported_stack(const std::string& source, const std::string& framework,
                             const std::string& date) {
  const auto* const thread = std::ranges::find(kThreads, source, &Thread::source);
  const bool known = thread != kThreads.end();
  ReportedStack stack{framework, written_month(date), source};
  if (stack.framework.empty() && known) {
    stack.framework = thread->framework;
  }
  if (stack.framework.empty()) {
    stack.framework = framework_of_repository(source);
  }
  if (stack.month == 0 && known) {
    stack.month = written_month(thread->opened);
  }
  if (stack.framework.empty()) {
    throw RefusedRow{"feature unsupported: no software set describes what '" + source +
                     "' reports of"};
  }
  stack.reason = source + " is about " + stack.framework +
                 (stack.month == 0 ? std::string(", of a month that is not known")
                                   : " of " + month_text(stack.month));
  return stack;
}

void set_software(const ReportedStack& stack, AttentionKind attention, ProfileCache& profiles,
                  Record& experiment, Record& assumed) {
  RunSoftware software{set_of(stack, attention, profiles, experiment)};
  if (family_of(software.base) == SourceFamily::kHuggingFace) {
    const DeviceSpec& device = profiles.gpu(experiment["cluster"]["gpu"].get<std::string>());
    settle_scaled_attention(device, {0, stack.month}, software, assumed);
  }
  const std::string before = named_set(experiment);
  if (const Record& own = experiment["software"]; own.is_object()) {
    software.changes.update(own);
    software.changes.erase("base");
  }
  assumed.push_back(
      "software " + software.base + ": " + stack.reason +
      (before.empty() || before == software.base ? std::string() : "; the row names " + before));
  experiment["software"] = software.record();
}

}  // namespace stepcast
