// SPDX-License-Identifier: Apache-2.0

#include "catch.hpp"
#include "frameworks/primus_import.hpp"
#include "import_of.hpp"

namespace stepcast::primus_backends_test {
namespace {

using namespace stepcast::test;

ImportInput handed_over(const std::string& framework, const std::string& model,
                        const std::string& overrides) {
  ImportInput input = input_of("modules:\n  pre_trainer:\n    framework: " + framework +
                                   "\n    config: pre_trainer.yaml\n    model: " + model +
                                   ".yaml\n    overrides:\n" + overrides,
                               "standard input");
  input.gpu = "mi355x";
  input.nodes = 8;
  return input;
}

// What the file of a framework under Primus becomes, key by key.
struct HandedOver {
  std::string framework;
  std::string model;
  std::string overrides;
  std::vector<std::pair<std::string, std::string>> expected;
};

void check(const HandedOver& file) {
  const ImportedExperiment experiment =
      import_primus(handed_over(file.framework, file.model, file.overrides));
  for (const auto& [key, value] : file.expected) {
    CAPTURE(key);
    CHECK(value_of(experiment, key) == value);
  }
}

TEST_CASE("torchtitan under Primus is read by torchtitan's keys", "[unit]") {
  check({"torchtitan",
         "llama3.1_70B-fp8",
         "      sink_level: null\n"
         "      training: {local_batch_size: 2, seq_len: 8192}\n"
         "      activation_checkpoint: {mode: full}\n"
         "      parallelism: {tensor_parallel_degree: 4}\n"
         "      primus_turbo: {enable_primus_turbo: true}\n",
         {{"model", "llama3.1_70b"},
          {"training.dtype", "fp8"},  // a converter of the preset -fp8
          {"training.recompute", "full"},
          {"plan.tp", "4"},
          // 64 GPUs over tp 4 are 16 replicas of 2 sequences.
          {"training.global_batch_size", "32"},
          {"software.attention", "aiter"}}});
}

TEST_CASE("Primus' torchtitan compiles and keeps activations unless it is told otherwise",
          "[unit]") {
  check({"torchtitan",
         "qwen3_32b",
         "      training: {seq_len: 4096}\n",
         {{"training.recompute", "none"}, {"software.base", "torchtitan"}}});
}

TEST_CASE("MaxText under Primus has the preset's 16-bit weights", "[unit]") {
  check({"maxtext",
         "mixtral_8x7B",
         "      dcn_data_parallelism: -1\n"
         "      dcn_fsdp_parallelism: 1\n"
         "      ici_fsdp_parallelism: 1\n"
         "      ici_expert_parallelism: -1\n"
         "      max_target_length: 4096\n"
         "      per_device_batch_size: 12\n"
         "      quantization: nanoo_fp8\n",
         {{"model", "mixtral_8x7b"},
          {"plan.ep", "8"},
          {"training.dtype", "fp8"},
          {"software.state_bytes.optimizer", "\"4 B\""},
          {"software.memory.stacked_copies", "\"2 B\""},
          {"software.memory.pool_share", "0.97"}}});
}

TEST_CASE("Megatron Bridge under Primus begins from the recipe that the file names", "[unit]") {
  check({"megatron_bridge",
         "qwen3_32b",
         "      flavor: qwen3_32b_finetune_config\n"
         "      peft: lora\n      peft_dim: 16\n"
         "      tensor_model_parallel_size: 2\n"
         "      pipeline_model_parallel_size: 1\n"
         "      global_batch_size: 128\n      seq_length: 2048\n",
         {{"model", "qwen3_32b"},
          {"plan.tp", "2"},
          {"training.lora.rank", "16"},
          {"training.global_batch_size", "128"}}});
}

TEST_CASE("a key of the framework that nobody knows is an error under Primus as well", "[unit]") {
  CHECK_THAT(problems_of(import_primus, handed_over("torchtitan", "llama3_8B",
                                                    "      training: {local_batch_sise: 2}\n")),
             contains_text("did you mean 'training.local_batch_size'?"));
  CHECK_THAT(problems_of(import_primus, handed_over("maxtext", "gemma9_7B", "      steps: 1\n")),
             contains_text("primus/configs"));
  CHECK_THAT(problems_of(import_primus, handed_over("jax", "llama3_8B", "      steps: 1\n")),
             contains_text("'jax'"));
}

}  // namespace
}  // namespace stepcast::primus_backends_test
