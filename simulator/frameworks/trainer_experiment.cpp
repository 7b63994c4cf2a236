// SPDX-License-Identifier: Apache-2.0
#include "frameworks/trainer_experiment.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "frameworks/job_size.hpp"
#include "frameworks/published_models.hpp"
#include "frameworks/trainer_adapters.hpp"
#include "frameworks/trainer_unpriced.hpp"
#include "frameworks/words.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/plan/optimizer_spec.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kTrainerSet = "huggingface";
constexpr std::string_view kDeepSpeedSet = "huggingface_deepspeed";

// transformers' words for kernels of attention.
struct AttentionWord {
  std::string_view theirs;
  std::string_view ours;  // empty: what PyTorch takes, as the set has it
  bool library = false;   // FlashAttention's own, not PyTorch's
};
constexpr auto kTrainerAttention = std::to_array<AttentionWord>({
    {"flash_attention_2", "flash2", true},
    {"kernels-community/flash-attn2", "flash2", true},
    {"kernels-community/flash-attn", "flash2", true},
    {"flash_attention_3", "flash3", true},
    {"kernels-community/flash-attn3", "flash3", true},
    {"kernels-community/vllm-flash-attn3", "flash3", true},
    {"flash_attention_4", "flash4", true},
    {"flex_attention", "flex"},
    {"eager", "unfused"},
    {"sdpa", ""},
    {"auto", ""},
});

// Optimizers of Trainer (OptimizerNames) and axolotl.
struct OptimizerWord {
  std::string_view names;
  std::string_view ours;
  std::string_view moments{};  // empty: as the set has them
  std::string_view kernels{};  // of the software set; empty: as it is
  bool paged = false;
};
constexpr auto kTrainerOptimizers = std::to_array<OptimizerWord>({
    {"adamw_torch_fused AdamW Adam FusedAdam fused_adamw adamw_apex_fused", "adamw", {}, "fused"},
    {"adamw_torch adamw_hf adamw", "adamw", {}, "eager"},
    {"adamw_bnb_8bit adamw_8bit adamw_torch_8bit ao_adamw_8bit", "adamw", "8bit"},
    {"paged_adamw_8bit", "adamw", "8bit", {}, true},
    {"paged_adamw_32bit paged_adamw", "adamw", {}, {}, true},
    {"ao_adamw_fp8", "adamw", "fp8"},
    {"adafactor", "adafactor"},
    {"sgd SGD", "sgd"},
    {"muon Muon", "muon"},
});

class ExperimentWriter {
 public:
  ExperimentWriter(FrameworkReader& settings, const TrainerFile& file, const ImportInput& input)
      : settings_(settings), file_(file), input_(input) {}

  FrameworkExperiment experiment() {
    run_ = read_trainer_run(settings_, file_.tool);
    sharding_ = read_sharding(settings_, run_, file_.tool);
    world_ = read_world(settings_, file_, sharding_, input_);
    read_model();
    settle_batch();
    parts_.training = training();
    parts_.plan = plan();
    write_software();
    tell_lengths();
    parts_.gpus = world_.gpus;
    parts_.gpus_per_node = world_.gpus_per_node;
    return std::move(parts_);
  }

 private:
  [[nodiscard]] bool is_deepspeed() const { return sharding_.engine == ShardingEngine::kDeepSpeed; }
  [[nodiscard]] bool is_fsdp() const {
    return sharding_.engine == ShardingEngine::kFsdp1 || sharding_.engine == ShardingEngine::kFsdp2;
  }
  [[nodiscard]] std::int64_t dp() const {
    return std::max<std::int64_t>(1, world_.gpus / (sharding_.tp * sharding_.cp));
  }

  void read_model() {
    const std::string_view key = names_of(file_.tool).model;
    if (!run_.model) {
      settings_.error(key, "is not in the file; give " + std::string(key) +
                               "=NAME behind it, a name of huggingface.co or of configs/models, "
                               "or the path of a config.json");
      return;
    }
    parts_.model = published_model(*run_.model, input_, settings_, key);
    parts_.model_name = parts_.model ? parts_.model->name : std::string{};
  }

  // --- batch ---

  void settle_batch() {
    if (world_.gpus % (sharding_.tp * sharding_.cp) != 0) {
      settings_.error("parallelism_config.cp_size",
                      "and the ranks of tensor parallelism together do not divide " +
                          std::to_string(world_.gpus) + " GPUs");
    }
    const std::string_view name = names_of(file_.tool).micro_batch;
    if (sharding_.micro_batch && settings_.has(name) &&
        *sharding_.micro_batch != run_.micro_batch) {
      settings_.error("deepspeed.train_micro_batch_size_per_gpu",
                      "is " + std::to_string(*sharding_.micro_batch) + ", and " +
                          std::string(name) + " " + std::to_string(run_.micro_batch) +
                          "; Trainer wants them to be the same");
    }
    micro_ = sharding_.micro_batch.value_or(run_.micro_batch);
    const std::int64_t once = bounded_product(micro_, dp());
    std::int64_t steps = run_.accumulation_given
                             ? run_.accumulation
                             : sharding_.accumulation.value_or(run_.accumulation);
    if (sharding_.global_batch) {
      steps = steps_of(*sharding_.global_batch, once, steps);
    }
    global_ = bounded_product(once, steps);
  }

  std::int64_t steps_of(std::int64_t global, std::int64_t once, std::int64_t steps) {
    const bool free = !run_.accumulation_given && !sharding_.accumulation;
    if (free && global % once == 0) {
      return global / once;
    }
    if (global != bounded_product(once, steps)) {
      settings_.error("deepspeed.train_batch_size",
                      "is " + std::to_string(global) + ", and micro-batch, accumulation and " +
                          std::to_string(dp()) + " ranks make " +
                          std::to_string(bounded_product(once, steps)) +
                          "; give num_processes=N or leave it out");
    }
    return steps;
  }

  // --- training ---

  ConfigNode training() {
    ConfigWriter writer;
    writer.field("sequence_length", sequence());
    writer.field("micro_batch_size", micro_);
    writer.field("global_batch_size", global_);
    writer.field("dtype", dtype());
    writer.field("recompute", run_.checkpoints || sharding_.checkpoints ? "full" : "none");
    writer.field("optimizer", optimizer());
    write_weights(writer);
    write_offload(writer);
    if (run_.adapters) {
      PeftAdapters adapters = *run_.adapters;
      adapters.base = base_weights();
      write_adapters(adapters, settings_, writer);
    }
    check_quantised();
    return writer.take();
  }

  std::int64_t sequence() {
    const std::string_view name = names_of(file_.tool).sequence;
    if (!run_.sequence) {
      settings_.error(name,
                      "is not in the file: Trainer's arguments do not say how many tokens a "
                      "sequence has; give " +
                          std::string(name) + "=2048 behind it");
    }
    return run_.sequence.value_or(1);
  }

  std::string_view dtype() {
    const std::optional<TrainerPrecision> precision =
        run_.precision ? run_.precision : sharding_.precision;
    if (precision) {
      return precision == TrainerPrecision::kFp16 ? "fp16" : "bf16";
    }
    if (run_.loaded != LoadedWeights::kFp32) {
      return run_.loaded == LoadedWeights::kFp16 ? "fp16" : "bf16";
    }
    settings_.error("bf16",
                    "is off, and the model is loaded in fp32: it trains in fp32, which no "
                    "time here prices; give bf16=true behind the file");
    return "bf16";
  }

  void write_weights(ConfigWriter& writer) {
    if (is_deepspeed()) {
      return;
    }
    const TrainerWeights weights = weights_of(run_, sharding_);
    if (weights.narrow) {
      writer.field("weights", "bf16");
    }
    settings_.assume("training.weights", weights.narrow ? "bf16" : "fp32", weights.reason);
  }

  void write_offload(ConfigWriter& writer) const {
    if (!run_.activations_on_host && !sharding_.parameters_on_host) {
      return;
    }
    writer.begin("offload");
    if (sharding_.parameters_on_host) {
      writer.field("parameters", true);
    }
    if (run_.activations_on_host) {
      writer.field("activations", true);
    }
    writer.end();
  }

  const OptimizerWord* known_optimizer() {
    const std::string& name = sharding_.optimizer.empty() ? run_.optimizer : sharding_.optimizer;
    const auto* const found =
        std::find_if(kTrainerOptimizers.begin(), kTrainerOptimizers.end(),
                     [&](const OptimizerWord& row) { return is_among(row.names, name); });
    return found == kTrainerOptimizers.end() ? nullptr : found;
  }

  ConfigNode optimizer() {
    const OptimizerWord* const known = known_optimizer();
    const std::string_view key = names_of(file_.tool).optimizer;
    if (known == nullptr) {
      const std::string& name = sharding_.optimizer.empty() ? run_.optimizer : sharding_.optimizer;
      settings_.leave_out(key, name.substr(0, 60), "priced as AdamW");
    }
    // On the host its states do not move pages by themselves.
    const bool paged = known != nullptr && known->paged && sharding_.states_on_host == 0.0;
    const std::string_view kind = known == nullptr ? "adamw" : known->ours;
    const std::string_view moments = known == nullptr ? std::string_view{} : known->moments;
    if (moments.empty() && sharding_.states_on_host == 0.0 && !paged) {
      return scalar_node(kind);
    }
    ConfigWriter writer;
    writer.field("kind", kind);
    if (!moments.empty()) {
      writer.field("moments", moments);
    }
    if (sharding_.states_on_host > 0.0) {
      writer.begin("offload");
      writer.field("share", sharding_.states_on_host);
      writer.field("states", name(OffloadedStates::kAll));
      writer.end();
    }
    if (paged) {
      writer.field("paged", true);
    }
    return writer.take();
  }

  // bitsandbytes' NF4; axolotl and LLaMA-Factory quantise its scales as well, unless told not to.
  BaseWeights base_weights() {
    if (run_.quantised_bits == 8) {
      return BaseWeights::kInt8;
    }
    if (run_.quantised_bits != 4) {
      return BaseWeights::kAsOthers;
    }
    const bool twice =
        file_.tool == TrainerTool::kAxolotl || file_.tool == TrainerTool::kLlamaFactory;
    settings_.assume("training.lora.base_weights", twice ? "nf4_double" : "nf4",
                     twice ? "the tool's default of double quantisation" : "bitsandbytes' default");
    return twice ? BaseWeights::kNf4Double : BaseWeights::kNf4;
  }

  void check_quantised() {
    if (run_.quantised_bits > 0 && !run_.adapters) {
      settings_.error(names_of(file_.tool).model,
                      "is loaded in " + std::to_string(run_.quantised_bits) +
                          " bits, which is trained by adapters alone, and the file has none");
    }
  }

  // --- plan ---

  ConfigNode plan() {
    ConfigWriter writer;
    writer.field("tp", sharding_.tp);
    writer.field("pp", std::int64_t{1});
    if (sharding_.cp > 1) {
      writer.field("cp", sharding_.cp);
    }
    if (is_fsdp() && !sharding_.whole) {
      write_shards(writer);
    } else if (is_deepspeed() && sharding_.zero == 3 &&
               (ranks() > 1 || sharding_.parameters_on_host)) {
      writer.field("fsdp", ranks());
    } else {
      writer.field("zero", is_deepspeed() && sharding_.zero < 3 ? sharding_.zero : 0);
      tell_replicas();
    }
    if (sharding_.tp > 1) {
      writer.field("sequence_parallel", false);  // norms run on whole sequences
    }
    if (sharding_.cp > 1) {
      writer.field("cp_algorithm", sharding_.ulysses ? "all_to_all"
                                   : sharding_.ring  ? "ring"
                                                     : "all_gather");
    }
    return writer.take();
  }

  // That may share one copy of the weights.
  [[nodiscard]] std::int64_t ranks() const { return bounded_product(dp(), sharding_.cp); }

  void write_shards(ConfigWriter& writer) {
    const std::int64_t node = world_.gpus_per_node.value_or(gpus_per_node(input_));
    std::int64_t group = ranks();
    if (sharding_.hybrid) {
      group = std::min(node, group);
    } else if (sharding_.replicas && *sharding_.replicas > 1) {
      group = std::max<std::int64_t>(1, group / *sharding_.replicas);
    } else if (sharding_.shards) {
      group = bounded_product(*sharding_.shards, sharding_.cp);
    }
    if (group < 1 || ranks() % group != 0) {
      settings_.error("parallelism_config.dp_shard_size",
                      "makes groups of " + std::to_string(group) + " GPUs, which do not divide " +
                          std::to_string(ranks()));
      group = ranks();
    }
    if (group == 1) {
      writer.field("zero", std::int64_t{0});
      return;
    }
    writer.field(group < ranks() ? "hsdp" : "fsdp", group);
    if (!sharding_.reshards) {
      writer.field("fsdp_reshard", false);
    }
  }

  // --- software ---

  void write_software() {
    parts_.software = std::string(is_deepspeed() ? kDeepSpeedSet : kTrainerSet);
    if (sharding_.engine == ShardingEngine::kFsdp1) {
      changes_.field("fsdp_layout", "flat");
    }
    write_attention();
    write_liger();
    const OptimizerWord* const known = known_optimizer();
    if (known != nullptr && !known->kernels.empty() && !is_deepspeed()) {
      changes_.field("optimizer", known->kernels);
    }
    if (run_.fuses_adapters) {
      changes_.field("adapter", "fused");
    }
    if (!run_.clips) {
      changes_.field("scales_gradients", false);
    }
    if (is_deepspeed() && sharding_.zero < 3 && sharding_.overlaps_reduction) {
      changes_.field("overlap_grad_reduce", *sharding_.overlaps_reduction);
    }
    parts_.software_changes = changes_.take();
  }

  void write_attention() {
    if (run_.attention.empty()) {
      return;
    }
    const AttentionWord* const known =
        row_with(kTrainerAttention, &AttentionWord::theirs, run_.attention);
    if (known == nullptr) {
      settings_.leave_out(run_.attention_key, run_.attention.substr(0, 60),
                          "a kernel that is not known here; that of the set is priced");
    } else if (!known->ours.empty()) {
      changes_.field("attention", known->ours);
      if (known->library) {
        changes_.begin("attention_library");
        changes_.field("name", "flash_attention");
        changes_.end();
      }
    }
  }

  void write_liger() {
    const LigerKernels& liger = run_.liger;
    if (liger.norm) {
      changes_.field("norm", "fused");
    }
    if (liger.rope) {
      changes_.field("rope", "fused");
    }
    if (liger.activation) {
      changes_.field("activation", "fused");
    }
    if (liger.cross_entropy || liger.fused_linear) {
      changes_.field("cross_entropy", "fused");
    }
    const std::int64_t chunks = liger.fused_linear ? liger_chunks() : run_.loss_chunks;
    if (chunks > 1) {
      changes_.begin("memory");
      changes_.field("loss_chunks", chunks);
      changes_.end();
    }
  }

  // LigerFusedLinearCrossEntropy takes as many tokens at once as the logits of one part have the
  // size of the hidden states: ceil(tokens / ceil(vocabulary / hidden)), up to a power of two.
  [[nodiscard]] std::int64_t liger_chunks() const {
    if (!parts_.model || parts_.model->hidden < 1 || !run_.sequence) {
      return 1;
    }
    constexpr std::int64_t kMost = 4096;
    const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    const std::int64_t tokens =
        std::min(bounded_product(micro_, *run_.sequence), std::int64_t{1} << 40);
    const std::int64_t parts = up(parts_.model->vocabulary, parts_.model->hidden);
    const auto rows =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(up(tokens, parts))));
    return std::clamp<std::int64_t>(up(tokens, rows), 1, kMost);
  }

  // TRL's file and LLaMA-Factory's leave it to accelerate's, which the launcher names, how the
  // model is divided.
  void tell_replicas() {
    const bool leaves_it =
        file_.tool == TrainerTool::kTrl || file_.tool == TrainerTool::kLlamaFactory;
    const bool is_left = leaves_it && file_.launcher.empty() && !is_deepspeed() && !is_fsdp() &&
                         !settings_.has("accelerate.distributed_type");
    if (is_left && ranks() > 1) {
      settings_.assume("plan.zero", "0",
                       "every GPU has the whole model, since no file of accelerate is named; give "
                       "fsdp=full_shard or deepspeed.zero_optimization.stage=N where one divides "
                       "it");
    }
  }

  // No file says how long its samples are.
  void tell_lengths() {
    constexpr std::array<std::string_view, 3> kNotes = {
        "every batch has the full length; files do not say how long samples are",
        "packed to the full length, all of which attention sees; no file has samples' lengths, "
        "with which scaled_dot_product_attention takes a tensor for a mask and 3 to 4 times as "
        "long",
        "joined to the full length, all of which attention sees; no file has samples' lengths, "
        "with which scaled_dot_product_attention takes a tensor for a mask and 3 to 4 times as "
        "long"};
    settings_.assume("training.documents", "none",
                     std::string(kNotes.at(static_cast<std::size_t>(run_.packing))));
  }

  FrameworkReader& settings_;
  const TrainerFile& file_;
  const ImportInput& input_;
  TrainerRun run_;
  TrainerSharding sharding_;
  TrainerWorld world_;
  FrameworkExperiment parts_;
  ConfigWriter changes_;
  std::int64_t micro_ = 1;
  std::int64_t global_ = 1;
};

}  // namespace

TrainerWeights weights_of(const TrainerRun& run, const TrainerSharding& sharding) {
  const bool mixed = run.precision.has_value() || sharding.precision.has_value();
  if (sharding.engine == ShardingEngine::kDeepSpeed) {
    return {false, "DeepSpeed keeps 16 bits and a copy in fp32 of its own"};
  }
  if (sharding.engine != ShardingEngine::kReplicas && mixed) {
    return {false, "accelerate brings what FSDP trains to fp32 where precision is mixed"};
  }
  if (run.upcasts_trained) {
    return {false, run.loaded_reason};
  }
  return {run.loaded != LoadedWeights::kFp32, run.loaded_reason};
}

FrameworkExperiment trainer_experiment(FrameworkReader& settings, const TrainerFile& file,
                                       const ImportInput& input) {
  return ExperimentWriter(settings, file, input).experiment();
}

}  // namespace stepcast
