// SPDX-License-Identifier: Apache-2.0
#include "importers/row_readers.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "importers/published_names.hpp"
#include "importers/published_run.hpp"
#include "sample_specs.hpp"
#include "unit/importers/table_runs.hpp"

namespace stepcast::training_runs_test {
using stepcast::test::run_of;

TEST_CASE("Published texts of recomputation mean what their frameworks do", "[unit]") {
  const auto keys = [](const char* text) {
    Record assumed = Record::array();
    return recompute_keys(text, "Megatron-LM", test::data_root(), assumed).dump();
  };
  CHECK(keys("") == "{}");
  CHECK(keys("none (RECOMPUTE_LAYERS=0 default)") == "{}");
  CHECK(keys("full") == R"({"recompute":"full"})");
  CHECK(keys("selective:layernorm,moe_act") ==
        R"({"recompute":"selective","recompute_modules":["layernorm","moe_act"]})");
  CHECK(keys("selective (attention core)") ==
        R"({"recompute":"selective","recompute_modules":["core_attn"]})");
  CHECK(keys("selective (mlp)") == R"({"recompute":"selective","recompute_modules":["mlp"]})");
  CHECK(keys("selective (op)") == R"({"recompute":"selective_op"})");
  CHECK(keys("full, method block, num_layers 12") ==
        R"({"recompute":"full","recompute_method":"block","recompute_layers":12})");
  CHECK_THROWS_AS(keys("now and then"), RefusedRow);
  Record assumed = Record::array();
  CHECK(recompute_keys("selective", "torchtitan", test::data_root(), assumed).dump() ==
        R"({"recompute":"selective_op"})");
  CHECK(assumed.size() == 1);
}

TEST_CASE("A key that stands twice in a published run is an error at its place", "[unit]") {
  const std::string run = R"({"parallel": {"tp": 1}, "measured": {}})";
  const std::vector<Diagnostic> problems =
      test::problems_in(run + "\n" + R"({"parallel": {"tp": 1, "tp": 8}, "measured": {}})");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].where.line == 2);
  CHECK(problems[0].where.column == 24);
  CHECK(problems[0].message == "duplicate key 'tp'; keep one of them");
}

TEST_CASE("A framework that is not known is none of its relatives", "[unit]") {
  CHECK(software_for("NeMo 2.0").software == "nemo");
  CHECK(software_for("Megatron-LM 23e00ed0 + TE 2.11").software == "megatron");
  CHECK(software_for("MaxText (JAX/XLA)").software == "maxtext");
  CHECK(software_for("NeMo AutoModel").software == "nemo_automodel");
  CHECK(software_for("OLMo-core").software.empty());
}

TEST_CASE("MaxText's own names of its policies are those of its configurations", "[unit]") {
  const auto keys = [](const char* text) {
    Record assumed = Record::array();
    return recompute_keys(text, "MaxText (Primus, rocm v26.6)", test::data_root(), assumed).dump();
  };
  CHECK(
      keys("minimal_flash") ==
      R"({"recompute":"selective","recompute_modules":["layernorm","qk_norm","mlp_act","moe_dispatch"]})");
  CHECK(
      keys("minimal") ==
      R"({"recompute":"selective","recompute_modules":["core_attn","layernorm","qk_norm","mlp_act","moe_dispatch"]})");
  CHECK(keys("save_dot_with_context_except_mlp") ==
        R"({"recompute":"selective","recompute_modules":["layernorm","qk_norm","mlp","moe"]})");
  CHECK_THROWS_AS(keys("now and then"), RefusedRow);
}

TEST_CASE("A row of a model that is not shipped is built from its own figures", "[unit]") {
  const auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense", "completeness": "A", "task": "pretrain",
    "model": {"name": "unheard of", "num_layers": 4, "hidden": 1024, "ffn": 4096, "heads": 8,
              "kv_heads": 2, "head_dim": 128, "vocab": 32000, "gated_mlp": true},
    "hardware": {"gpu": "H100 SXM 80GB", "gpus_per_node": 8, "num_gpus": 16},
    "parallel": {"tp": 2, "dp": 8}, "train": {"seq_len": 2048, "mbs": 1, "gbs": 64, "dtype": "bf16"},
    "measured": {"tokens_per_s_per_gpu": 1000}})");
  const MeasuredRun run = run_of(row);
  REQUIRE(run.experiment);
  CHECK(run.group == "h100_sxm dense A");
  CHECK(run.experiment->model.attention.kv_heads == 2);
  CHECK(run.experiment->cluster.nodes == 2);
  CHECK(run.experiment->plan.tp == 2);
}

TEST_CASE("A LoRA run trains the adapter of its benchmark and keeps its base in 8 bits", "[unit]") {
  auto row = nlohmann::json::parse(R"row({"id": "mlperf5.1-x", "task": "LoRA", "family": "dense",
    "completeness": "C", "source": {"key": "mlperf-training"}, "model": {"name": "Llama-2-70B"},
    "hardware": {"gpu": "MI325X", "num_gpus": 8}, "parallel": {"zero": 1},
    "train": {"seq_len": 8192, "gbs": 8, "dtype": "fp8", "framework": "NeMo (MLPerf)"},
    "measured": {"tokens_per_s_per_gpu": 1000}})row");
  const MeasuredRun run = run_of(row);
  REQUIRE(run.experiment);
  CHECK(run.group == "mi325x LoRA C");
  const TrainedWeights& weights = run.experiment->training.weights;
  REQUIRE(weights.lora);
  CHECK(*weights.lora == LoraSpec{16, {LoraTarget::kQkv, LoraTarget::kO}, true});
  CHECK(run.experiment->software.frozen_weights == FrozenWeights::kProductsOneLayout);
  CHECK_FALSE(run.experiment->software.attention_8bit);
  row["model"]["lora_rank"] = 64;
  CHECK(run_of(row).experiment->training.weights.lora->rank == 64);
}

TEST_CASE("A run is of its own stack, or one row that is skipped with the reason", "[unit]") {
  auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense", "completeness": "B", "task": "SFT",
    "model": {"name": "Llama-3/3.1-8B"},
    "hardware": {"gpu": "NVIDIA H100 80GB HBM3", "num_gpus": 16,
                 "interconnect": "8 x ConnectX-7 400 Gb/s per node"},
    "parallel": {"dp": 16, "fsdp": 16},
    "train": {"seq_len": 4096, "mbs": 1, "gbs": 16, "dtype": "bf16", "framework": "torchtune 0.6"},
    "measured": {"tokens_per_s_per_gpu": 1000}})");
  const MeasuredRun run = run_of(row);
  REQUIRE(run.experiment);
  CHECK(run.experiment->software.name == "torchtune");
  CHECK(run.experiment->cluster.device.scale_out.nic_rate.value() == Approx(50e9));
  row["train"]["framework"] = "PyTorch DDP";
  row["parallel"] = {{"dp", 16}, {"zero", 0}};
  REQUIRE(run_of(row).experiment);
  CHECK(run_of(row).experiment->software.name == "pytorch_ddp");
  row["train"]["framework"] = "prime-rl (FSDP2)";
  CHECK(run_of(row).skipped.starts_with("feature unsupported: prime-rl, whose trainer"));
  row["train"]["framework"] = "a loop of its own";
  CHECK(run_of(row).skipped ==
        "feature unsupported: no software set describes the framework 'a loop of its own'");
  row["train"]["framework"] = "torchtune";
  row["hardware"]["interconnect"] = "100 Gb/s Ethernet";
  CHECK(run_of(row).skipped.starts_with("input missing: the network '100 Gb/s Ethernet' does not"));
  row["hardware"]["gpu"] = "A100";
  CHECK(run_of(row).skipped ==
        "input missing: the GPU 'A100' may be a100_40gb or a100_80gb; write the profile's name if "
        "it is that part");
}

TEST_CASE("A row that lacks an input or has another task says why it is skipped", "[unit]") {
  auto row = nlohmann::json::parse(
      R"({"id": "x", "task": "RL", "hardware": {"gpu": "H100"}, "parallel": {},
    "measured": {"step_time_s": 1}})");
  CHECK(run_of(row).skipped.starts_with("feature unsupported: the task RL"));
  row["task"] = "pretrain";
  CHECK(run_of(row).skipped == "input missing: hardware.num_gpus");
  row["hardware"]["gpu"] = "TPU v5";
  CHECK(run_of(row).skipped == "input missing: no profile for the GPU 'TPU v5'");
}

TEST_CASE("A row says which software ran it, how it communicated and in which group it is",
          "[unit]") {
  const auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense", "completeness": "A", "config_group": "abc", "group": "b200 mine",
    "model": {"name": "unheard of", "num_layers": 4, "hidden": 1024, "ffn": 4096, "heads": 8,
              "vocab": 32000},
    "hardware": {"gpu": "B200 SXM", "gpus_per_node": 8, "num_gpus": 8},
    "parallel": {"tp": 1, "cp": 4, "dp": 2},
    "train": {"seq_len": 4096, "mbs": 1, "gbs": 8, "dtype": "fp16", "dropout": true,
              "software": "megatron_2021",
              "overlap": {"grad_reduce_overlap": false, "cp_comm_type": "a2a"}},
    "measured": {"step_time_s": 1}})");
  const MeasuredRun run = run_of(row);
  REQUIRE(run.experiment);
  CHECK(run.group == "b200 mine");
  CHECK(run.split == "abc");
  CHECK(run.experiment->software.name == "megatron_2021");
  CHECK(run.experiment->training.dropout);
  CHECK(run.experiment->plan.cp_algorithm == CpAlgorithm::kAllToAll);
  CHECK_FALSE(run.experiment->software.overlap_grad_reduce);
  CHECK_FALSE(run.experiment->software.overlap_param_gather);
}

TEST_CASE("A pipeline of torchtitan has a micro-batch for each stage unless it says otherwise",
          "[unit]") {
  auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense", "task": "pretrain",
    "model": {"name": "unheard of", "num_layers": 16, "hidden": 1024, "ffn": 4096, "heads": 8,
              "vocab": 32000},
    "hardware": {"gpu": "H100 SXM 80GB", "gpus_per_node": 8, "num_gpus": 8},
    "parallel": {"pp": 4, "dp": 2, "fsdp": 2},
    "train": {"seq_len": 4096, "gbs": 64, "dtype": "bf16", "framework": "torchtitan"},
    "measured": {"tokens_per_s_per_gpu": 1}})");
  const auto micro_batch = [&] { return run_of(row).experiment->training.micro_batch_size; };
  CHECK(micro_batch() == 8);  // 32 sequences a rank, 4 stages
  row["notes"] = "schedule Interleaved1F1B";
  CHECK(micro_batch() == 4);  // 8 stages
  CHECK(run_of(row).experiment->plan.vpp == 2);
  row["train"]["mbs"] = 1;
  CHECK(micro_batch() == 1);
  row["train"].erase("mbs");
  row["train"]["framework"] = "Megatron-LM";
  CHECK(micro_batch() == 1);
}

TEST_CASE("A run of torchtitan is taken for the set of its date", "[unit]") {
  auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense", "task": "pretrain", "source": {"ref": "a/pull/1"},
    "model": {"name": "unheard of", "num_layers": 16, "hidden": 1024, "ffn": 4096, "heads": 8,
              "vocab": 32000},
    "hardware": {"gpu": "H100 SXM 80GB", "gpus_per_node": 8, "num_gpus": 8},
    "parallel": {"pp": 4, "dp": 2, "fsdp": 2},
    "train": {"seq_len": 4096, "gbs": 64, "dtype": "bf16", "framework": "torchtitan",
              "overlap": {"compile": true}},
    "measured": {"tokens_per_s_per_gpu": 1}})");
  const auto set = [&row](const char* ref, const char* title) {
    row["source"] = {{"ref", ref}, {"title", title}};
    return run_of(row).experiment->software.name;
  };
  CHECK(set("pull request 2107", "torchtitan, DeepEP") == "torchtitan");
  CHECK(set("benchmarks/llama3_202506_x.md@b5bcd76c66", "torchtitan") == "torchtitan_2025_09");
  CHECK(set("docs/x.md", "torchtitan on H100 (Sep 2025)") == "torchtitan_2025_09");
  CHECK(set("docs/x.md", "torchtitan on H100 (Nov 2025)") == "torchtitan");
  CHECK(set("docs/x_202412_y.md", "torchtitan") == "torchtitan_2024");
}

TEST_CASE("A row names its pipeline schedule", "[unit]") {
  auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense", "task": "pretrain",
    "model": {"name": "unheard of", "num_layers": 16, "hidden": 1024, "ffn": 4096, "heads": 8,
              "vocab": 32000},
    "hardware": {"gpu": "MI300X", "gpus_per_node": 8, "num_gpus": 8},
    "parallel": {"pp": 8, "vpp": 2, "schedule": "zbv"},
    "train": {"seq_len": 4096, "mbs": 1, "gbs": 16, "dtype": "bf16"},
    "measured": {"step_time_s": 1}})");
  const MeasuredRun run = run_of(row);
  REQUIRE(run.experiment);
  CHECK(run.experiment->plan.schedule == Schedule::kZbV);
  row["parallel"]["schedule"] = "chimera";
  CHECK(run_of(row).skipped == "feature unsupported: the pipeline schedule 'chimera'");
}

TEST_CASE("A row of experts says how they are launched and what a graph holds", "[unit]") {
  auto row = nlohmann::json::parse(R"x({
    "id": "x", "family": "moe", "task": "pretrain",
    "model": {"name": "Qwen3-30B-A3B", "num_layers": 48, "hidden": 2048, "ffn": 6144, "heads": 32,
              "kv_heads": 4, "head_dim": 128, "vocab": 151936, "experts": 128, "topk": 8,
              "moe_ffn": 768},
    "hardware": {"gpu": "GB200", "gpus_per_node": 4, "num_gpus": 8},
    "parallel": {"ep": 8},
    "train": {"seq_len": 4096, "mbs": 1, "gbs": 16, "dtype": "mxfp8",
              "framework": "Megatron-Bridge (26.06)", "overlap": {}},
    "measured": {"step_time_s": 1}})x");
  const auto software = [&] {
    const MeasuredRun run = run_of(row);
    REQUIRE(run.experiment);
    return run.experiment->software;
  };
  CHECK(software().name == "megatron_bridge_26_06");
  CHECK(software().exchange.dispatcher == Dispatcher::kHybridEp);
  CHECK(software().cuda_graph);
  CHECK(software().cuda_graph_scope == CudaGraphScope::kWhole);
  CHECK(software().ep_overlap);
  row["train"]["dtype"] = "bf16";
  CHECK(software().cuda_graph_scope == CudaGraphScope::kWithoutExperts);
  row["train"]["dtype"] = "mxfp8";
  row["train"]["framework"] = "Megatron-Bridge (26.02)";
  CHECK(software().cuda_graph_scope == CudaGraphScope::kWithoutExperts);
  CHECK_FALSE(software().ep_overlap);
  row["train"]["overlap"]["cuda_graph"] = "none";
  CHECK_FALSE(software().cuda_graph);
  row["train"]["overlap"]["cuda_graph"] = nullptr;
  CHECK_FALSE(software().cuda_graph);
  row["train"]["overlap"]["moe_dispatcher"] = nullptr;
  CHECK(software().exchange.dispatcher == Dispatcher::kAllToAll);
  row["train"]["framework"] = "Megatron-Bridge (31.01)";
  CHECK(run_of(row).skipped == "feature unsupported: the software set 'megatron_bridge_31_01'");
  row["train"]["framework"] = "NeMo/Megatron-Core";
  row["train"]["overlap"] = nlohmann::json::object();
  row["train"]["overlap"]["moe_dispatcher"] =
      "alltoall, capacity_factor 1.0 padded, moe_grouped_gemm false";
  CHECK(software().name == "nemo_2024");
  CHECK(software().grouped_gemm == GroupedGemmMode::kLegacy);
  CHECK(software().exchange.capacity_factor == 1.0);
}

TEST_CASE("A row that states what its reader does not know is skipped with the key's name",
          "[unit]") {
  auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense", "task": "pretrain",
    "model": {"name": "unheard of", "num_layers": 16, "hidden": 1024, "ffn": 4096, "heads": 8,
              "vocab": 32000},
    "hardware": {"gpu": "MI300X", "gpus_per_node": 8, "num_gpus": 8},
    "parallel": {"tp": 2},
    "train": {"seq_len": 4096, "mbs": 1, "gbs": 16, "dtype": "bf16",
              "overlap": {"tp_comm_overlap": false}},
    "measured": {"step_time_s": 1}})");
  CHECK(run_of(row).skipped.empty());
  CHECK_FALSE(run_of(row).experiment->software.async_tp);
  row["train"]["overlap"]["warp_drive"] = true;
  CHECK(run_of(row).skipped.find("'train.overlap.warp_drive'") != std::string::npos);
  row["train"]["overlap"]["warp_drive"] = nullptr;
  CHECK(run_of(row).skipped.empty());
  row["train"]["framework"] = "OLMo-core";
  CHECK(run_of(row).skipped.find("'OLMo-core'") != std::string::npos);
  CHECK(run_of(row).quantities.back().metric == Metric::kFits);
}

TEST_CASE("A run that keeps activations in the host's memory says nothing of a GPU's", "[unit]") {
  auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense", "task": "pretrain",
    "model": {"name": "unheard of", "num_layers": 16, "hidden": 1024, "ffn": 4096, "heads": 8,
              "vocab": 32000},
    "hardware": {"gpu": "MI300X", "gpus_per_node": 8, "num_gpus": 8},
    "parallel": {"tp": 2},
    "train": {"seq_len": 4096, "mbs": 1, "gbs": 16, "dtype": "bf16",
              "overlap": {"cpu_offload_layers": 0}},
    "measured": {"step_time_s": 1, "memory_gib": 40}})");
  CHECK(run_of(row).quantities.size() == 3);
  row["train"]["overlap"]["cpu_offload_layers"] = 8;
  const MeasuredRun run = run_of(row);
  CHECK(run.skipped.empty());
  REQUIRE(run.quantities.size() == 1);
  CHECK(run.quantities[0].metric == Metric::kStepTime);
}

TEST_CASE("A run that ran out of memory is judged by whether it fits", "[unit]") {
  const auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense", "outcome": "oom",
    "model": {"name": "unheard of", "num_layers": 16, "hidden": 1024, "ffn": 4096, "heads": 8,
              "vocab": 32000},
    "hardware": {"gpu": "MI300X", "gpus_per_node": 8, "num_gpus": 8},
    "parallel": {"tp": 2}, "train": {"seq_len": 4096, "mbs": 1, "gbs": 16}, "measured": {}})");
  const MeasuredRun run = run_of(row);
  REQUIRE(run.experiment);
  REQUIRE(run.quantities.size() == 1);
  CHECK(run.quantities[0].metric == Metric::kFits);
  CHECK(run.quantities[0].value == 0.0);
}

TEST_CASE("Steps are read with their GPU, latent attention, eager kernels and modes", "[unit]") {
  auto row = nlohmann::json::parse(R"({
    "case": "x", "gpu": "NVIDIA H100 80GB HBM3", "model": "m", "layers": 6, "seq": 4096, "mbs": 2,
    "arch": {"hidden": 2048, "heads": 16, "kv_heads": 16, "head_dim": 192, "ffn": 10944,
             "moe_ffn": 1408, "experts": 64, "topk": 6, "shared_ffn": 2816, "dense_layers": 1,
             "vocab": 102400, "layers": 27, "qk_norm": 1,
             "mla": {"qk_nope": 128, "qk_rope": 64, "kv_lora": 512, "v_dim": 128}},
    "mode": "fsdp", "ac": "none", "ep": 2, "world": 2, "eager": 1, "fp8": 1, "no_reshard": 1,
    "step_s": 0.3, "peak_alloc_bytes": [1e9, 2e9]})");
  const Experiment read = run_of(row).experiment.value();
  CHECK(read.cluster.device.name == "h100_sxm");
  CHECK(read.model.attention.kind == AttentionKind::kMla);
  CHECK(read.model.attention.qk_norm == QkNorm::kHead);
  CHECK(read.model.moe->shared_expert_ffn_hidden == 2816);
  CHECK(read.model.moe->first_dense_layers == 1);
  CHECK(read.training.dtype == Dtype::kFp8);
  CHECK(read.plan.fsdp_reshard == false);
  CHECK(read.software.rope == Implementation::kEager);
  row["mode"] = "pp";
  row["micro"] = 4;
  row["schedule"] = "izb";
  row["v"] = 2;
  CHECK(run_of(row).experiment.value().plan.schedule == Schedule::kInterleavedZeroBubble);
  row["schedule"] = "chimera";
  CHECK(run_of(row).skipped == "feature unsupported: the pipeline schedule 'chimera'");
  row["schedule"] = nullptr;
  row["stray"] = 1;
  CHECK(run_of(row).skipped.find("'stray'") != std::string::npos);
}

}  // namespace stepcast::training_runs_test
