// SPDX-License-Identifier: Apache-2.0
#include "frameworks/nemo.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast::nemo_test {
namespace {

using test::config_error;
using test::contains_text;
using test::data_root;

ImportedExperiment imported(const std::string& text, const std::string& file = "run.yaml",
                            std::vector<std::string> overrides = {}) {
  ImportInput input;
  input.text = text;
  input.file = file;
  input.overrides = std::move(overrides);
  input.gpu = "h100_sxm";
  input.data = data_root();
  return import_nemo(input);
}

std::string part(const ImportedExperiment& imported, const std::string& key) {
  const ConfigNode* const node = imported.experiment.find(key);
  return node == nullptr ? std::string{} : to_flow_yaml(*node);
}

const std::string kRun =
    "trainer: {num_nodes: 4, devices: 8, precision: bf16}\n"
    "exp_manager: {create_wandb_logger: false}\n"
    "model:\n"
    "  micro_batch_size: 1\n"
    "  global_batch_size: 64\n"
    "  tensor_model_parallel_size: 4\n"
    "  encoder_seq_length: 4096\n"
    "  max_position_embeddings: ${.encoder_seq_length}\n"
    "  num_layers: 32\n"
    "  hidden_size: 4096\n"
    "  ffn_hidden_size: 14336\n"
    "  num_attention_heads: 32\n"
    "  num_query_groups: 8\n"
    "  hidden_dropout: 0.0\n"
    "  normalization: rmsnorm\n"
    "  bias: false\n"
    "  activation: fast-swiglu\n"
    "  position_embedding_type: rope\n"
    "  vocab_size: 128256\n";

TEST_CASE("a configuration of NeMo 1 is Megatron's by other names", "[unit]") {
  const ImportedExperiment run = imported(kRun + "  optim: {name: distributed_fused_adam}\n");
  CHECK_THAT(part(run, "model"), contains_text("kv_heads: 8"));
  CHECK_THAT(part(run, "model"), contains_text("gated: true"));
  CHECK_THAT(part(run, "model"), !contains_text("bias"));
  CHECK(part(run, "cluster") == "{gpu: h100_sxm, nodes: 4}");
  CHECK_THAT(part(run, "plan"), contains_text("tp: 4"));
  CHECK_THAT(part(run, "plan"), contains_text("zero: 1"));
}

// megatron_base_model.py, where a file says nothing of either.
TEST_CASE("NeMo's own defaults count where its file is silent", "[unit]") {
  const std::string apex = kRun + "  optim: {name: distributed_fused_adam}\n";
  CHECK_THAT(part(imported(apex), "software"), contains_text("rope: eager"));
  CHECK_THAT(part(imported(apex + "  apply_rope_fusion: true\n"), "software"),
             !contains_text("rope: eager"));
  CHECK_THAT(part(imported(apex + "  megatron_amp_O2: true\n"), "training"),
             contains_text("master: remainder"));
  CHECK_THAT(
      part(imported(kRun + "  megatron_amp_O2: true\n  optim: {name: fused_adam}\n"), "training"),
      !contains_text("remainder"));
}

TEST_CASE("values of NeMo that are made of other keys are worked out", "[unit]") {
  const auto with = [](const std::string& setting, const std::string& seed) {
    return imported(kRun + "  seed: " + seed + "\n", "run.yaml", {setting});
  };
  CHECK_THAT(
      part(with("model.ffn_hidden_size=${multiply:2, ${sum:${.hidden_size}, 64}}", "1"), "model"),
      contains_text("ffn_hidden: 8320"));
  CHECK_THAT(part(with("model.global_batch_size=${divide_ceil:${training.model.seed}, 3}", "190"),
                  "training"),
             contains_text("global_batch_size: 64"));
  CHECK_THAT(config_error([&] { with("model.num_layers=${multiply:2, ${.layers}}", "1"); }),
             contains_text("${multiply:2, ${.layers}}"));
}

TEST_CASE("fp16, gates of gelu and fused sums of gradients are as NeMo takes them", "[unit]") {
  CHECK_THAT(part(imported(kRun, "a.yaml", {"trainer.precision=16-mixed"}), "training"),
             contains_text("dtype: fp16"));
  CHECK_THAT(part(imported(kRun, "a.yaml", {"model.activation=fast-geglu"}), "model"),
             contains_text("gated: true"));
  const std::string fused = kRun + "  gradient_accumulation_fusion: true\n";
  CHECK_THAT(part(imported(fused), "software"), contains_text("accumulates_in_gemm: false"));
  CHECK_THAT(part(imported(fused + "  megatron_amp_O2: true\n"), "software"),
             !contains_text("accumulates_in_gemm: false"));
}

TEST_CASE("what stands behind a configuration of NeMo counts before it", "[unit]") {
  CHECK_THAT(part(imported(kRun, "a.yaml", {"model.num_layers=16", "micro_batch_size=2"}), "model"),
             contains_text("layers: 16"));
  CHECK_THAT(
      part(imported(kRun + "  fp8: true\n  fp8_hybrid: true\n  fp8_e4m3: false\n"), "training"),
      contains_text("dtype: fp8"));
  CHECK_THAT(part(imported(kRun + "  fp8: false\n  fp8_hybrid: true\n"), "training"),
             contains_text("dtype: bf16"));
}

TEST_CASE("what NeMo calls in its own way is read, and what no model here is is refused",
          "[unit]") {
  const std::string bare = kRun.substr(0, kRun.find("  vocab_size"));
  const ImportedExperiment run =
      imported(bare +
               "  bias_activation_fusion: false\n"
               "  override_vocab_size: 152064\n"
               "  qkv_bias: true\n"
               "  optim: {name: mcore_distributed_optim, grad_sync_dtype: bf16}\n");
  CHECK_THAT(part(run, "model"), contains_text("vocabulary: 152064"));
  CHECK_THAT(part(run, "model"), contains_text("qkv_bias: true"));
  CHECK_THAT(part(run, "software"), contains_text("activation: eager"));
  CHECK_THAT(part(run, "software"), !contains_text("gradient_reduce: fp32"));
  CHECK_THAT(config_error([] {
               imported(kRun + "  mcore_customization_config: {parallel_attention: true}\n");
             }),
             contains_text("attention and feed-forward run beside each other"));
  CHECK_THAT(config_error([] { imported(kRun + "  mamba_ssm_ngroups: 8\n"); }),
             contains_text("layers of state spaces"));
}

TEST_CASE("keys of NeMo that nobody knows, and a configuration that is not there, are refused",
          "[unit]") {
  CHECK_THAT(config_error([] { imported(kRun + "  extra_layers: 2\n"); }),
             contains_text("run.yaml:20:17: error: 'extra_layers' is not known here"));
  CHECK_THAT(config_error([] {
               imported(
                   "#!/bin/bash\npython megatron_gpt_pretraining.py --config-name=llama "
                   "model.num_layers=4\n",
                   "a.sh");
             }),
             contains_text("names the configuration 'llama.yaml', which is not beside"));
  CHECK_THAT(config_error([] { imported("from nemo.collections import llm\nf()\n", "a.py"); }),
             contains_text("a recipe of NeMo's library"));
}

}  // namespace
}  // namespace stepcast::nemo_test
