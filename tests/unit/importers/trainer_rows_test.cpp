// SPDX-License-Identifier: Apache-2.0
// Published runs of Hugging Face's Trainer: their set, their attention and their variants.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "importers/published_names.hpp"
#include "unit/importers/table_runs.hpp"

namespace stepcast::trainer_rows_test {
namespace {

nlohmann::json row_of(const std::string& framework) {
  auto row = nlohmann::json::parse(R"({
    "id": "x", "family": "dense",
    "model": {"name": "unheard of", "num_layers": 16, "hidden": 1024, "ffn": 4096, "heads": 8,
              "vocab": 32768},
    "hardware": {"gpu": "H100 SXM 80GB", "gpus_per_node": 8, "num_gpus": 8},
    "parallel": {"fsdp": 8, "zero": 3},
    "train": {"seq_len": 4096, "mbs": 2, "gbs": 16, "dtype": "bf16", "overlap": {}},
    "measured": {"step_time_s": 1}})");
  row["train"]["framework"] = framework;
  return row;
}

SoftwareSpec software_of(const nlohmann::json& row) {
  const MeasuredRun run = test::run_of(row);
  REQUIRE(run.experiment);
  return run.experiment->software;
}

const std::string kTrl = "TRL SFTTrainer, transformers 5.6.0.dev0, accelerate 1.13, torch 2.10";

}  // namespace

TEST_CASE("What runs Trainer has Hugging Face's set, with DeepSpeed its other one", "[unit]") {
  CHECK(trainer_set(kTrl + " (FSDP2)") == "huggingface");
  CHECK(trainer_set(kTrl + " (DeepSpeed ZeRO-3)") == "huggingface_deepspeed");
  CHECK(trainer_set("LLaMA-Factory 0.9") == "huggingface");
  CHECK(trainer_set("axolotl 0.12, DeepSpeed ZeRO-2") == "huggingface_deepspeed");
  CHECK(trainer_set("transformers 4.57, accelerate 1.10, torch 2.8") == "huggingface_4");
  CHECK(trainer_set("transformers 4.57, DeepSpeed ZeRO-3") == "huggingface_deepspeed");
  CHECK(trainer_set("Unsloth 2026.1").empty());
  CHECK(trainer_set("torchtitan").empty());
}

TEST_CASE("PyTorch before 2.11 runs FlashAttention 2 where a row names no kernel", "[unit]") {
  CHECK(software_of(row_of(kTrl)).attention_kernel() == AttentionKernel::kFlash2);
  CHECK(software_of(row_of("transformers 5.17, torch 2.11")).attention_kernel() ==
        AttentionKernel::kCudnn);
  nlohmann::json row = row_of(kTrl);
  row["train"]["overlap"]["attn"] = "FA3";
  CHECK(software_of(row).attention_kernel() == AttentionKernel::kFlash3);
}

// 8,192 tokens, 32,768 / 1,024 = 32 times as many logits as hidden values: chunks of 256 tokens.
TEST_CASE("Liger's kernels are fused, and its loss runs in 32 chunks of 256 tokens", "[unit]") {
  nlohmann::json row = row_of(kTrl);
  row["notes"] = "packed; variant: attention sdpa, liger True, experts grouped_mm; as said";
  const SoftwareSpec software = software_of(row);
  CHECK(software.norm == Implementation::kFused);
  CHECK(software.cross_entropy == Implementation::kFused);
  CHECK(software.memory.loss_chunks == 32);
  row["notes"] = "variant: liger False";
  CHECK(software_of(row).norm == Implementation::kEager);
  row["notes"] = "variant: attention flex";
  CHECK(test::run_of(row).skipped ==
        "feature unsupported: the variant 'attention flex' of Trainer");
}

// NVML's 42.95 GiB; tokens that a loader hands to each rank once were divided by two.
TEST_CASE("Figures of TRL's benchmark are read as its programs write them", "[case]") {
  nlohmann::json row = row_of(kTrl);
  row["source"] = {{"key", "trl-sft-h100"}};
  row["parallel"]["cp"] = 2;
  row["train"]["overlap"]["cp_comm_type"] = "a2a";
  row["notes"] = "published TPS/GPU divided by the context-parallel degree";
  row["measured"] = {{"tokens_per_s_per_gpu", 1000.0}, {"memory_gib", 40.0}};
  const MeasuredRun run = test::run_of(row);
  CHECK(run.memory == MemoryReading::kDevice);
  CHECK(run.quantities.at(0).value == 2000.0);
  REQUIRE(run.quantities.back().metric == Metric::kPeakMemory);
  CHECK(run.quantities.back().value == test::nearly(40.0 * 1.073741824 * 1073741824.0));
  row["source"] = {{"key", "another"}};
  CHECK(test::run_of(row).memory == MemoryReading::kAllocated);
  CHECK(test::run_of(row).quantities.at(0).value == 1000.0);
}

// Eight GPUs of which four shard: two copies, and twice the batch that one group has.
TEST_CASE("Tensor parallelism without a plan of the model repeats the work", "[case]") {
  nlohmann::json row = row_of(kTrl);
  row["source"] = {{"key", "trl-sft-h100"}};
  row["parallel"] = {{"tp", 2}, {"dp", 4}, {"fsdp", 8}, {"zero", 3}};
  row["train"]["gbs"] = 8;
  const MeasuredRun run = test::run_of(row);
  REQUIRE(run.experiment);
  CHECK(run.experiment->plan.tp == 1);
  CHECK(run.experiment->plan.hsdp == 4);
  CHECK(run.experiment->training.global_batch_size == 16);
}

}  // namespace stepcast::trainer_rows_test
