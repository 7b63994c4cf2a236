// SPDX-License-Identifier: Apache-2.0
// What a run of Hugging Face's Trainer is told, whichever tool says it: Trainer's own arguments,
// TRL, axolotl or LLaMA-Factory. Each tool has its own names and takes other things for granted;
// their readers end in the one struct below, which trainer_experiment.hpp makes an experiment of.
//
//   axolotl:        micro_batch_size: 2, sequence_len: 4096, attn_implementation: flash_attention_2
//   LLaMA-Factory:  per_device_train_batch_size: 2, cutoff_len: 4096, flash_attn: fa2
//   both            {micro_batch: 2, sequence: 4096, attention: flash_attention_2}
//
// Keys keep their tool's names, so that a message says what stands in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/setting_reader.hpp"
#include "stepcast/model/trained_weights.hpp"

namespace stepcast {

// Whose words the top level of a file has. Plain is a script with Trainer's arguments; TRL's are
// those and more, with other defaults.
enum class TrainerTool { kPlain, kTrl, kAxolotl, kLlamaFactory };
// "LLaMA-Factory".
std::string_view title(TrainerTool tool);

// What a tool calls the few keys whose names differ.
struct TrainerNames {
  std::string_view model = "model_name_or_path";
  std::string_view sequence = "max_length";
  std::string_view micro_batch = "per_device_train_batch_size";
  std::string_view optimizer = "optim";
};
TrainerNames names_of(TrainerTool tool);

// In which format a run says that products are; unset: it does not say.
enum class TrainerPrecision { kFp32, kFp16, kBf16 };

// In which format the weights of the model lie when training begins.
enum class LoadedWeights { kFp32, kBf16, kFp16 };

// Kernels of Liger, which a run switches one by one or all at once.
struct LigerKernels {
  bool rope = false;
  bool norm = false;
  bool activation = false;
  bool cross_entropy = false;
  bool fused_linear = false;  // the head's product and the loss together, some tokens at a time
};

// How samples become sequences: padded to the longest of a batch; joined until a sequence is full;
// or joined to one row without padding.
enum class Packing { kPadded, kPacked, kPaddingFree };

// What of LoRA a file says, in the words of PEFT.
struct PeftAdapters {
  std::string rank_key;  // where the rank stands, for messages
  std::optional<std::int64_t> rank;
  std::string targets_key;
  std::vector<std::string> targets;  // empty: PEFT's own for the model
  double dropout = 0.0;
  BaseWeights base = BaseWeights::kAsOthers;
  std::string saved_key;
  std::vector<std::string> saved;  // modules_to_save: trained whole
};

struct TrainerRun {
  std::optional<std::string> model;
  std::optional<std::int64_t> sequence;
  std::int64_t micro_batch = 1;
  std::int64_t accumulation = 1;
  bool accumulation_given = false;
  bool checkpoints = false;  // gradient checkpointing: every layer is computed again
  // What stays for backward waits in the host's memory: inputs of layers with checkpointing, else
  // every saved tensor.
  bool activations_on_host = false;
  std::optional<TrainerPrecision> precision;
  LoadedWeights loaded = LoadedWeights::kFp32;
  std::string loaded_reason;
  // Trained parameters are brought to fp32 after loading, whatever the file's format.
  bool upcasts_trained = false;
  std::string optimizer;
  std::string attention_key;
  std::string attention;  // transformers' word; empty: what PyTorch takes
  Packing packing = Packing::kPadded;
  LigerKernels liger;
  std::int64_t loss_chunks = 1;  // where a tool takes the loss in parts by itself
  std::optional<PeftAdapters> adapters;
  bool fuses_adapters = false;      // a kernel of its own for adapted products
  std::int64_t quantised_bits = 0;  // of frozen base weights; 0: none
  bool clips = true;                // max_grad_norm above 0
  // Degrees that a tool's own keys name.
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  bool ring = false;  // of cp: keys and values go round; else they are gathered
  std::optional<std::int64_t> shards;
  std::optional<std::int64_t> replicas;
};

// Each reads every key of its tool, known ones that have no place here included; problems go to the
// reader's diagnostics.
TrainerRun read_plain_run(FrameworkReader& settings, TrainerTool tool);
TrainerRun read_axolotl_run(FrameworkReader& settings);
TrainerRun read_llamafactory_run(FrameworkReader& settings);
TrainerRun read_trainer_run(FrameworkReader& settings, TrainerTool tool);

// --- what the readers share --------------------------------------------------------------------

// A count of at least 1; 1 where it is wrong.
std::int64_t positive_or(FrameworkReader& settings, std::string_view name, std::string_view ours,
                         std::int64_t fallback);
// The first of these names that the file has; empty if it has none.
std::string_view first_of(const FrameworkReader& settings, std::string_view names);
// "auto" counts as absent, as bf16 of axolotl has it.
std::optional<bool> flag_unless_auto(FrameworkReader& settings, std::string_view name,
                                     std::string_view ours);
// "torch.bfloat16", "bf16": the format that a file loads weights in; "auto" and what is none of
// them gives nothing, and is told.
std::optional<LoadedWeights> loaded_weights(FrameworkReader& settings, std::string_view name);
// Ends an import of training of another kind, which none of its other keys can help.
[[noreturn]] void not_modelled(const FrameworkReader& settings, std::string_view key,
                               const std::string& what);
// bf16 and fp16 of Trainer. A file that wants both is an error.
std::optional<TrainerPrecision> read_precision(FrameworkReader& settings);
// Liger's kernels as Trainer takes them: all but the loss by itself, or what liger_kernel_config
// says.
LigerKernels liger_of_trainer(FrameworkReader& settings);
// max_grad_norm, gradient_accumulation_steps.
void read_steps(FrameworkReader& settings, TrainerRun& run);

}  // namespace stepcast
