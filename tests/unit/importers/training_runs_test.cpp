// SPDX-License-Identifier: Apache-2.0
#include "importers/training_runs.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::training_runs_test {
using stepcast::test::data_root;

TEST_CASE("Published texts of recomputation mean what their frameworks do", "[unit]") {
  CHECK(recompute_from_text("").kind == RecomputeKind::kNone);
  CHECK(recompute_from_text("none (RECOMPUTE_LAYERS=0 default)").kind == RecomputeKind::kNone);
  CHECK(recompute_from_text("full").kind == RecomputeKind::kFull);
  const RecomputeSpec modules = recompute_from_text("selective:layernorm,moe_act");
  CHECK(modules.recomputes(RecomputeModule::kLayerNorm));
  CHECK(modules.recomputes(RecomputeModule::kMoeActivation));
  CHECK_FALSE(modules.recomputes(RecomputeModule::kCoreAttention));
  CHECK(recompute_from_text("selective (attention core)")
            .recomputes(RecomputeModule::kCoreAttention));
  CHECK(recompute_from_text("selective (op)").kind == RecomputeKind::kOperators);
  const RecomputeSpec block = recompute_from_text("full, method block, num_layers 12");
  CHECK(block.method == RecomputeMethod::kBlock);
  CHECK(block.layers == 12);
}

TEST_CASE("Published texts of a network give the rate of one GPU", "[unit]") {
  const auto gigabits = [](const char* text, std::int64_t gpus) {
    const auto rate = network_rate_of_gpu(text, gpus);
    return rate ? rate->value() * 8.0 / 1e9 : 0.0;
  };
  CHECK(gigabits("1600 Gb/s RoCE node-node", 8) == Approx(200.0));
  CHECK(gigabits("4 x 100Gb RoCE per node", 8) == Approx(50.0));
  CHECK(gigabits("NVLink + 400Gbps RoCE", 8) == Approx(400.0));
  CHECK(gigabits("NVLink; RDMA 400Gb/s (CX-7) per GPU", 8) == Approx(400.0));
  CHECK(gigabits("NVLink + InfiniBand", 8) == 0.0);
}

TEST_CASE("A row of a model that is not shipped is built from its own figures", "[unit]") {
  const auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense", "completeness": "A", "task": "pretrain",
    "model": {"name": "unheard of", "num_layers": 4, "hidden": 1024, "ffn": 4096, "heads": 8,
              "kv_heads": 2, "head_dim": 128, "vocab": 32000, "gated_mlp": true},
    "hardware": {"gpu": "H100 SXM 80GB", "gpus_per_node": 8, "num_gpus": 16},
    "parallel": {"tp": 2, "dp": 8}, "train": {"seq_len": 2048, "mbs": 1, "gbs": 64, "dtype": "bf16"},
    "measured": {"tokens_per_s_per_gpu": 1000}})");
  ProfileCache profiles(data_root());
  const MeasuredRun run = read_training_run(row, profiles);
  REQUIRE(run.experiment);
  CHECK(run.group == "h100_sxm dense A");
  CHECK(run.experiment->model.attention.kv_heads == 2);
  CHECK(run.experiment->cluster.nodes == 2);
  CHECK(run.experiment->plan.tp == 2);
}

TEST_CASE("A row that lacks an input or has another task says why it is skipped", "[unit]") {
  ProfileCache profiles(data_root());
  auto row = nlohmann::json::parse(R"({"id": "x", "task": "LoRA", "hardware": {"gpu": "H100"},
    "measured": {"step_time_s": 1}})");
  CHECK(read_training_run(row, profiles).skipped.starts_with("feature unsupported: the task LoRA"));
  row["task"] = "pretrain";
  CHECK(read_training_run(row, profiles).skipped == "input missing: hardware.num_gpus");
  row["hardware"]["gpu"] = "TPU v5";
  CHECK(read_training_run(row, profiles).skipped ==
        "input missing: no profile for the GPU 'TPU v5'");
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
  ProfileCache profiles(data_root());
  const MeasuredRun run = read_training_run(row, profiles);
  REQUIRE(run.experiment);
  CHECK(run.group == "b200 mine");
  CHECK(run.split == "abc");
  CHECK(run.experiment->software.name == "megatron_2021");
  CHECK(run.experiment->training.dropout);
  CHECK(run.experiment->plan.cp_algorithm == CpAlgorithm::kAllToAll);
  CHECK(run.experiment->plan.overlap.hidden[static_cast<std::size_t>(Axis::kData)] == 0.0);
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
  ProfileCache profiles(data_root());
  const auto micro_batch = [&] {
    return read_training_run(row, profiles).experiment->training.micro_batch_size;
  };
  CHECK(micro_batch() == 8);  // 32 sequences a rank, 4 stages
  row["notes"] = "schedule Interleaved1F1B";
  CHECK(micro_batch() == 4);  // 8 stages
  CHECK(read_training_run(row, profiles).experiment->plan.vpp == 2);
  row["train"]["mbs"] = 1;
  CHECK(micro_batch() == 1);
  row["train"].erase("mbs");
  row["train"]["framework"] = "Megatron-LM";
  CHECK(micro_batch() == 1);
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
  ProfileCache profiles(data_root());
  const MeasuredRun run = read_training_run(row, profiles);
  REQUIRE(run.experiment);
  CHECK(run.experiment->plan.schedule == Schedule::kZbV);
  row["parallel"]["schedule"] = "chimera";
  CHECK(read_training_run(row, profiles).skipped ==
        "feature unsupported: the pipeline schedule 'chimera'");
}

TEST_CASE("A row of experts says how they are launched and what a graph holds", "[unit]") {
  auto row = nlohmann::json::parse(R"x({
    "id": "x", "family": "moe", "task": "pretrain",
    "model": {"name": "unheard of", "num_layers": 16, "hidden": 1024, "ffn": 4096, "heads": 8,
              "vocab": 32000, "experts": 16, "topk": 2, "moe_ffn": 512},
    "hardware": {"gpu": "GB200", "gpus_per_node": 4, "num_gpus": 8},
    "parallel": {"ep": 8},
    "train": {"seq_len": 4096, "mbs": 1, "gbs": 16, "dtype": "mxfp8",
              "framework": "Megatron-Bridge (26.06)", "overlap": {}},
    "measured": {"step_time_s": 1}})x");
  ProfileCache profiles(data_root());
  const auto software = [&] {
    const MeasuredRun run = read_training_run(row, profiles);
    REQUIRE(run.experiment);
    return run.experiment->software;
  };
  CHECK(software().name == "nemo");
  CHECK(software().grouped_gemm == GroupedGemmMode::kStreams);
  CHECK(software().exchange.dispatcher == Dispatcher::kHybridEp);
  CHECK(software().cuda_graph);
  CHECK(software().cuda_graph_scope == CudaGraphScope::kWhole);
  row["train"]["dtype"] = "bf16";
  CHECK_FALSE(software().cuda_graph);
  row["train"]["dtype"] = "mxfp8";
  row["train"]["framework"] = "Megatron-Bridge (26.02)";
  CHECK_FALSE(software().cuda_graph);
  row["train"]["overlap"]["cuda_graph"] = "transformer_engine";
  CHECK(software().cuda_graph);
  CHECK(software().cuda_graph_scope == CudaGraphScope::kWithoutExperts);
  row["model"]["name"] = "GPT-OSS of some size";
  CHECK(software().exchange.dispatcher == Dispatcher::kAllToAll);
  row["train"]["framework"] = "NeMo/Megatron-Core";
  row["train"]["overlap"] = nlohmann::json::object();
  row["train"]["overlap"]["moe_dispatcher"] =
      "alltoall, capacity_factor 1.0 padded, moe_grouped_gemm false";
  CHECK(software().name == "nemo_2024");
  CHECK(software().grouped_gemm == GroupedGemmMode::kLegacy);
  CHECK(software().exchange.capacity_factor == 1.0);
}

}  // namespace stepcast::training_runs_test
