// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "frameworks/bridge_python.hpp"
#include "frameworks/bridge_recipe.hpp"
#include "import_of.hpp"

namespace stepcast::bridge_import_test {
namespace {

using namespace stepcast::test;

TEST_CASE("the name of a recipe says model, GPUs and precision", "[unit]") {
  const auto recipe = parse_bridge_recipe("llama31_405b_pretrain_512gpu_gb300_fp8mx_fsdp_config");
  REQUIRE(recipe);
  CHECK(recipe->model == "llama31_405b");
  CHECK(recipe->gpus == 512);
  CHECK(recipe->gpu == "gb300");
  CHECK(recipe->precision == "fp8mx");
  CHECK(recipe->variant == "fsdp");
  CHECK(bridge_recipe_name(*recipe) == "llama31_405b_pretrain_512gpu_gb300_fp8mx_fsdp_config");
  CHECK_FALSE(parse_bridge_recipe("llama31_405b_pretrain_config"));
  CHECK_FALSE(parse_bridge_recipe("pretrain_8gpu_h100_bf16"));
}

TEST_CASE("a recipe that no table has is its name's GPU, count, model and format, and says so",
          "[unit]") {
  const ImportedExperiment experiment =
      import_megatron_bridge(input_of("llama31_405b_pretrain_512gpu_h200_fp8cs_config", "name"));
  CHECK(value_of(experiment, "model") == "llama3.1_405b");
  CHECK(value_of(experiment, "cluster.gpu") == "h200_sxm");
  CHECK(value_of(experiment, "cluster.nodes") == "64");
  CHECK(value_of(experiment, "training.dtype") == "fp8");
  CHECK(value_of(experiment, "plan").empty());
  CHECK(count_of(experiment.remarks, ImportOutcome::kAssumed) >= 1);
}

TEST_CASE("launchers of 2025 name the model in two parts, and Python without a recipe is told",
          "[unit]") {
  const ImportedExperiment experiment = import_megatron_bridge(
      input_of("#!/bin/bash\npython scripts/performance/setup_experiment.py --model_name deepseek "
               "--model_size v3 --gpu gb300 --num_gpus 256 --compute_dtype bf16\n",
               "run.sh"));
  CHECK(value_of(experiment, "model") == "deepseek_v3");
  CHECK_THAT(problems_of(import_megatron_bridge,
                         input_of("def main(args):\n    return args\n", "setup.py")),
             Catch::Matchers::Contains("has no recipe"));
}

TEST_CASE("a recipe in Python is read by its assignments", "[unit]") {
  const ImportedExperiment experiment = import_megatron_bridge(
      input_of("def llama3_70b_pretrain_64gpu_h100_bf16_config() -> ConfigContainer:\n"
               "    \"\"\"Llama3 70B: TP=4 is said again here.\"\"\"\n"
               "    cfg = llama3_70b_pretrain_config()\n"
               "    cfg.model.tensor_model_parallel_size = 4  # of a node\n"
               "    cfg.model.pipeline_model_parallel_size = 4\n"
               "    cfg.model.virtual_pipeline_model_parallel_size = 5\n"
               "    cfg.model.context_parallel_size = 2\n"
               "    cfg.train.global_batch_size = 256\n"
               "    cfg.train.micro_batch_size = 1\n"
               "    cfg.comm_overlap = CommOverlapConfig(\n"
               "        tp_comm_overlap=False,\n"
               "        tp_comm_overlap_cfg=userbuffers,\n"
               "    )\n"
               "    return cfg\n",
               "llama3.py"));
  CHECK(value_of(experiment, "plan.tp") == "4");
  CHECK(value_of(experiment, "plan.vpp") == "5");
  CHECK(value_of(experiment, "software.async_tp") == "false");
}

TEST_CASE("a workload's literal is read by its keywords", "[unit]") {
  const ImportedExperiment experiment = import_megatron_bridge(
      input_of("LLAMA3_70B_PRETRAIN_CONFIG_GB300_FP8_CS_V1 = WorkloadBaseConfig(\n"
               "    num_gpus=64, tensor_model_parallel_size=2, global_batch_size=128,\n"
               "    micro_batch_size=1, pipeline_model_parallel_size=4)\n",
               "w.py"));
  CHECK(value_of(experiment, "model") == "llama3_70b");
  CHECK(value_of(experiment, "plan.tp") == "2");
  CHECK(value_of(experiment, "training.dtype") == "fp8");
}

TEST_CASE("the launcher's command is read with its short options", "[unit]") {
  const ImportedExperiment experiment = import_megatron_bridge(
      input_of("python scripts/performance/setup_experiment.py -m llama -mr llama3_8b -ng 8 "
               "-g h100 -c bf16 -a ACCOUNT -p PARTITION -i IMAGE -tp 2 -gb 64 -mb 2 "
               "model.recompute_granularity=full",
               "run.sh"));
  CHECK(value_of(experiment, "model") == "llama3_8b");
  CHECK(value_of(experiment, "plan.tp") == "2");
  CHECK(value_of(experiment, "training.recompute") == "full");
}

TEST_CASE("a script that starts run_recipe.py is the recipe with what stands behind it", "[unit]") {
  const std::string script =
      "#!/bin/bash\ntorchrun --nnodes 2 --nproc_per_node 8 scripts/training/run_recipe.py "
      "--recipe llama3_8b_pretrain_config model.tensor_model_parallel_size=4 "
      "train.global_batch_size=64\n";
  const ImportedExperiment experiment = import_megatron_bridge(input_of(script, "run.sh"));
  CHECK(value_of(experiment, "model") == "llama3_8b");
  CHECK(value_of(experiment, "plan.tp") == "4");
  CHECK(value_of(experiment, "training.global_batch_size") == "64");
  CHECK_THAT(
      problems_of(import_megatron_bridge,
                  input_of("#!/bin/bash\npython run_recipe.py --recipe llama9_config\n", "run.sh")),
      contains_text("starts the recipe 'llama9_config', which is not known here"));
  CHECK_THAT(problems_of(import_megatron_bridge,
                         input_of("#!/bin/bash\nif [ -z \"$IMAGE\" ]; then\n  exit 1\nfi\n"
                                  "IMAGE=\npython run_recipe.py --recipe llama3_8b_config\n",
                                  "run.sh", {"IMAGE="})),
             contains_text("ends the script here"));
}

TEST_CASE("a recipe of the table pairs no passes unless it says so, whatever its software set does",
          "[unit]") {
  // Of qwen3_235b_a22b on H100 the set has ep_overlap, which needs virtual stages.
  CHECK(value_of(import_megatron_bridge(
                     input_of("qwen3_235b_a22b_pretrain_256gpu_h100_bf16_config", "name")),
                 "software.ep_overlap") == "false");
}

TEST_CASE("GPUs without a profile and unknown precisions are refused by name", "[unit]") {
  CHECK_THAT(problems_of(import_megatron_bridge,
                         input_of("llama3_8b_pretrain_8gpu_vr200_bf16_config", "name")),
             contains_text("vr200"));
  CHECK_THAT(problems_of(import_megatron_bridge,
                         input_of("llama3_8b_pretrain_8gpu_h100_int4_config", "name")),
             contains_text("int4"));
}

TEST_CASE("brackets and quotes that stay open are errors with their line", "[unit]") {
  CHECK_THROWS_AS(python_functions("cfg.x = [1,\n", "a.py"), ConfigError);
  CHECK_THROWS_AS(python_functions("cfg.x = \"a\n", "a.py"), ConfigError);
}

}  // namespace
}  // namespace stepcast::bridge_import_test
