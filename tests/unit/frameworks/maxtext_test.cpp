// SPDX-License-Identifier: Apache-2.0
#include "frameworks/maxtext.hpp"

#include <algorithm>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast::maxtext_test {
namespace {

using test::config_error;
using test::contains_text;

const std::filesystem::path kRoot = STEPCAST_DATA_ROOT;

ImportInput input_of(const std::string& text, std::vector<std::string> overrides = {}) {
  ImportInput input;
  input.text = text;
  input.file = "a.yml";
  input.overrides = std::move(overrides);
  input.gpu = "mi355x";
  input.nodes = 8;
  input.data = {kRoot};
  return input;
}

ImportedExperiment imported(const std::string& text, std::vector<std::string> overrides = {}) {
  return import_maxtext(input_of(text, std::move(overrides)));
}

std::string part(const ImportedExperiment& imported, const std::string& key) {
  const ConfigNode* node = imported.experiment.find(key);
  std::string text = node == nullptr ? "" : to_flow_yaml(*node);
  std::erase(text, '"');
  return text;
}

std::string fault_of(const std::string& text, std::vector<std::string> overrides = {}) {
  return config_error([&] { imported(text, std::move(overrides)); });
}

const std::string kLlama = "base_config: base.yml\nmodel_name: llama2-70b\n";

TEST_CASE("without axes parameters are sharded in a node and replicated over nodes", "[unit]") {
  const ImportedExperiment run = imported(kLlama);
  CHECK(part(run, "model") == "llama2_70b");
  CHECK(part(run, "plan") == "{tp: 1, pp: 1, hsdp: 8}");
  // base.yml: 12 sequences on each of 64 GPUs, 2048 tokens each, remat_policy full.
  CHECK(part(run, "training") ==
        "{sequence_length: 2048, micro_batch_size: 12, global_batch_size: 768, dtype: bf16, "
        "recompute: full, optimizer: adamw}");
  CHECK(part(run, "software") == "maxtext");
}

// src/maxtext/configs: 256b.sh. 256 is 2^8, two for layers and all, and of the two that are left
// one for heads and feed-forward and one for the width: 16 * 4 layers, 16 * 8 heads, 7168 * 8 and
// 2048 * 8.
TEST_CASE("a scale of all parameters is divided between layers and widths", "[unit]") {
  const std::string model =
      part(imported("model_name: default\nglobal_parameter_scale: 256\n"), "model");
  CHECK_THAT(model, contains_text("hidden_size: 16384, layers: 64"));
  CHECK_THAT(model, contains_text("heads: 128"));
  CHECK_THAT(model, contains_text("ffn_hidden: 57344"));
  CHECK_THAT(fault_of("model_name: default\nglobal_parameter_scale: 6\n"),
             contains_text("must be a power of two from 1 to 4096, not 6"));
}

// pyconfig.py merges base.yml, the file, models/NAME.yml and then the arguments.
TEST_CASE("MaxText's own file of a model counts before the sizes of a file that names it",
          "[unit]") {
  const std::string file = "model_name: mixtral-8x7b\nbase_num_decoder_layers: 10\n";
  const ImportedExperiment own = imported(file);
  CHECK(part(own, "model") == "mixtral_8x7b");
  CHECK_THAT(to_yaml(own, "a.yml"),
             contains_text("model.layers 32: MaxText's file of the model says it"));
  CHECK_THAT(fault_of(file, {"base_num_decoder_layers=10"}),
             contains_text("'base_num_decoder_layers' is 10, and MaxText's file of the model says "
                           "32; add override_model_config=true"));
  CHECK_THAT(
      part(imported(file, {"base_num_decoder_layers=10", "override_model_config=true"}), "model"),
      contains_text("layers: 10"));
  CHECK(part(imported(file, {"base_num_decoder_layers=32"}), "model") == "mixtral_8x7b");
}

TEST_CASE("copies of stacked weights have their format, and are of a loop over layers alone",
          "[unit]") {
  const std::string narrow = kLlama + "weight_dtype: bfloat16\n";
  CHECK_THAT(part(imported(narrow), "software"), contains_text("memory: {stacked_copies: 2 B}"));
  CHECK_THAT(part(imported(narrow + "scan_layers: false\n"), "software"),
             contains_text("memory: {scans_layers: false, stacked_copies: 0 B, "
                           "stacked_expert_copies: 0 B}"));
  CHECK_THAT(part(imported(kLlama), "software"), !contains_text("memory"));
}

TEST_CASE("a feed-forward of one activation has no gate", "[unit]") {
  CHECK_THAT(part(imported("mlp_activations: [gelu]\n"), "model"), contains_text("gated: false"));
  CHECK_THAT(part(imported("mlp_activations: [silu, linear]\n"), "model"),
             !contains_text("gated: false"));
}

TEST_CASE("models with other mixers go by MaxText's names", "[unit]") {
  const auto model = [](const std::string& name) {
    return imported("model_name: " + name + "\n").experiment;
  };
  CHECK_THAT(to_flow_yaml(model("deepseek3.2-671b")), contains_text("indexer"));
  CHECK_THAT(to_flow_yaml(model("qwen3-next-80b-a3b")), contains_text("512"));
  CHECK_THAT(to_flow_yaml(model("deepseek4-284b")), contains_text("deepseek_v4_flash"));
  CHECK_THAT(to_flow_yaml(model("qwen3.5-35b-a3b")), contains_text("qwen3_5_35b_a3b"));
}

TEST_CASE("experts are part of the batch's axes and of the shards of the rest", "[unit]") {
  // As AMD's sweep of DeepSeek-V3 on 8 x 8 MI355X has it: fsdp between nodes, experts within.
  const ImportedExperiment run = imported(
      "model_name: deepseek3-671b\ndcn_data_parallelism: 1\ndcn_fsdp_parallelism: -1\n"
      "ici_fsdp_parallelism: 1\nici_expert_parallelism: 8\nper_device_batch_size: 2\n"
      "max_target_length: 4096\nsparse_matmul: false\ncapacity_factor: 1.25\n"
      "weight_dtype: bfloat16\n");
  CHECK(part(run, "plan") == "{tp: 1, pp: 1, ep: 8, fsdp: 64}");
  CHECK_THAT(part(run, "training"), contains_text("micro_batch_size: 2, global_batch_size: 128"));
  CHECK(part(run, "expert_exchange") == "{capacity_factor: 1.25}");
  CHECK_THAT(part(run, "software"), contains_text("row_gather: product"));
  CHECK_THAT(part(run, "software"), contains_text("optimizer: 4 B"));
  CHECK_THAT(part(run, "model"), contains_text("deepseek_v3_without_mtp"));
}

TEST_CASE("a batch of a part of a sequence a GPU is whole for a replica", "[unit]") {
  const std::string tensor =
      kLlama +
      "ici_fsdp_parallelism: 1\nici_tensor_parallelism: 8\ndcn_data_parallelism: 1\n"
      "dcn_fsdp_parallelism: -1\n";
  const ImportedExperiment run =
      imported(tensor + "per_device_batch_size: 0.25\ngradient_accumulation_steps: 4\n");
  CHECK(part(run, "plan") == "{tp: 8, pp: 1, fsdp: 8}");
  CHECK_THAT(part(run, "training"), contains_text("micro_batch_size: 2, global_batch_size: 64"));
  CHECK_THAT(fault_of(tensor + "per_device_batch_size: 0.3\n"),
             contains_text("'per_device_batch_size' times the GPUs of a replica"));
}

TEST_CASE("a pipeline repeats its stages over the layers", "[unit]") {
  // 80 layers on 4 stages of 10: two repeats; 16 sequences of a replica in 8 micro-batches.
  const ImportedExperiment run =
      imported(kLlama +
               "dcn_data_parallelism: 1\ndcn_pipeline_parallelism: 4\ndcn_fsdp_parallelism: 2\n"
               "num_layers_per_pipeline_stage: 10\nnum_pipeline_microbatches: "
               "8\nper_device_batch_size: 4\n");
  CHECK(part(run, "plan") == "{tp: 1, pp: 4, vpp: 2, fsdp: 16}");
  CHECK_THAT(part(run, "training"), contains_text("micro_batch_size: 2, global_batch_size: 256"));
  CHECK_THAT(
      fault_of(kLlama + "dcn_pipeline_parallelism: 8\nnum_layers_per_pipeline_stage: 3\n"),
      contains_text("'num_layers_per_pipeline_stage' times the stages, 24, must divide the 80"));
}

TEST_CASE("the dense layers before those with experts are outside MaxText's pipeline", "[unit]") {
  // 61 layers, 3 of them dense: 58 on 2 stages.
  const ImportedExperiment run = imported(
      "model_name: deepseek3-671b\ndcn_pipeline_parallelism: 2\ndcn_data_parallelism: 1\n"
      "dcn_fsdp_parallelism: -1\nici_fsdp_parallelism: 8\nnum_layers_per_pipeline_stage: 29\n"
      "num_pipeline_microbatches: 2\nper_device_batch_size: 1\n");
  CHECK_THAT(part(run, "plan"), contains_text("pp: 2, stage_layout: balanced, schedule: gpipe"));
  CHECK_THAT(remarks_text(run, "x"),
             contains_text("not carried over: pipeline_parallel_layers 58"));
}

TEST_CASE("policies and quantizations have their words", "[unit]") {
  CHECK_THAT(
      part(imported(kLlama + "remat_policy: minimal_flash\nquantization: fp8\n"), "training"),
      contains_text("dtype: fp8, recompute: selective, recompute_modules: [layernorm, qk_norm, "
                    "mlp_act, moe_dispatch]"));
  const ImportedExperiment kept = imported(kLlama + "remat_policy: save_qkv_proj\n");
  CHECK_THAT(part(kept, "training"), contains_text("recompute: full"));
  CHECK(count_of(kept.remarks, ImportOutcome::kNotCarried) == 1);
  CHECK_THAT(fault_of(kLlama + "quantization: int8\n"), contains_text("'quantization' is 'int8'"));
  CHECK_THAT(fault_of(kLlama + "remat_policy: some\n"), contains_text("'remat_policy' is 'some'"));
}

TEST_CASE("a model of its own is read by its widths", "[unit]") {
  const ImportedExperiment run = imported(
      "base_emb_dim: 4096\nbase_num_query_heads: 32\nbase_num_kv_heads: 8\nbase_mlp_dim: 14336\n"
      "base_num_decoder_layers: 32\nvocab_size: 128256\n");
  CHECK(part(run, "model") == "llama3.1_8b");
  CHECK_THAT(fault_of("model_name: llama2-71b\n"),
             contains_text("'model_name' is 'llama2-71b', which is not known here"));
}

TEST_CASE("MaxText's keys that are wrong or not known are errors with a place", "[unit]") {
  CHECK_THAT(fault_of(kLlama + "max_target_lenght: 1\n"),
             contains_text("a.yml:3:20: error: 'max_target_lenght' is not known here; did you mean "
                           "'max_target_length'?"));
  CHECK_THAT(fault_of(kLlama + "dcn_fsdp_parallelism: -1\n"),
             contains_text("is -1, and another dcn_ axis is as well"));
  CHECK_THAT(fault_of(kLlama + "ici_tensor_parallelism: 3\n"),
             contains_text("what is left of 8, which the other ici_ axes, 3, do not divide"));
  CHECK_THAT(fault_of("base_config: other.yml\nmodel_name: llama2-7b\n"),
             contains_text("base_config 'other.yml' is not there"));
}

TEST_CASE("keys of attention are left out unless they say what the model is anyway", "[unit]") {
  const std::string keys =
      "sliding_window_size: 128\nchunk_attn_window_size: 0.0\nattention_sink: True\n"
      "attention_bias: true\nuse_qk_norm: false\nattn_logits_soft_cap: 50.0\n"
      "final_logits_soft_cap: 0\n";
  // Llama 2 has none of it: the window, the sinks, the biases and the bound are left out.
  CHECK(count_of(imported(kLlama + keys).remarks, ImportOutcome::kNotCarried) == 4);
  // GPT-OSS has the window, the sinks and the biases.
  const ImportedExperiment oss = imported("model_name: gpt-oss-20b\n" + keys);
  CHECK(count_of(oss.remarks, ImportOutcome::kNotCarried) == 1);
  CHECK_THAT(remarks_text(oss, "a.yml"),
             contains_text("not carried over: attn_logits_soft_cap 50.0: a bound on the logits"));
}

TEST_CASE("what a file lowers of memory and no key says is listed in the experiment", "[unit]") {
  const ImportedExperiment tiled =
      imported(kLlama + "num_vocab_tiling: 4\noptimizer_memory_host_offload: true\n");
  const ConfigNode* const savings = tiled.experiment.find(kUncarriedSavings);
  REQUIRE(savings != nullptr);
  REQUIRE(savings->items.size() == 2);
  CHECK(savings->items[0].find("setting")->text == "num_vocab_tiling 4");
  CHECK(savings->items[0].find("of")->text == "loss");
  CHECK(savings->items[1].find("of")->text == "optimizer");
  // One part a vocabulary is what is counted anyway.
  CHECK(imported(kLlama + "num_vocab_tiling: 1\n").experiment.find(kUncarriedSavings) == nullptr);
}

TEST_CASE("MaxText's own configurations for GPUs are read to the last key", "[unit]") {
  struct Case {
    const char* file;
    std::size_t carried;
    std::size_t defaulted;
    std::size_t left_out;
    const char* model;
  };
  const auto row = GENERATE(Case{"llama2_7b.yml", 6, 4, 1, "llama2_7b"},
                            Case{"llama2_70b.yml", 6, 4, 1, "llama2_70b"},
                            Case{"llama3_70b.yml", 5, 4, 1, "llama3_70b"},
                            Case{"llama3.1_405b.yml", 5, 5, 1, "llama3.1_405b"},
                            Case{"mixtral_8x7b.yml", 8, 4, 2, "mixtral_8x7b"});
  CAPTURE(row.file);
  const ImportedExperiment run = imported(read_file(kRoot / "tests/data/maxtext" / row.file));
  CHECK(part(run, "model") == row.model);
  CHECK(count_of(run.remarks, ImportOutcome::kCarried) == row.carried);
  CHECK(count_of(run.remarks, ImportOutcome::kDefaulted) == row.defaulted);
  CHECK(count_of(run.remarks, ImportOutcome::kNotCarried) == row.left_out);
}

TEST_CASE("keys that change the result with an unusual value are named", "[unit]") {
  const std::string usual =
      "model_name: llama3.1-8b\nattention: cudnn_flash_te\nlogits_dot_in_fp32: false\n"
      "matmul_precision: default\ntrainable_parameters_mask: []\n";
  const std::string unusual =
      "model_name: llama3.1-8b\nattention: cudnn_flash_te\nlogits_dot_in_fp32: true\n"
      "matmul_precision: highest\ntrainable_parameters_mask: ['.*lora.*']\n";
  CHECK(count_of(imported(usual).remarks, ImportOutcome::kNotCarried) == 0);
  CHECK(count_of(imported(unusual).remarks, ImportOutcome::kNotCarried) == 3);
}

TEST_CASE("attention by products alone is carried, and Pallas's kernel named", "[unit]") {
  const ImportedExperiment products = imported("model_name: llama3.1-8b\nattention: dot_product\n");
  CHECK(part(products, "software").find("unfused") != std::string::npos);
  CHECK(count_of(imported("model_name: llama3.1-8b\nattention: flash\n").remarks,
                 ImportOutcome::kNotCarried) == 1);
}

ImportedExperiment launched(const std::string& script, std::vector<std::string> overrides = {}) {
  ImportInput input = input_of("#!/bin/bash\n" + script + "\n", std::move(overrides));
  input.file = "train.sh";
  input.nodes.reset();
  return import_maxtext(input);
}

TEST_CASE("a script that launches MaxText says its keys, and how many nodes it has", "[unit]") {
  const ImportedExperiment run = launched(
      "#SBATCH -N 4\nMODEL=llama2-70b\n"
      "srun python3 -m MaxText.train MaxText/configs/base.yml model_name=$MODEL "
      "per_device_batch_size=4 max_target_length=8_192 run_name=${USER}");
  CHECK(part(run, "model") == "llama2_70b");
  CHECK(part(run, "cluster") == "{gpu: mi355x, nodes: 4}");
  CHECK_THAT(part(run, "training"), contains_text("sequence_length: 8192, micro_batch_size: 4"));
}

TEST_CASE("a command of MaxText that an option holds is read to its end", "[unit]") {
  const ImportedExperiment run = launched(
      "xpk workload create --command \"set -e && python3 MaxText/train.py base.yml "
      "model_name=llama2-70b per_device_batch_size=2 && echo per_device_batch_size=9\"");
  CHECK_THAT(part(run, "training"), contains_text("micro_batch_size: 2,"));
  const auto told = std::ranges::any_of(run.remarks, [](const ImportRemark& remark) {
    return remark.outcome == ImportOutcome::kAssumed && remark.ours == "cluster.nodes";
  });
  CHECK(told);
}

TEST_CASE("a script of MaxText without a launch line, a file or a value is refused", "[unit]") {
  const auto fault = [](const std::string& script) {
    return config_error([&] { launched(script); });
  };
  CHECK_THAT(fault("echo model_name=llama2-70b"), contains_text("no command that runs MaxText"));
  CHECK_THAT(fault("python3 -m MaxText.train gpu.yml"), contains_text("the file 'gpu.yml'"));
  CHECK_THAT(fault("python3 -m MaxText.train base.yml model_name=$M"),
             contains_text("nobody sets M, and decides model_name; give M=VALUE"));
  CHECK(part(launched("python3 -m MaxText.train base.yml model_name=$M", {"M=llama2-70b"}),
             "model") == "llama2_70b");
}

TEST_CASE("a policy that keeps quantized products is the one without them", "[unit]") {
  CHECK(part(imported(kLlama + "remat_policy: minimal_with_quantization\n"), "training") ==
        part(imported(kLlama + "remat_policy: minimal\n"), "training"));
}

TEST_CASE("a number of nodes that neither the file nor the command line says is told", "[unit]") {
  const auto told = [](const std::string& text, std::optional<std::int64_t> nodes) {
    ImportInput input = input_of(text);
    input.nodes = nodes;
    return remarks_text(import_maxtext(input), "a.yml");
  };
  CHECK_THAT(told(kLlama, {}), contains_text("cluster.nodes 1"));
  CHECK_THAT(told(kLlama, 4), !contains_text("cluster.nodes"));
  CHECK_THAT(told(kLlama + "dcn_data_parallelism: 4\n", {}), !contains_text("cluster.nodes"));
}

}  // namespace
}  // namespace stepcast::maxtext_test
