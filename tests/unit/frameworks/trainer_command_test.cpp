// SPDX-License-Identifier: Apache-2.0
// Scripts and Python that start Hugging Face's Trainer, and files beside them.
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "frameworks/huggingface.hpp"
#include "frameworks/python_recipe.hpp"
#include "frameworks/trainer_adapters.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast::trainer_command_test {
namespace {

namespace fs = std::filesystem;
using test::config_error;
using test::contains_text;

// A folder of files that is gone when the test ends.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(fs::temp_directory_path() / name) {
    fs::remove_all(path_);
    fs::create_directories(path_ / "configs");
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

ImportInput input_of(const std::string& text, const std::string& file,
                     std::vector<std::string> overrides = {}) {
  ImportInput input;
  input.text = text;
  input.file = file;
  input.overrides = std::move(overrides);
  input.gpu = "a100_80gb";
  input.data = test::data_root();
  return input;
}

std::string part(const ImportedExperiment& imported, const std::string& key) {
  const ConfigNode* node = imported.experiment.find(key);
  std::string text = node == nullptr ? "" : to_flow_yaml(*node);
  std::erase(text, '"');
  return text;
}

std::string told(const ImportedExperiment& imported) { return remarks_text(imported, "file"); }

const std::string kArguments =
    " train.py --model_name_or_path meta-llama/Llama-2-7b-hf --bf16 True --model_max_length 1024 "
    "--per_device_train_batch_size 2 --gradient_accumulation_steps 8 --gradient_checkpointing True "
    "--data_path ./data.json";

TEST_CASE("torchrun says how many GPUs there are, and FSDP stands in Trainer's arguments",
          "[unit]") {
  const ImportedExperiment run = import_accelerate(
      input_of("torchrun --nproc_per_node=4 --master_port=1234" + kArguments +
                   " --fsdp \"full_shard auto_wrap\" --fsdp_transformer_layer_cls_to_wrap "
                   "'LlamaDecoderLayer' --tf32 True\n",
               "train.sh"));
  CHECK(part(run, "model") == "llama2_7b");
  CHECK(part(run, "cluster") == "{gpu: a100_80gb, nodes: 1, gpus_per_node: 4}");
  CHECK(part(run, "plan") == "{tp: 1, pp: 1, fsdp: 4}");
  // 2 sequences, 8 micro-batches, 4 GPUs.
  CHECK_THAT(part(run, "training"), contains_text("micro_batch_size: 2, global_batch_size: 64"));
}

TEST_CASE("DeepSpeed's launcher with its hosts and its file beside the script", "[unit]") {
  const Folder folder("stepcast_trainer_hosts");
  folder.write("hosts", "worker-1 slots=8\nworker-2 slots=8\n# worker-3 slots=8\n");
  folder.write("configs/ds.json",
               R"({"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3}})");
  ImportInput input = input_of(
      "deepspeed --hostfile hosts" + kArguments + " --deepspeed configs/ds.json\n", "train.sh");
  input.folder = folder.path();
  const ImportedExperiment run = import_deepspeed(input);
  CHECK(part(run, "cluster") == "{gpu: a100_80gb, nodes: 2}");
  CHECK(part(run, "plan") == "{tp: 1, pp: 1, fsdp: 16}");
  CHECK(part(run, "software") == "huggingface_deepspeed");
}

TEST_CASE("accelerate's file and its launcher's options, of which the options count", "[unit]") {
  const Folder folder("stepcast_trainer_accelerate");
  folder.write("configs/fsdp.yaml",
               "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
               "fsdp_config: {fsdp_version: 2}\n");
  ImportInput input = input_of(
      "accelerate launch --config_file configs/fsdp.yaml --num_processes 2" + kArguments + "\n",
      "train.sh");
  input.folder = folder.path();
  const ImportedExperiment run = import_accelerate(input);
  CHECK(part(run, "plan") == "{tp: 1, pp: 1, fsdp: 2}");
  CHECK(part(run, "cluster") == "{gpu: a100_80gb, nodes: 1, gpus_per_node: 2}");
  input.folder.clear();
  CHECK_THAT(config_error([&] { import_accelerate(input); }),
             contains_text("names the file 'configs/fsdp.yaml', which is not beside the script"));
}

TEST_CASE("a batch line says how many nodes accelerate has, unless it says so itself", "[unit]") {
  const std::string batch = "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=1\n";
  const auto cluster_of = [&](const std::string& options) {
    return part(
        import_accelerate(input_of(batch + "accelerate launch --use_fsdp --mixed_precision bf16 " +
                                       options + kArguments + "\n",
                                   "train.sh")),
        "cluster");
  };
  CHECK(cluster_of("") == "{gpu: a100_80gb, nodes: 4}");
  CHECK(cluster_of("--num_processes 16") == "{gpu: a100_80gb, nodes: 4, gpus_per_node: 4}");
  CHECK(cluster_of("--num_machines 2 --num_processes 16") == "{gpu: a100_80gb, nodes: 2}");
}

TEST_CASE("a tool's own command leads to its file, and its arguments count before it", "[unit]") {
  const Folder folder("stepcast_trainer_tools");
  folder.write("qwen.yaml",
               "model_name_or_path: Qwen/Qwen3-4B\nfinetuning_type: full\ncutoff_len: 2048\n"
               "bf16: true\nper_device_train_batch_size: 1\n");
  ImportInput input = input_of(
      "#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=0,1\nllamafactory-cli train qwen.yaml "
      "--cutoff_len 4096\n",
      "train.sh");
  input.folder = folder.path();
  const ImportedExperiment run = import_llamafactory(input);
  CHECK_THAT(part(run, "training"), contains_text("sequence_length: 4096"));
  CHECK(huggingface_door(read_text(input.text, input.file)) == "llamafactory");
}

TEST_CASE("python by itself is one GPU", "[unit]") {
  const ImportedExperiment run =
      import_accelerate(input_of("python" + kArguments + "\n", "train.sh"));
  CHECK(part(run, "cluster") == "{gpu: a100_80gb, nodes: 1, gpus_per_node: 1}");
}

TEST_CASE("a value that nobody sets is named with the way to set it", "[unit]") {
  const std::string text =
      "torchrun --nproc_per_node 8 train.py --bf16 True --max_length 1024 "
      "--per_device_train_batch_size 1 --model_name_or_path $MODEL\n";
  CHECK_THAT(config_error([&] { import_accelerate(input_of(text, "train.sh")); }),
             contains_text("'model_name_or_path' is not in the file"));
  const ImportedExperiment run =
      import_accelerate(input_of(text, "train.sh", {"MODEL=Qwen/Qwen3-8B"}));
  CHECK(part(run, "model") == "qwen3_8b");
}

TEST_CASE("a script without a command that trains is refused", "[unit]") {
  CHECK_THAT(config_error([&] {
               import_trl(input_of("pip install trl\npython setup.py --verbose\n", "a.sh"));
             }),
             contains_text("has no command that trains"));
}

const std::string kWholeRun =
    "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen3-0.6B --bf16 True "
    "--model_max_length 2048 --per_device_train_batch_size 2 ";

// llava/train/train.py: a rank of 64 and every linear module.
TEST_CASE("LLaVA's switch of adapters has its own rank and modules", "[unit]") {
  const ImportedExperiment run =
      import_accelerate(input_of(kWholeRun + "--lora_enable True", "run.sh"));
  CHECK_THAT(part(run, "training"),
             contains_text("lora: {rank: 64, targets: [q, k, v, o, gate, up, down]"));
  const ImportedExperiment ranked =
      import_accelerate(input_of(kWholeRun + "--lora_enable True --lora_r 128", "run.sh"));
  CHECK_THAT(part(ranked, "training"), contains_text("lora: {rank: 128, targets: [q, k, v"));
  const ImportedExperiment off =
      import_accelerate(input_of(kWholeRun + "--lora_enable False --lora_r 128", "run.sh"));
  CHECK_THAT(part(off, "training"), !contains_text("lora"));
}

TEST_CASE("DeepSpeed-Chat's adapters are refused, and no word of adapters is taken for another",
          "[unit]") {
  const auto fault = [](const std::string& argument) {
    return config_error([&] { import_accelerate(input_of(kWholeRun + argument, "run.sh")); });
  };
  CHECK_THAT(fault("--lora_dim 128"), contains_text("give lora_dim=0 behind the file"));
  CHECK_THAT(fault("--lora_new_word 1"), contains_text("'lora_new_word'"));
  CHECK_NOTHROW(import_accelerate(input_of(kWholeRun + "--lora_dim 0", "run.sh")));
}

TEST_CASE("workers of Ray are the processes", "[unit]") {
  const ImportedExperiment run =
      import_llamafactory(input_of("stage: sft\nfinetuning_type: full\n"
                                   "model_name_or_path: Qwen/Qwen3-0.6B\ncutoff_len: 2048\n"
                                   "per_device_train_batch_size: 2\nbf16: true\n"
                                   "ray_num_workers: 4\n",
                                   "run.yaml"));
  CHECK_THAT(part(run, "training"), contains_text("global_batch_size: 8"));  // 4 GPUs, 2 each
}

const std::string kPython =
    "from trl import SFTConfig, SFTTrainer\n"
    "name = \"Qwen/Qwen3-0.6B\"\n"
    "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16,\n"
    "                                             attn_implementation=\"flash_attention_2\")\n"
    "tokenizer = AutoTokenizer.from_pretrained(\"other/name\")\n"
    "args = SFTConfig(output_dir=\"out\", max_length=4 * 1024, packing=True, bf16=True,\n"
    "                 per_device_train_batch_size=2, gradient_checkpointing=False)\n"
    "peft = LoraConfig(r=32, target_modules=[\"q_proj\", \"v_proj\"], lora_dropout=0.1)\n";

TEST_CASE("Python's calls say what Trainer is given", "[unit]") {
  const ImportedExperiment run = import_trl(input_of(kPython, "train.py"));
  CHECK_THAT(part(run, "model"), contains_text("hidden_size: 1024, layers: 28"));
  CHECK_THAT(part(run, "training"),
             contains_text("sequence_length: 4096, micro_batch_size: 2, global_batch_size: 16"));
  CHECK_THAT(part(run, "training"),
             contains_text("lora: {rank: 32, targets: [q, v], dropout: true}"));
  CHECK_THAT(part(run, "training"), contains_text("recompute: none"));
  CHECK_THAT(told(run), contains_text("packed to the full length"));
}

TEST_CASE("what Python does not say in place is asked for", "[unit]") {
  const std::string text =
      "args = TrainingArguments(per_device_train_batch_size=options.batch, bf16=True)\n"
      "model = AutoModelForCausalLM.from_pretrained(\"Qwen/Qwen3-8B\")\n";
  CHECK_THAT(config_error([&] { import_trl(input_of(text, "train.py", {"max_length=512"})); }),
             contains_text("train.py:1:54: error: 'per_device_train_batch_size' must be a whole "
                           "number, not 'options.batch'; give "
                           "per_device_train_batch_size=VALUE behind the file"));
  const ImportedExperiment run =
      import_trl(input_of(text, "train.py", {"max_length=512", "per_device_train_batch_size=4"}));
  // Trainer's default, not TRL's: no SFTConfig stands in the text.
  CHECK_THAT(part(run, "training"), contains_text("recompute: none"));
}

TEST_CASE("calls are found by the end of their names, with variables that have one value",
          "[unit]") {
  const std::vector<PythonValue> calls = python_calls(
      "a = 2\nb = 3\nif x:\n    b = 4\ny = m.f(a, n=b, k=a * 8)\nz = g.f\n", "a.py", "f");
  REQUIRE(calls.size() == 1);
  CHECK(calls.front().text == "m.f");
  CHECK(calls.front().items.front().text == "2");
  CHECK(calls.front().keywords.front().value.text == "b");
  CHECK(calls.front().keywords.back().value.text == "16");
}

TEST_CASE("an adapter's file is the part of an experiment that it is", "[unit]") {
  const std::string text = imported_adapters(
      R"({"peft_type": "LORA", "r": 8, "target_modules": ["v_proj", "q_proj"],
          "modules_to_save": ["lm_head"], "lora_dropout": 0.0, "bias": "none",
          "use_rslora": true, "rank_pattern": {}})",
      "adapter_config.json");
  CHECK_THAT(text, contains_text("lora: {rank: 8, targets: [q, v]}"));
  CHECK_THAT(text, contains_text("frozen: [embedding, attention, mlp, experts, router, norms]"));
  CHECK_THAT(config_error([] { imported_adapters(R"({"peft_type": "IA3"})", "a.json"); }),
             contains_text("of PEFT's adapters LORA alone is priced"));
}

}  // namespace
}  // namespace stepcast::trainer_command_test
