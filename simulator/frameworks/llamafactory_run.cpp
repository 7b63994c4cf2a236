// SPDX-License-Identifier: Apache-2.0
// LLaMA-Factory's YAML or JSON. Source: hiyouga/LLaMA-Factory at ff6d4d12e,
// src/llamafactory/hparams and model. What it takes for granted: adapters of rank 8 at every linear
// layer, sequences of 2048 tokens, gradient checkpointing on, and trained weights that are brought
// to fp32.
#include <array>

#include "frameworks/trainer_adapters.hpp"
#include "frameworks/trainer_run.hpp"
#include "frameworks/trainer_unpriced.hpp"
#include "frameworks/trainer_words.hpp"
#include "frameworks/words.hpp"

namespace stepcast {
namespace {

constexpr auto kFactoryAttention = std::to_array<Word>({
    {"fa2", "flash_attention_2"},
    {"fa3", "flash_attention_3"},
    {"sdpa", "sdpa"},
    {"auto", ""},
    {"disabled", "eager"},
    // Of before July 2024, a switch.
    {"true", "flash_attention_2"},
    {"True", "flash_attention_2"},
    {"false", ""},
    {"False", ""},
});

class FactoryReader {
 public:
  explicit FactoryReader(FrameworkReader& settings) : settings_(settings) {}

  TrainerRun run() {
    constexpr TrainerTool kTool = TrainerTool::kLlamaFactory;
    const TrainerNames names = names_of(kTool);
    refuse_other_training();
    run_.model = settings_.text(names.model, "model");
    run_.sequence = positive_or(settings_, names.sequence, "training.sequence_length", 2048);
    run_.micro_batch = positive_or(settings_, names.micro_batch, "training.micro_batch_size", 8);
    read_steps(settings_, run_);
    read_checkpointing();
    run_.precision = read_precision(settings_);
    read_attention();
    read_optimizer(names.optimizer);
    read_packing();
    if (settings_.is_on("enable_liger_kernel", "software")) {
      run_.liger = liger_of_trainer(settings_);
    }
    read_tuning();
    read_loading();
    leave_out_llamafactory_keys(settings_);
    leave_out_trainer_keys(settings_);
    return std::move(run_);
  }

 private:
  void refuse_other_training() {
    stage_ = settings_.text_or("stage", "", "sft");
    if (stage_ != "sft" && stage_ != "pt") {
      not_modelled(settings_, "stage", "is '" + stage_.substr(0, 60) + "'");
    }
    const bool trains = !first_of(settings_,
                                  "do_train learning_rate num_train_epochs max_steps "
                                  "per_device_train_batch_size tensor_model_parallel_size "
                                  "model_class")
                             .empty();
    if (!trains) {
      const std::string_view other = first_of(settings_, "export_dir infer_backend do_sample");
      settings_.error(other.empty() ? "do_train" : other,
                      "is of a file that trains nothing: it has no do_train, learning_rate or "
                      "per_device_train_batch_size");
      settings_.diagnostics().throw_if_any();
    }
    const std::string_view megatron =
        first_of(settings_,
                 "tensor_model_parallel_size pipeline_model_parallel_size "
                 "expert_model_parallel_size use_mca use_megatron_bridge");
    if (!megatron.empty()) {
      throw ConfigError(settings_.location(megatron),
                        "'" + std::string(megatron) +
                            "' trains by Megatron and not by Trainer; 'import megatron' takes its "
                            "arguments");
    }
    const std::string_view later = first_of(settings_,
                                            "dist_config.name kernel_config.name "
                                            "model_class init_config.name");
    if (!later.empty()) {
      throw ConfigError(settings_.location(later),
                        "'" + std::string(later) +
                            "' is of LLaMA-Factory's v1, whose files are not read; give the same "
                            "to the usual one: model_name_or_path, finetuning_type, deepspeed");
    }
  }

  void read_checkpointing() {
    constexpr std::string_view kName = "disable_gradient_checkpointing";
    const std::optional<bool> off = settings_.flag(kName, "training.recompute");
    if (!off) {
      settings_.remark({ImportOutcome::kDefaulted,
                        std::string(kName),
                        "false",
                        "training.recompute",
                        "every layer is computed again",
                        {}});
    }
    run_.checkpoints = !off.value_or(false);
    // Unsloth's checkpointing, which copies inputs of layers to the host beside the computation;
    // where nothing is checkpointed there are none.
    run_.activations_on_host =
        settings_.is_on("use_unsloth_gc", "training.offload.activations") && run_.checkpoints;
    settings_.without_effect("gradient_checkpointing");
  }

  void read_attention() {
    constexpr std::string_view kName = "flash_attn";
    const std::string written = settings_.text_or(kName, "software.attention", "auto");
    const Word* const known = row_with(kFactoryAttention, &Word::theirs, written);
    run_.attention_key = std::string(kName);
    run_.attention = known == nullptr ? written : std::string(known->ours);
  }

  void read_optimizer(std::string_view name) {
    run_.optimizer = settings_.text_or(name, "training.optimizer", "adamw_torch_fused");
    if (settings_.is_on("use_muon", "training.optimizer")) {
      run_.optimizer = "muon";
    }
  }

  void read_packing() {
    constexpr std::string_view kDocumentsKey = "training.documents";
    const bool neat = settings_.is_on("neat_packing", kDocumentsKey);
    const bool packed = settings_.flag("packing", kDocumentsKey).value_or(stage_ == "pt");
    run_.packing = neat || packed ? Packing::kPacked : Packing::kPadded;
  }

  void read_tuning() {
    const std::string bits = settings_.as_written("quantization_bit", "").value_or("0");
    if (bits != "0") {
      run_.quantised_bits = bits == "4" || bits == "8" ? bits.front() - '0' : 0;
      if (run_.quantised_bits == 0) {
        settings_.error("quantization_bit", "must be 4 or 8, not " + bits.substr(0, 20));
      }
    }
    const std::string tuning = settings_.text_or("finetuning_type", "training.lora", "lora");
    if (tuning == "lora") {
      PeftKeys keys{"lora_rank", "lora_target", "lora_dropout", "additional_target", 8};
      run_.adapters = read_adapter_keys(settings_, keys);
      if (!settings_.has(keys.targets)) {
        run_.adapters->targets = {"all-linear"};
        settings_.remark({ImportOutcome::kDefaulted,
                          std::string(keys.targets),
                          "all",
                          "training.lora.targets",
                          {},
                          {}});
      }
    } else if (tuning == "full") {
      settings_.without_effect("lora_* additional_target");
    } else {
      settings_.error("finetuning_type",
                      "is '" + tuning.substr(0, 60) +
                          "', which trains some layers alone or rotates weights and is not priced; "
                          "lora and full are");
    }
  }

  void read_loading() {
    const bool pure = settings_.is_on("pure_bf16", "training.weights");
    if (pure && !run_.precision) {
      run_.precision = TrainerPrecision::kBf16;
    }
    const bool half = run_.precision == TrainerPrecision::kFp16;
    run_.loaded = !run_.precision ? LoadedWeights::kFp32
                  : half          ? LoadedWeights::kFp16
                                  : LoadedWeights::kBf16;
    run_.upcasts_trained = !pure && !run_.adapters;
    run_.loaded_reason = pure ? "pure_bf16: weights stay in 16 bits"
                         : run_.adapters
                             ? "LLaMA-Factory loads frozen weights in 16 bits; adapters are fp32"
                             : "LLaMA-Factory brings what it trains to fp32";
  }

  FrameworkReader& settings_;
  TrainerRun run_;
  std::string stage_;
};

}  // namespace

TrainerRun read_llamafactory_run(FrameworkReader& settings) {
  return FactoryReader(settings).run();
}

}  // namespace stepcast
