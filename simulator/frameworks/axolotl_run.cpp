// SPDX-License-Identifier: Apache-2.0
// axolotl's YAML. Source: axolotl-ai-cloud/axolotl at 067b021c8: utils/schemas, loaders/model.py,
// integrations. What it takes for granted: sequences of 512 tokens, one of them a micro-batch,
// bf16 where the GPU has it, and weights that are loaded in that format and stay in it.
#include <algorithm>
#include <array>

#include "frameworks/trainer_adapters.hpp"
#include "frameworks/trainer_run.hpp"
#include "frameworks/trainer_unpriced.hpp"
#include "frameworks/trainer_words.hpp"
#include "frameworks/words.hpp"

namespace stepcast {
namespace {

// Switches of before attn_implementation.
constexpr auto kAttentionFlags = std::to_array<Word>({
    {"flash_attention", "flash_attention_2"},
    {"sdp_attention", "sdpa"},
    {"flex_attention", "flex_attention"},
    {"eager_attention", "eager"},
    {"xformers_attention", "xformers"},
    {"sage_attention", "sage"},
});

constexpr std::string_view kLiger = "axolotl.integrations.liger.LigerPlugin";
constexpr std::string_view kLigerModule = "axolotl.integrations.liger";
constexpr std::string_view kCutLoss = "axolotl.integrations.cut_cross_entropy.";
constexpr std::string_view kLoadedReason =
    "axolotl loads weights in the format of bf16 or fp16, and trains them in it";

class AxolotlReader {
 public:
  explicit AxolotlReader(FrameworkReader& settings) : settings_(settings) {}

  TrainerRun run() {
    constexpr TrainerTool kTool = TrainerTool::kAxolotl;
    const TrainerNames names = names_of(kTool);
    refuse_other_training();
    run_.model = settings_.text(names.model, "model");
    run_.sequence = positive_or(settings_, names.sequence, "training.sequence_length", 512);
    run_.micro_batch = positive_or(settings_, names.micro_batch, "training.micro_batch_size", 1);
    read_steps(settings_, run_);
    read_precision_of_run();
    read_checkpointing();
    read_attention();
    run_.optimizer = settings_.text_or(names.optimizer, "training.optimizer", "adamw_torch_fused");
    read_packing();
    read_plugins();
    read_adapters();
    read_degrees();
    leave_out_axolotl_keys(settings_);
    return std::move(run_);
  }

 private:
  void refuse_other_training() {
    if (const std::optional<std::string> kind = settings_.text("rl", "")) {
      not_modelled(settings_, "rl", "is '" + kind->substr(0, 60) + "'");
    }
    for (const std::string_view key : {"reward_model", "process_reward_model"}) {
      if (settings_.is_on(key, "")) {
        not_modelled(settings_, key, "is on: a model of rewards");
      }
    }
    if (settings_.has("diffusion.noise_schedule")) {
      not_modelled(settings_, "diffusion.noise_schedule", "is of training by diffusion");
    }
  }

  void read_precision_of_run() {
    const std::optional<std::string> bf16 = settings_.as_written("bf16", "training.dtype");
    const bool half = flag_unless_auto(settings_, "fp16", "training.dtype").value_or(false) ||
                      settings_.is_on("float16", "training.dtype");
    const bool wanted = !bf16 || *bf16 == "auto" || *bf16 == "full"
                            ? !half
                            : settings_.flag("bf16", "training.dtype").value_or(false) ||
                                  settings_.is_on("bfloat16", "training.dtype");
    if (!bf16 && !half) {
      settings_.remark({ImportOutcome::kDefaulted,
                        "bf16",
                        "auto",
                        "training.dtype",
                        "bf16 where the GPU has it",
                        {}});
    }
    run_.precision = wanted ? std::optional(TrainerPrecision::kBf16)
                     : half ? std::optional(TrainerPrecision::kFp16)
                            : std::nullopt;
    run_.loaded = wanted ? LoadedWeights::kBf16
                  : half ? LoadedWeights::kFp16
                         : LoadedWeights::kFp32;
    run_.loaded_reason = std::string(kLoadedReason);
    if (settings_.is_on("fp8", "training.dtype")) {
      leave_out(settings_, "fp8", "true", UnpricedFeature::kFp8Products);
    }
  }

  void read_checkpointing() {
    constexpr std::string_view kName = "gradient_checkpointing";
    const std::optional<std::string> written = settings_.as_written(kName, "training.recompute");
    const bool offloads = written == "offload" || written == "offload_disk" || written == "unsloth";
    run_.activations_on_host = offloads;
    if (written == "offload_disk") {
      leave_out(settings_, kName, *written, UnpricedFeature::kOnDisk);
    }
    if (!written) {
      settings_.remark(
          {ImportOutcome::kDefaulted, std::string(kName), "false", "training.recompute", {}, {}});
    }
    run_.checkpoints =
        offloads || (written && settings_.flag(kName, "training.recompute").value_or(false));
    const std::string offloading =
        settings_.as_written("activation_offloading", "training.offload.activations")
            .value_or("false");
    if (offloading != "false") {
      run_.activations_on_host = true;
    }
    if (offloading == "disk") {
      leave_out(settings_, "activation_offloading", offloading, UnpricedFeature::kOnDisk);
    }
  }

  void read_attention() {
    constexpr std::string_view kName = "attn_implementation";
    if (settings_.has(kName)) {
      run_.attention_key = std::string(kName);
      run_.attention = settings_.text(kName, "software.attention").value_or("");
    }
    for (const Word& flag : kAttentionFlags) {
      if (settings_.is_on(flag.theirs, "software.attention") && run_.attention.empty()) {
        run_.attention_key = std::string(flag.theirs);
        run_.attention = std::string(flag.ours);
      }
    }
  }

  void read_packing() {
    constexpr std::string_view kDocumentsKey = "training.documents";
    const bool packed = settings_.is_on("sample_packing", kDocumentsKey);
    const bool free =
        flag_unless_auto(settings_, "batch_flattening", kDocumentsKey).value_or(false);
    run_.packing = packed ? Packing::kPacked : free ? Packing::kPaddingFree : Packing::kPadded;
  }

  void read_plugins() {
    bool liger = false;
    for (const std::string& plugin :
         settings_.texts("plugins", "software").value_or(std::vector<std::string>{})) {
      if (plugin == kLiger || plugin == kLigerModule) {
        liger = true;
      } else if (plugin.starts_with(kCutLoss)) {
        leave_out(settings_, "plugins", plugin, UnpricedFeature::kLogitsNeverKept);
      } else {
        settings_.leave_out("plugins", plugin.substr(0, 80), "a plugin that is not known here");
      }
    }
    const auto on = [&](std::string_view name) {
      return settings_.is_on(name, "software") && liger;
    };
    run_.liger.rope = on("liger_rope");
    run_.liger.norm = on("liger_rms_norm");
    const bool older = on("liger_swiglu");
    run_.liger.activation = on("liger_glu_activation") || older;
    run_.liger.cross_entropy = on("liger_cross_entropy");
    run_.liger.fused_linear = on("liger_fused_linear_cross_entropy");
    if (settings_.is_on("chunked_cross_entropy", "software.memory.loss_chunks")) {
      run_.loss_chunks = positive_or(settings_, "chunked_cross_entropy_num_chunks",
                                     "software.memory.loss_chunks", 8);
    }
  }

  void read_adapters() {
    run_.quantised_bits = settings_.is_on("load_in_8bit", "") ? 8 : 0;
    run_.quantised_bits = settings_.is_on("load_in_4bit", "") ? 4 : run_.quantised_bits;
    const std::string adapter = settings_.text("adapter", "training.lora").value_or("");
    if (adapter.empty()) {
      settings_.without_effect("lora_* peft_*");
      return;
    }
    if (adapter != "lora" && adapter != "qlora") {
      settings_.error("adapter", "is '" + adapter.substr(0, 60) + "'; lora and qlora are priced");
    }
    run_.adapters = read_adapter_keys(settings_, PeftKeys{});
    if (settings_.is_on("lora_target_linear", "training.lora.targets")) {
      run_.adapters->targets = {"all-linear"};
    }
    bool all = true;
    for (const std::string_view name : {"lora_qkv_kernel", "lora_o_kernel", "lora_mlp_kernel"}) {
      all = settings_.is_on(name, "software.adapter") && all;
    }
    run_.fuses_adapters = all;
  }

  void read_degrees() {
    run_.tp = positive_or_one("tensor_parallel_size", "plan.tp");
    const std::string_view context =
        first_of(settings_, "context_parallel_size sequence_parallel_degree");
    run_.cp = context.empty() ? 1 : positive_or_one(context, "plan.cp");
    const std::string ring =
        settings_.text("ring_attn_func", "plan.cp_algorithm")
            .value_or(run_.packing == Packing::kPacked ? "varlen_llama3" : "batch_ring");
    run_.ring = run_.cp > 1 && ring != "varlen_llama3";
    run_.shards = degree("dp_shard_size", "plan.fsdp");
    run_.replicas = degree("dp_replicate_size", "plan.hsdp");
  }

  std::int64_t positive_or_one(std::string_view name, std::string_view ours) {
    return settings_.has(name) ? positive_or(settings_, name, ours, 1) : 1;
  }
  std::optional<std::int64_t> degree(std::string_view name, std::string_view ours) {
    return settings_.has(name) ? std::optional(positive_or(settings_, name, ours, 1))
                               : std::nullopt;
  }

  FrameworkReader& settings_;
  TrainerRun run_;
};

}  // namespace

TrainerRun read_axolotl_run(FrameworkReader& settings) { return AxolotlReader(settings).run(); }

}  // namespace stepcast
