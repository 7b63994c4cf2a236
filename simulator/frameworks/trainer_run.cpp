// SPDX-License-Identifier: Apache-2.0
// What each reader takes for granted: transformers 5 (training_args.py) for Trainer, TRL 0.29
// (trainer/base_config.py, sft_config.py, model_config.py) for TRL.
#include "frameworks/trainer_run.hpp"

#include <algorithm>
#include <array>

#include "frameworks/trainer_adapters.hpp"
#include "frameworks/trainer_unpriced.hpp"
#include "frameworks/trainer_words.hpp"
#include "frameworks/words.hpp"

namespace stepcast {
namespace {

// Names under which scripts take the tokens of a sequence.
constexpr std::string_view kSequenceNames =
    "max_length max_seq_length model_max_length cutoff_len block_size max_seq_len seq_length "
    "max_sequence_length";
// And the model.
constexpr std::string_view kModelNames =
    "model_name_or_path model_name model_id model_path base_model model";
constexpr std::string_view kSequenceKey = "training.sequence_length";

struct LoadedWord {
  std::string_view theirs;
  LoadedWeights ours;
};
constexpr auto kLoadedWords = std::to_array<LoadedWord>({
    {"bfloat16", LoadedWeights::kBf16},
    {"bf16", LoadedWeights::kBf16},
    {"float16", LoadedWeights::kFp16},
    {"fp16", LoadedWeights::kFp16},
    {"half", LoadedWeights::kFp16},
    {"float32", LoadedWeights::kFp32},
    {"fp32", LoadedWeights::kFp32},
    {"float", LoadedWeights::kFp32},
});

// "bfloat16" of "torch.bfloat16".
std::string last_part(const std::string& text) {
  const std::size_t dot = text.rfind('.');
  return dot == std::string::npos ? text : text.substr(dot + 1);
}

class PlainReader {
 public:
  PlainReader(FrameworkReader& settings, TrainerTool tool)
      : settings_(settings), trl_(tool == TrainerTool::kTrl), names_(names_of(tool)) {}

  TrainerRun run() {
    refuse_other_training();
    const std::string_view model = first_of(settings_, kModelNames);
    run_.model = settings_.text(model.empty() ? names_.model : model, "model");
    read_sequence();
    run_.micro_batch = positive_or(settings_, names_.micro_batch, "training.micro_batch_size", 8);
    read_steps(settings_, run_);
    read_checkpointing();
    read_precision_of_run();
    read_loading();
    read_attention();
    read_optimizer();
    read_packing();
    read_liger();
    read_adapters();
    leave_out_trainer_keys(settings_);
    return std::move(run_);
  }

 private:
  void refuse_other_training() {
    const std::string_view key = first_of(settings_, kOtherTrainingKeys);
    if (!key.empty()) {
      not_modelled(settings_, key, "is a key of preference or reinforcement training");
    }
  }

  // TRL took other things for granted up to 0.19, which has keys that later ones do not.
  [[nodiscard]] bool is_early() const {
    return settings_.has("max_seq_length") || settings_.has("evaluation_strategy");
  }

  void take_for_granted(std::string_view name, std::string_view value, std::string_view ours,
                        std::string_view note) {
    settings_.remark({ImportOutcome::kDefaulted,
                      std::string(name),
                      std::string(value),
                      std::string(ours),
                      std::string(note),
                      {}});
  }

  void read_sequence() {
    const std::string_view name = first_of(settings_, kSequenceNames);
    if (!name.empty()) {
      run_.sequence = positive_or(settings_, name, kSequenceKey, 1);
    } else if (trl_) {
      constexpr std::int64_t kTrlSequence = 1024;
      run_.sequence = positive_or(settings_, names_.sequence, kSequenceKey, kTrlSequence);
    }
  }

  void read_checkpointing() {
    constexpr std::string_view kName = "gradient_checkpointing";
    const std::optional<bool> given = settings_.flag(kName, "training.recompute");
    const bool usual = trl_ && !is_early();
    if (!given) {
      take_for_granted(kName, usual ? "true" : "false", "training.recompute",
                       trl_ ? (usual ? "since TRL 0.20" : "up to TRL 0.19") : "");
    }
    run_.checkpoints = given.value_or(usual);
    run_.activations_on_host =
        settings_.is_on("activation_offloading", "training.offload.activations");
  }

  void read_precision_of_run() {
    run_.precision = read_precision(settings_);
    if (!run_.precision && trl_ && !is_early() && !settings_.has("bf16")) {
      take_for_granted("bf16", "true", "training.dtype", "since TRL 0.20");
      run_.precision = TrainerPrecision::kBf16;
    }
  }

  void read_loading() {
    const std::string_view name = first_of(settings_,
                                           "dtype torch_dtype model_init_kwargs.dtype "
                                           "model_init_kwargs.torch_dtype");
    const std::optional<LoadedWeights> given =
        name.empty() ? std::nullopt : loaded_weights(settings_, name);
    run_.loaded = given.value_or(LoadedWeights::kFp32);
    run_.loaded_reason =
        given ? std::string(name) + " of the file"
              : "no dtype in the file: fp32, as from_pretrained of transformers 4 and TRL's own "
                "script load; transformers 5 loads what the checkpoint has";
  }

  void read_attention() {
    const std::string_view name =
        first_of(settings_,
                 "attn_implementation model_init_kwargs.attn_implementation "
                 "_attn_implementation");
    if (!name.empty()) {
      run_.attention_key = std::string(name);
      run_.attention = settings_.text(name, "software.attention").value_or("");
      return;
    }
    const std::string_view flag =
        first_of(settings_, "use_flash_attn use_flash_attention_2 use_flash_attention");
    if (!flag.empty() && settings_.is_on(flag, "software.attention")) {
      run_.attention_key = std::string(flag);
      run_.attention = "flash_attention_2";
    }
  }

  void read_optimizer() {
    run_.optimizer = settings_.text_or(names_.optimizer, "training.optimizer", "adamw_torch_fused");
  }

  void read_packing() {
    constexpr std::string_view kDocumentsKey = "training.documents";
    const bool free = settings_.is_on("padding_free", kDocumentsKey);
    const bool packed = settings_.is_on("packing", kDocumentsKey);
    run_.packing = packed ? Packing::kPacked : free ? Packing::kPaddingFree : Packing::kPadded;
    settings_.without_effect("packing_strategy eval_packing");
  }

  void read_liger() {
    const std::string_view name = first_of(settings_, "use_liger_kernel use_liger use_liger_loss");
    if (!name.empty() && settings_.is_on(name, "software")) {
      run_.liger = liger_of_trainer(settings_);
    }
    const std::string loss = settings_.text("loss_type", "software.cross_entropy").value_or("nll");
    if (loss == "chunked_nll") {
      run_.loss_chunks = 8;
      settings_.assume("software.memory.loss_chunks", "8",
                       "loss_type chunked_nll takes the tokens in parts; how many is not in the "
                       "file");
    } else if (loss != "nll") {
      settings_.leave_out("loss_type", loss.substr(0, 60), "a loss of another form");
    }
  }

  static constexpr std::string_view kLlavaSwitch = "lora_enable";

  void read_adapters() {
    read_quantisation();
    const std::string_view name = first_of(settings_, switches());
    const bool wanted =
        (!name.empty() && settings_.is_on(name, "training.lora")) || has_rank_alone();
    const bool llava = name == kLlavaSwitch;
    run_.adapters = read_peft_adapters(settings_);
    if (!run_.adapters && wanted) {
      PeftKeys keys;
      keys.usual_rank = trl_    ? std::optional<std::int64_t>(16)
                        : llava ? std::optional<std::int64_t>(64)
                                : std::nullopt;
      run_.adapters = read_adapter_keys(settings_, keys);
    }
    if (llava && run_.adapters) {
      take_llava_targets();
    }
    refuse_chat_adapters();
    settings_.not_carried("lora_target_parameters",
                          "adapters of experts' weights; here they are frozen", "");
    settings_.without_effect(
        "lora_r lora_alpha lora_dropout lora_bias lora_task_type lora_target_modules "
        "lora_modules_to_save lora_path lora_weight_path use_peft use_peft_lora use_lora "
        "use_rslora");
  }

  // TRL has no lora_enable: there it is a word that nobody knows.
  [[nodiscard]] std::string_view switches() const {
    constexpr std::string_view kWithLlava = "use_peft use_peft_lora use_lora q_lora lora_enable";
    constexpr std::string_view kAdaptersOfTrl = "use_peft use_peft_lora use_lora q_lora";
    return trl_ ? kAdaptersOfTrl : kWithLlava;
  }

  // LLaVA names no modules: llava/train/train.py, find_all_linear_names(), takes every linear one
  // but the head and the projector of images.
  void take_llava_targets() {
    if (run_.adapters->targets.empty()) {
      run_.adapters->targets = {"all-linear"};
      settings_.assume("training.lora.targets", "all",
                       "lora_enable of LLaVA takes every linear module of the language model");
    }
  }

  // DeepSpeed-Chat's adapters lie beside weights that are trained as well, unless it is told
  // otherwise (step1_supervised_finetuning/main.py).
  void refuse_chat_adapters() {
    constexpr std::string_view kRank = "lora_dim";
    if (settings_.count(kRank, "training.lora").value_or(0) > 0) {
      settings_.error(
          kRank,
          "is the rank of DeepSpeed-Chat's adapters, which are not read; give lora_dim=0 "
          "behind the file, and use_lora=true lora_r=128 lora_target_modules=all-linear "
          "where adapters alone are trained");
    }
    settings_.without_effect("lora_module_name lora_learning_rate only_optimize_lora");
  }

  // A rank that no switch turns on or off: TRL trains without adapters then, and what another
  // program does nobody knows, but it asks for a rank.
  bool has_rank_alone() {
    if (!settings_.has("lora_r") || !first_of(settings_, switches()).empty()) {
      return false;
    }
    settings_.assume("training.lora", trl_ ? "none" : "that of lora_r",
                     trl_ ? "lora_r has no effect without use_peft=true"
                          : "lora_r is given and no switch; give use_peft=false if it is not used");
    return !trl_;
  }

  void read_quantisation() {
    constexpr std::string_view kNames4 = "load_in_4bit use_4bit_quantization q_lora use_4bit";
    constexpr std::string_view kNames8 = "load_in_8bit use_8bit_quantization use_8bit";
    for (const std::string_view name : names_in(kNames4)) {
      run_.quantised_bits = settings_.is_on(name, "") ? 4 : run_.quantised_bits;
    }
    for (const std::string_view name : names_in(kNames8)) {
      run_.quantised_bits = settings_.is_on(name, "") ? 8 : run_.quantised_bits;
    }
  }

  FrameworkReader& settings_;
  bool trl_;
  TrainerNames names_;
  TrainerRun run_;
};

}  // namespace

std::string_view title(TrainerTool tool) {
  constexpr std::array<std::string_view, 4> kTitles = {"Trainer", "TRL", "axolotl",
                                                       "LLaMA-Factory"};
  return kTitles.at(static_cast<std::size_t>(tool));
}

TrainerNames names_of(TrainerTool tool) {
  if (tool == TrainerTool::kAxolotl) {
    return {"base_model", "sequence_len", "micro_batch_size", "optimizer"};
  }
  TrainerNames names;
  if (tool == TrainerTool::kLlamaFactory) {
    names.sequence = "cutoff_len";
  }
  return names;
}

std::int64_t positive_or(FrameworkReader& settings, std::string_view name, std::string_view ours,
                         std::int64_t fallback) {
  constexpr std::int64_t kMost = 1 << 28;
  const std::int64_t value = settings.count_or(name, ours, fallback);
  if (value < 1 || value > kMost) {
    settings.error(name,
                   "must be from 1 to " + std::to_string(kMost) + ", not " + std::to_string(value));
    return 1;
  }
  return value;
}

std::string_view first_of(const FrameworkReader& settings, std::string_view names) {
  for (const std::string_view name : names_in(names)) {
    if (settings.has(name)) {
      return name;
    }
  }
  return {};
}

std::optional<bool> flag_unless_auto(FrameworkReader& settings, std::string_view name,
                                     std::string_view ours) {
  const std::optional<std::string> written = settings.as_written(name, ours);
  return written == "auto" || written == "full" ? std::nullopt : settings.flag(name, ours);
}

std::optional<LoadedWeights> loaded_weights(FrameworkReader& settings, std::string_view name) {
  const std::optional<std::string> written = settings.text(name, "training.weights");
  if (!written) {
    return std::nullopt;
  }
  const LoadedWord* const known = row_with(kLoadedWords, &LoadedWord::theirs, last_part(*written));
  if (known == nullptr) {
    settings.assume("training.weights", "bf16",
                    std::string(name) + " " + written->substr(0, 60) +
                        " is the checkpoint's own format, which the file does not say");
  }
  return known == nullptr ? LoadedWeights::kBf16 : known->ours;
}

LigerKernels liger_of_trainer(FrameworkReader& settings) {
  const auto on = [&](std::string_view kernel, bool usual) {
    const std::string key = "liger_kernel_config." + std::string(kernel);
    return settings.flag(key, "software").value_or(usual);
  };
  LigerKernels liger;
  liger.rope = on("rope", true);
  liger.norm = on("rms_norm", true);
  liger.activation = on("swiglu", true);
  liger.cross_entropy = on("cross_entropy", false);
  liger.fused_linear = on("fused_linear_cross_entropy", true);
  return liger;
}

std::optional<TrainerPrecision> read_precision(FrameworkReader& settings) {
  const bool bf16 = flag_unless_auto(settings, "bf16", "training.dtype").value_or(false);
  const bool fp16 = flag_unless_auto(settings, "fp16", "training.dtype").value_or(false);
  if (bf16 && fp16) {
    settings.error("fp16", "and bf16 are both on; one of them can be");
  }
  return bf16   ? std::optional(TrainerPrecision::kBf16)
         : fp16 ? std::optional(TrainerPrecision::kFp16)
                : std::nullopt;
}

void not_modelled(const FrameworkReader& settings, std::string_view key, const std::string& what) {
  throw ConfigError(settings.location(key), "'" + std::string(key) + "' " + what +
                                                ", which is not modelled; supervised training is");
}

void read_steps(FrameworkReader& settings, TrainerRun& run) {
  constexpr std::string_view kName = "gradient_accumulation_steps";
  run.accumulation_given = settings.has(kName);
  run.accumulation = positive_or(settings, kName, "training.global_batch_size", 1);
  run.clips = settings.number("max_grad_norm", "software.scales_gradients").value_or(1.0) > 0.0;
}

TrainerRun read_plain_run(FrameworkReader& settings, TrainerTool tool) {
  return PlainReader(settings, tool).run();
}

TrainerRun read_trainer_run(FrameworkReader& settings, TrainerTool tool) {
  switch (tool) {
    case TrainerTool::kAxolotl:
      return read_axolotl_run(settings);
    case TrainerTool::kLlamaFactory:
      return read_llamafactory_run(settings);
    case TrainerTool::kPlain:
    case TrainerTool::kTrl:
      break;
  }
  return read_plain_run(settings, tool);
}

}  // namespace stepcast
