// SPDX-License-Identifier: Apache-2.0
#include "frameworks/huggingface.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast::huggingface_test {
namespace {

using test::config_error;
using test::contains_text;

using Import = ImportedExperiment (*)(const ImportInput&);

ImportInput input_of(const std::string& text, const std::string& file,
                     std::vector<std::string> overrides = {}) {
  ImportInput input;
  input.text = text;
  input.file = file;
  input.overrides = std::move(overrides);
  input.gpu = "h100_sxm";
  input.data = test::data_root();
  return input;
}

// A part of the experiment on one line, without what text is quoted.
std::string part(const ImportedExperiment& imported, const std::string& key) {
  const ConfigNode* node = imported.experiment.find(key);
  std::string text = node == nullptr ? "" : to_flow_yaml(*node);
  std::erase(text, '"');
  return text;
}

std::string fault_of(Import import, const ImportInput& input) {
  return config_error([&] { import(input); });
}

// The lines that tell what was assumed or left out.
std::string told(const ImportedExperiment& imported) { return remarks_text(imported, "file"); }

const std::string kAxolotl =
    "base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\n"
    "gradient_accumulation_steps: 4\nbf16: auto\ngradient_checkpointing: true\n"
    "attn_implementation: flash_attention_2\noptimizer: adamw_torch_fused\n";
const std::string kFactory =
    "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\nstage: sft\nfinetuning_type: full\n"
    "cutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 2\n"
    "bf16: true\ntemplate: qwen3_nothink\n";
const std::string kTrl =
    "model_name_or_path: meta-llama/Llama-3.2-1B\nmax_length: 2048\n"
    "per_device_train_batch_size: 4\nlearning_rate: 2.0e-5\n";
const std::string kAccelerate =
    "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\n"
    "fsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n"
    "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n";
const std::vector<std::string> kArguments = {"model_name_or_path=Qwen/Qwen3-8B", "max_length=2048",
                                             "per_device_train_batch_size=1"};

// --- axolotl ---

TEST_CASE("axolotl's file alone trains by replicas on a whole node, which is told", "[unit]") {
  const ImportedExperiment run = import_axolotl(input_of(kAxolotl, "qlora.yml"));
  CHECK(part(run, "model") == "llama3.1_8b");
  // 2 sequences, 4 micro-batches, 8 GPUs.
  CHECK_THAT(part(run, "training"),
             contains_text("sequence_length: 4096, micro_batch_size: 2, global_batch_size: 64"));
  CHECK_THAT(part(run, "training"), contains_text("recompute: full"));
  CHECK(part(run, "plan") == "{tp: 1, pp: 1, zero: 0}");
  CHECK(part(run, "software") ==
        "{base: huggingface, attention: flash2, attention_library: {name: flash_attention}}");
  CHECK_THAT(told(run), contains_text("cluster.gpus 8: the file is not told how many"));
  CHECK_THAT(told(run), contains_text("training.weights bf16: axolotl loads weights"));
}

TEST_CASE("axolotl's adapters, quantised base and 8-bit optimizer", "[unit]") {
  const ImportedExperiment run = import_axolotl(input_of(
      kAxolotl + "adapter: qlora\nlora_r: 16\nlora_dropout: 0.05\nlora_target_linear: true\n"
                 "lora_modules_to_save: [embed_tokens, lm_head]\nload_in_4bit: true\n",
      "qlora.yml", {"optimizer=paged_adamw_8bit"}));
  CHECK_THAT(part(run, "training"),
             contains_text("lora: {rank: 16, targets: [q, k, v, o, gate, up, down], dropout: true, "
                           "base_weights: nf4_double}"));
  CHECK_THAT(part(run, "training"),
             contains_text("frozen: [attention, mlp, experts, router, norms]"));
  CHECK_THAT(part(run, "training"),
             contains_text("optimizer: {kind: adamw, moments: 8bit, paged: true}"));
  CHECK_THAT(told(run), contains_text("training.lora.base_weights nf4_double: the tool's default"));
  CHECK_THAT(fault_of(import_axolotl, input_of(kAxolotl + "load_in_4bit: true\n", "a.yml")),
             contains_text("is loaded in 4 bits, which is trained by adapters alone"));
  CHECK_THAT(fault_of(import_axolotl, input_of(kAxolotl + "adapter: lora\n", "a.yml")),
             contains_text("'lora_r' is needed for adapters"));
}

TEST_CASE("axolotl's degrees make the job where nothing else does, and must fit it where it does",
          "[unit]") {
  const std::string degrees = kAxolotl +
                              "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n"
                              "dp_shard_size: 4\ndp_replicate_size: 2\ntensor_parallel_size: 2\n";
  const ImportedExperiment run = import_axolotl(input_of(degrees, "a.yml"));
  CHECK(part(run, "plan") == "{tp: 2, pp: 1, hsdp: 4, sequence_parallel: false}");
  CHECK(part(run, "cluster") == "{gpu: h100_sxm, nodes: 2}");  // 4 * 2 * 2 GPUs
  ImportInput input = input_of(degrees, "a.yml");
  input.nodes = 1;
  CHECK_THAT(fault_of(import_axolotl, input), contains_text("makes 16 ranks, not the 8 GPUs"));
}

TEST_CASE("Liger's plugin fuses what its keys say, and takes the loss in parts", "[unit]") {
  const std::string keys =
      "liger_rope: true\nliger_rms_norm: true\nliger_glu_activation: true\n"
      "liger_fused_linear_cross_entropy: true\n";
  const ImportedExperiment run = import_axolotl(input_of(
      kAxolotl + "plugins:\n  - axolotl.integrations.liger.LigerPlugin\n" + keys, "a.yml"));
  // 2 * 4096 tokens; 128,256 logits are 32 times the width of 4096 up, so 8192 / 32 = 256 at once.
  CHECK_THAT(part(run, "software"), contains_text("memory: {loss_chunks: 32}"));
  CHECK_THAT(part(run, "software"), contains_text("norm: fused"));
  const ImportedExperiment without = import_axolotl(input_of(kAxolotl + keys, "a.yml"));
  CHECK(part(without, "software").find("loss_chunks") == std::string::npos);
}

TEST_CASE("a DeepSpeed configuration of axolotl's own is known by its path, and told", "[unit]") {
  const ImportedExperiment run = import_axolotl(input_of(
      kAxolotl + "deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_all.json\n", "a.yml"));
  CHECK(part(run, "plan") == "{tp: 1, pp: 1, fsdp: 8}");
  CHECK_THAT(part(run, "training"),
             contains_text("optimizer: {kind: adamw, offload: {share: 1, states: all}}, "
                           "offload: {parameters: true}"));
  CHECK_THAT(part(run, "software"), contains_text("huggingface_deepspeed"));
  CHECK_THAT(told(run), contains_text("it is taken for the one that axolotl ships"));
  CHECK_THAT(fault_of(import_axolotl, input_of(kAxolotl + "deepspeed: mine.json\n", "a.yml")),
             contains_text("names 'mine.json', which is not beside the file"));
}

TEST_CASE("what is not supervised training is refused", "[unit]") {
  CHECK_THAT(fault_of(import_axolotl, input_of(kAxolotl + "rl: dpo\n", "a.yml")),
             contains_text("a.yml:9:5: error: 'rl' is 'dpo', which is not modelled"));
  CHECK_THAT(
      fault_of(import_llamafactory, input_of("stage: ppo\nfinetuning_type: lora\n", "a.yaml")),
      contains_text("'stage' is 'ppo', which is not modelled"));
  CHECK_THAT(fault_of(import_trl, input_of(kTrl + "beta: 0.1\n", "a.yaml")),
             contains_text("is a key of preference or reinforcement training"));
  CHECK_THAT(fault_of(import_trl, input_of("trl dpo --model_name_or_path gpt2\n", "a.sh")),
             contains_text("runs 'trl dpo', which is not supervised training"));
  CHECK_THAT(fault_of(import_trl, input_of("import trl\nx = DPOTrainer(model=m)\n", "a.py")),
             contains_text("trains by DPOTrainer"));
}

TEST_CASE("a configuration that a file changes is another model, unless no size of it is meant",
          "[unit]") {
  const std::string changes = kAxolotl + "overrides_of_model_config: ";
  CHECK_THAT(fault_of(import_axolotl, input_of(changes + "{num_hidden_layers: 4}\n", "a.yml")),
             contains_text("'overrides_of_model_config.num_hidden_layers' changes the model's"));
  CHECK(part(import_axolotl(input_of(changes + "{rope_theta: 500000}\n", "a.yml")), "model") ==
        "llama3.1_8b");
  CHECK_THAT(
      fault_of(import_trl, input_of(kTrl + "model_init_kwargs: {hidden_size: 64}\n", "t.yml")),
      contains_text("save the config.json that it makes"));
}

TEST_CASE("a map that changes the result is told as one, and no key is known by half its name",
          "[unit]") {
  const ImportedExperiment run =
      import_axolotl(input_of(kAxolotl + "qat: {weight_dtype: int8, group_size: 32}\n", "a.yml"));
  CHECK(count_of(run.remarks, ImportOutcome::kNotCarried) == 1);
  CHECK_THAT(told(run), contains_text("qat.weight_dtype int8: products are rounded"));
  CHECK_THAT(fault_of(import_axolotl, input_of(kAxolotl + "use_something_new: true\n", "a.yml")),
             contains_text("'use_something_new' is not known here"));
}

TEST_CASE("a backend alone turns the compiler of Trainer on", "[unit]") {
  CHECK_THAT(told(import_trl(input_of(kTrl + "torch_compile_backend: inductor\n", "t.yml"))),
             contains_text("torch_compile_backend inductor: generated kernels"));
}

TEST_CASE("Liger's kernels of Trainer are those that its map leaves on", "[unit]") {
  const std::string liger = kTrl + "use_liger_kernel: true\n";
  CHECK_THAT(part(import_trl(input_of(liger, "t.yml")), "software"), contains_text("rope: "));
  CHECK_THAT(part(import_trl(input_of(liger + "liger_kernel_config: {rope: false}\n", "t.yml")),
                  "software"),
             !contains_text("rope: "));
}

TEST_CASE("a key that nobody knows is an error with the nearest one, or a remark", "[unit]") {
  ImportInput input = input_of(kAxolotl + "micro_batch_sise: 2\n", "a.yml");
  CHECK_THAT(fault_of(import_axolotl, input),
             contains_text("a.yml:9:19: error: 'micro_batch_sise' is not known here; did you mean "
                           "'micro_batch_size'?"));
  input.unknown = UnknownSettings::kRemarked;
  CHECK_THAT(told(import_axolotl(input)), contains_text("not carried over: micro_batch_sise 2"));
  // Also one of those that change nothing, and a variable where there is no script.
  CHECK_THAT(fault_of(import_axolotl, input_of(kAxolotl + "learning_rat: 2e-5\n", "a.yml")),
             contains_text("did you mean 'learning_rate'?"));
  CHECK_THAT(fault_of(import_axolotl, input_of(kAxolotl, "a.yml", {"MODEL=x"})),
             contains_text("'MODEL' is not known here"));
}

// --- LLaMA-Factory ---

TEST_CASE("LLaMA-Factory checkpoints, and adapts all layers, unless told otherwise", "[unit]") {
  const ImportedExperiment full = import_llamafactory(input_of(kFactory, "a.yaml"));
  CHECK_THAT(part(full, "training"), contains_text("global_batch_size: 16"));  // 1 * 2 * 8
  CHECK_THAT(part(full, "training"), contains_text("recompute: full"));
  CHECK_THAT(told(full), contains_text("training.weights fp32: LLaMA-Factory brings"));
  const ImportedExperiment lora = import_llamafactory(
      input_of(kFactory, "a.yaml", {"finetuning_type=lora", "pure_bf16=false"}));
  CHECK_THAT(part(lora, "training"),
             contains_text("lora: {rank: 8, targets: [q, k, v, o, gate, up, down]}"));
  CHECK_THAT(told(lora), contains_text("default: lora_rank 8"));
  CHECK_THAT(
      fault_of(import_llamafactory, input_of(kFactory, "a.yaml", {"finetuning_type=freeze"})),
      contains_text("'finetuning_type' is 'freeze'"));
}

TEST_CASE("a file of LLaMA-Factory that trains nothing is no experiment", "[unit]") {
  CHECK_THAT(
      fault_of(import_llamafactory, input_of("model_name_or_path: Qwen/Qwen3-4B\ntemplate: qwen3\n"
                                             "finetuning_type: lora\ninfer_backend: huggingface\n",
                                             "a.yaml")),
      contains_text("'infer_backend' is of a file that trains nothing"));
}

TEST_CASE("LLaMA-Factory's own words for attention and Liger", "[unit]") {
  const ImportedExperiment run = import_llamafactory(
      input_of(kFactory, "a.yaml", {"flash_attn=fa3", "enable_liger_kernel=true"}));
  CHECK_THAT(part(run, "software"), contains_text("attention: flash3"));
  CHECK_THAT(part(run, "software"), contains_text("cross_entropy: fused"));
}

// --- TRL ---

TEST_CASE("TRL's defaults are those of the release that a file's keys are of", "[unit]") {
  const ImportedExperiment late = import_trl(input_of(kTrl, "a.yaml"));
  CHECK_THAT(part(late, "training"), contains_text("recompute: full"));
  CHECK_THAT(told(late), contains_text("default: bf16 true (training.dtype): since TRL 0.20"));
  const std::string early =
      "model_name_or_path: meta-llama/Llama-3.2-1B\nmax_seq_length: 2048\nbf16: true\n";
  CHECK_THAT(part(import_trl(input_of(early, "a.yaml")), "training"),
             contains_text("recompute: none"));
  // Its micro-batch is Trainer's, 8 sequences.
  CHECK_THAT(part(import_trl(input_of(early, "a.yaml")), "training"),
             contains_text("micro_batch_size: 8, global_batch_size: 64"));
}

TEST_CASE("training in fp32 is refused with the key that settles it", "[unit]") {
  CHECK_THAT(fault_of(import_trl, input_of(kTrl + "bf16: false\n", "a.yaml")),
             contains_text("it trains in fp32, which no time here prices; give bf16=true"));
  const ImportedExperiment half =
      import_trl(input_of(kTrl + "bf16: false\ndtype: bfloat16\n", "a.yaml"));
  CHECK_THAT(told(half), contains_text("training.weights bf16: dtype of the file"));
}

TEST_CASE("PEFT's own modules are taken where a file names none", "[unit]") {
  const ImportedExperiment run = import_trl(input_of(kTrl + "use_peft: true\n", "a.yaml"));
  CHECK_THAT(part(run, "training"), contains_text("lora: {rank: 16, targets: [q, v]"));
  CHECK_THAT(told(run), contains_text("PEFT's own for most models"));
  CHECK_THAT(fault_of(import_trl, input_of(kTrl + "use_peft: true\nlora_target_modules: "
                                                  "'.*(q|v)_proj'\n",
                                           "a.yaml")),
             contains_text("which is not followed; give the modules by name"));
}

// --- DeepSpeed ---

TEST_CASE("a DeepSpeed file alone says what it needs beside it", "[unit]") {
  const std::string text =
      R"({"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"},
          "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"},
                                "overlap_comm": true}})";
  const std::string fault = fault_of(import_deepspeed, input_of(text, "ds.json"));
  CHECK_THAT(fault, contains_text("ds.json: error: 'model_name_or_path' is not in the file"));
  CHECK_THAT(fault, contains_text("'max_length' is not in the file"));
  CHECK_THAT(fault, contains_text("give bf16=true behind the file"));
  std::vector<std::string> given = kArguments;
  given.insert(given.end(), {"bf16=true", "num_processes=4"});
  const ImportedExperiment run = import_deepspeed(input_of(text, "ds.json", given));
  CHECK(part(run, "plan") == "{tp: 1, pp: 1, zero: 2}");
  CHECK(part(run, "cluster") == "{gpu: h100_sxm, nodes: 1, gpus_per_node: 4}");
  CHECK_THAT(part(run, "training"), contains_text("global_batch_size: 4"));
  CHECK_THAT(part(run, "training"), contains_text("offload: {share: 1, states: all}"));
}

TEST_CASE("DeepSpeed's batch settles the accumulation, or contradicts it", "[unit]") {
  const std::string text =
      R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true},
          "zero_optimization": {"stage": 3}})";
  std::vector<std::string> given = {"model_name_or_path=Qwen/Qwen3-8B", "max_length=2048"};
  const ImportedExperiment run = import_deepspeed(input_of(text, "ds.json", given));
  // 64 / (2 * 8 GPUs) = 4 micro-batches.
  CHECK_THAT(part(run, "training"), contains_text("micro_batch_size: 2, global_batch_size: 64"));
  given.emplace_back("gradient_accumulation_steps=3");
  CHECK_THAT(fault_of(import_deepspeed, input_of(text, "ds.json", given)),
             contains_text("is 64, and micro-batch, accumulation and 8 ranks make 48"));
  given = kArguments;
  CHECK_THAT(fault_of(import_deepspeed, input_of(text, "ds.json", given)),
             contains_text("is 2, and per_device_train_batch_size 1; Trainer wants them to be"));
}

TEST_CASE("KEY=VALUE in DeepSpeed's words counts before its file", "[unit]") {
  const std::string text = R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}})";
  std::vector<std::string> given = kArguments;
  given.emplace_back("zero_optimization.stage=3");
  CHECK(part(import_deepspeed(input_of(text, "ds.json", given)), "plan") ==
        "{tp: 1, pp: 1, fsdp: 8}");
}

// --- accelerate ---

TEST_CASE("accelerate's FSDP2 without resharding, on the machines that it names", "[unit]") {
  const ImportedExperiment run = import_accelerate(input_of(kAccelerate, "fsdp.yaml", kArguments));
  CHECK(part(run, "plan") == "{tp: 1, pp: 1, fsdp: 16, fsdp_reshard: false}");
  CHECK(part(run, "cluster") == "{gpu: h100_sxm, nodes: 2}");
  CHECK(part(run, "software") == "huggingface");
  CHECK_THAT(told(run), contains_text("accelerate brings what FSDP trains to fp32"));
}

TEST_CASE("FSDP1's strategies are shards, groups of them, or none", "[unit]") {
  const auto plan_of = [](const std::string& strategy) {
    return part(import_accelerate(input_of("distributed_type: FSDP\nmixed_precision: bf16\n"
                                           "num_machines: 2\nnum_processes: 16\nfsdp_config:\n"
                                           "  fsdp_sharding_strategy: " +
                                               strategy + "\n",
                                           "fsdp.yaml", kArguments)),
                "plan");
  };
  CHECK(plan_of("FULL_SHARD") == "{tp: 1, pp: 1, fsdp: 16}");
  CHECK(plan_of("SHARD_GRAD_OP") == "{tp: 1, pp: 1, fsdp: 16, fsdp_reshard: false}");
  CHECK(plan_of("HYBRID_SHARD") == "{tp: 1, pp: 1, hsdp: 8}");
  CHECK(plan_of("NO_SHARD") == "{tp: 1, pp: 1, zero: 0}");
}

TEST_CASE("ranks that divide a sequence share the batch", "[unit]") {
  const std::string text = kAccelerate +
                           "parallelism_config:\n  parallelism_config_dp_shard_size: 4\n"
                           "  parallelism_config_cp_size: 4\n";
  const ImportedExperiment run = import_accelerate(input_of(text, "fsdp.yaml", kArguments));
  CHECK(part(run, "plan") ==
        "{tp: 1, pp: 1, cp: 4, fsdp: 16, fsdp_reshard: false, cp_algorithm: all_gather}");
  CHECK_THAT(part(run, "training"), contains_text("global_batch_size: 4"));  // 16 / 4
}

TEST_CASE("accelerate's inline DeepSpeed, and a type that is not priced", "[unit]") {
  const std::string text =
      "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
      "deepspeed_config:\n  zero_stage: 2\n  offload_param_device: none\n"
      "  gradient_accumulation_steps: 4\n";
  const ImportedExperiment run = import_accelerate(input_of(text, "zero2.yaml", kArguments));
  CHECK(part(run, "plan") == "{tp: 1, pp: 1, zero: 2}");
  CHECK_THAT(part(run, "training"), contains_text("global_batch_size: 32"));  // 1 * 4 * 8
  CHECK_THAT(fault_of(import_accelerate, input_of("distributed_type: MEGATRON_LM\n", "m.yaml")),
             contains_text("'accelerate.distributed_type' is 'MEGATRON_LM'"));
}

// --- what a text is ---

TEST_CASE("each text is known by its form and keys, and sent to its own door", "[unit]") {
  CHECK(huggingface_door(read_text(kAxolotl, "a.yml")) == "axolotl");
  CHECK(huggingface_door(read_text(kFactory, "a.yaml")) == "llamafactory");
  CHECK(huggingface_door(read_text(kTrl, "a.yaml")) == "trl");
  CHECK(huggingface_door(read_text(kAccelerate, "a.yaml")) == "accelerate");
  CHECK(huggingface_door(read_text(R"({"zero_optimization": {"stage": 1}})", "a.json")) ==
        "deepspeed");
  CHECK(huggingface_door(read_text("import trl\nc = SFTConfig(bf16=True)\n", "a.py")) == "trl");
  CHECK(huggingface_door(read_text("torchrun pretrain_gpt.py --num-layers 2\n", "a.sh")).empty());
  CHECK(huggingface_door(read_text("model: llama3.1_8b\ncluster: {gpu: mi300x}\n", "a.yaml"))
            .empty());
  CHECK_THAT(fault_of(import_trl, input_of(kAxolotl, "a.yml")),
             contains_text("is a file of another door: stepcast import axolotl a.yml"));
}

TEST_CASE("replicas are told where TRL's file leaves the division to accelerate's", "[unit]") {
  CHECK_THAT(told(import_trl(input_of(kTrl, "sft.yaml"))), contains_text("plan.zero 0"));
  CHECK_THAT(told(import_trl(input_of(kTrl, "sft.yaml", {"fsdp=full_shard"}))),
             !contains_text("plan.zero 0"));
}

TEST_CASE("a rank of adapters without a switch is no full training, but with TRL", "[unit]") {
  const std::string command =
      "torchrun --nproc_per_node 8 train_lora.py --model_name_or_path Qwen/Qwen3-8B --bf16 True "
      "--lora_r 8 --model_max_length 2048 --per_device_train_batch_size 2 ";
  const ImportedExperiment tuned = import_accelerate(input_of(command, "train.sh"));
  CHECK_THAT(part(tuned, "training"), contains_text("lora: {rank: 8"));
  CHECK_THAT(told(tuned), contains_text("lora_r is given and no switch"));
  CHECK_THAT(
      part(import_accelerate(input_of(command + "--use_peft False", "train.sh")), "training"),
      !contains_text("lora"));
  const ImportedExperiment whole = import_trl(input_of(kTrl + "lora_r: 8\n", "sft.yaml"));
  CHECK_THAT(part(whole, "training"), !contains_text("lora"));
  CHECK_THAT(told(whole), contains_text("no effect without use_peft=true"));
}

}  // namespace
}  // namespace stepcast::huggingface_test
