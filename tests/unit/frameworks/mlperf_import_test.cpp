// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_import.hpp"

#include "catch.hpp"
#include "import_of.hpp"

namespace stepcast::mlperf_import_test {
namespace {

using namespace stepcast::test;

TEST_CASE("MLPerf's variables become a plan, and MINIBS the sequences of a replica", "[unit]") {
  const ImportedExperiment experiment =
      import_mlperf(input_of("source $(dirname ${BASH_SOURCE[0]})/config_common.sh\n"
                             "export MINIBS=$((144 / 2))\n"
                             "export TENSOR_MODEL_PARALLEL=4\n"
                             "export PIPELINE_MODEL_PARALLEL=1\n"
                             "export INTERLEAVED_PIPELINE=null\n"
                             "export CONTEXT_PARALLEL=2\n"
                             "export MICRO_BATCH_SIZE=1\n"
                             "export DGXNNODES=4 DGXNGPU=8\n"
                             "export FP8=True\n"
                             "export NCCL_DEBUG=WARN\n",
                             "config_DGXH100_4x8x72xtp4pp1cp2.sh", {"model=llama3.1_70b"}));
  CHECK(value_of(experiment, "cluster.gpu") == "h100_sxm");
  CHECK(value_of(experiment, "plan.tp") == "4");
  CHECK(value_of(experiment, "plan.cp") == "2");
  // 32 GPUs over tp 4 and cp 2 are 4 replicas of 72 sequences.
  CHECK(value_of(experiment, "training.global_batch_size") == "288");
  CHECK(value_of(experiment, "training.dtype") == "fp8");
}

TEST_CASE("the name of a file says what its variables leave out", "[unit]") {
  const ImportedExperiment experiment = import_mlperf(
      input_of("export MICRO_BATCH_SIZE=1\nexport PIPELINE_LAYOUT='Et*4|(t*4|)*14tmL'\n",
               "deepseekv3/config_GB200_128x4x240xtp2pp4ep32cp1_mxfp8.sh"));
  CHECK(value_of(experiment, "model") == "deepseek_v3");
  CHECK(value_of(experiment, "plan.ep") == "32");
  CHECK(value_of(experiment, "plan.vpp") == "4");  // 16 stages over 4 ranks
  // 512 GPUs over tp 2 and pp 4 are 64 replicas of 240.
  CHECK(value_of(experiment, "training.global_batch_size") == "15360");
}

// As NVIDIA's Llama 3.1 405B of v5.1 is written: the size in a file of its own, embedding and loss
// counted as layers of the pipeline (126 and 2 over 64 stages).
TEST_CASE("the size that a file states counts before the folder it lies in", "[unit]") {
  const ImportedExperiment experiment = import_mlperf(
      input_of("export MODEL_SIZE=\"405b\"\nexport MINIBS=144\nexport TENSOR_MODEL_PARALLEL=4\n"
               "export PIPELINE_MODEL_PARALLEL=8\nexport INTERLEAVED_PIPELINE=8\n"
               "export CONTEXT_PARALLEL=2\nexport ASYM_PP_EMBED=True\nexport ASYM_PP_LOSS=True\n"
               "export MICRO_BATCH_SIZE=1\nexport DGXNNODES=64\nexport DGXNGPU=8\n",
               "llama31_8b/config_DGXB200_64x8x144xtp4pp8cp2_cg.sh"));
  CHECK(value_of(experiment, "model") == "llama3.1_405b");
  CHECK(value_of(experiment, "plan.stage_layout") == "balanced");
  CHECK(value_of(experiment, "plan.vpp") == "8");
  // 512 GPUs over tp 4, pp 8 and cp 2 are 8 replicas of 144.
  CHECK(value_of(experiment, "training.global_batch_size") == "1152");
}

// As the configurations of Llama 2 70B LoRA: short names of the degrees.
TEST_CASE("short names of degrees are the long ones, and AMD's adapters have their own set",
          "[unit]") {
  const std::string text =
      "export MINIBS=1\nexport TP=1\nexport PP=1\nexport CP=8\nexport SP=False\nexport MBS=1\n"
      "export FP8=True\nexport FP8_ACT=1\nexport DGXNNODES=2\nexport DGXNGPU=8\n";
  const ImportedExperiment nvidia =
      import_mlperf(input_of(text, "llama2_70b_lora/config_DGXB200_2x8x1xtp1pp1cp8.sh"));
  CHECK(value_of(nvidia, "plan.cp") == "8");
  CHECK(value_of(nvidia, "plan.cp_algorithm") == "all_to_all");  // conf's default
  CHECK(value_of(nvidia, "software") == "mlperf_lora_5.1");
  CHECK(value_of(nvidia, "training.lora.rank") == "16");
  CHECK(count_of(nvidia.remarks, ImportOutcome::kNotCarried) == 1);  // FP8_ACT
  const ImportedExperiment amd =
      import_mlperf(input_of(text, "llama2_70b_lora/config_MI350X_2x8x1.sh"));
  CHECK(value_of(amd, "cluster.gpu") == "mi350x");
  CHECK(value_of(amd, "software.base") + value_of(amd, "software") ==
        value_of(amd, "software.base") + "mlperf_lora_amd");
}

// As AMD's Llama 3.1 8B of v5.1: the whole batch, and names of its own for the job's size.
TEST_CASE("a batch that is stated whole is not multiplied", "[unit]") {
  const ImportedExperiment experiment =
      import_mlperf(input_of("export NNODES=1\nexport GPUS_PER_NODE=8\nexport SIZE=\"8b\"\n"
                             "export GBS=32\nexport MBS=2\nexport TP=1\nexport PP=1\nexport CP=1\n",
                             "config_MI355X_1x8x1_8b.sh"));
  CHECK(value_of(experiment, "model") == "llama3.1_8b");
  CHECK(value_of(experiment, "training.global_batch_size") == "32");
  CHECK(value_of(experiment, "training.micro_batch_size") == "2");
}

TEST_CASE("a file that names no model is told how to", "[unit]") {
  CHECK_THAT(problems_of(import_mlperf, input_of("export MINIBS=1", "config_x.sh")),
             contains_text("model=NAME"));
}

}  // namespace
}  // namespace stepcast::mlperf_import_test
