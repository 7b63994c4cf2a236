// SPDX-License-Identifier: Apache-2.0
#include "frameworks/mlperf_import.hpp"

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

TEST_CASE("a file that names no model is told how to", "[unit]") {
  CHECK_THAT(problems_of(import_mlperf, input_of("export MINIBS=1", "config_x.sh")),
             contains_text("model=NAME"));
}

}  // namespace
}  // namespace stepcast::mlperf_import_test
