// SPDX-License-Identifier: Apache-2.0
#include "frameworks/bridge_recipe.hpp"

#include <filesystem>

#include "catch.hpp"
#include "import_of.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast::bridge_table_test {
namespace {

using namespace stepcast::test;

ImportedExperiment recipe(const std::string& name, std::vector<std::string> overrides = {}) {
  return import_megatron_bridge(input_of(name, name, std::move(overrides)));
}

TEST_CASE("a recipe by its name has the plan that Megatron Bridge gives it", "[unit]") {
  // perf_recipes/llama/h100/llama31.py: TP=8 PP=8 CP=2 VP=8, 1,536 sequences on 1,024 GPUs.
  const ImportedExperiment experiment = recipe("llama31_405b_pretrain_1024gpu_h100_bf16_config");
  CHECK(value_of(experiment, "model") == "llama3.1_405b");
  CHECK(value_of(experiment, "cluster.nodes") == "128");
  CHECK(value_of(experiment, "plan.tp") == "8");
  CHECK(value_of(experiment, "plan.pp") == "8");
  CHECK(value_of(experiment, "plan.vpp") == "8");
  CHECK(value_of(experiment, "plan.cp") == "2");
  CHECK(value_of(experiment, "training.global_batch_size") == "1536");
  CHECK(count_of(experiment.remarks, ImportOutcome::kAssumed) == 0);
}

TEST_CASE("a recipe's short name stands for the recipe", "[unit]") {
  const auto entry = bridge_table_entry("deepseek_v3_pretrain_config", data_root());
  REQUIRE(entry);
  CHECK(entry->name == "deepseek_v3_pretrain_1024gpu_h100_bf16_config");
  const ImportedExperiment experiment = recipe("deepseek_v3_pretrain_config");
  CHECK(value_of(experiment, "plan.pp") == "16");
  CHECK(value_of(experiment, "plan.ep") == "64");
  CHECK(value_of(experiment, "plan.stage_layout").find("tmL") != std::string::npos);
}

TEST_CASE("what the command line says counts before the recipe", "[unit]") {
  const ImportedExperiment experiment =
      recipe("llama3_70b_pretrain_64gpu_h100_bf16_config",
             {"tensor_model_parallel_size=8", "train.global_batch_size=512"});
  CHECK(value_of(experiment, "plan.tp") == "8");
  CHECK(value_of(experiment, "plan.vpp") == "5");
  CHECK(value_of(experiment, "training.global_batch_size") == "512");
}

// 256 GPUs have 1,536 sequences: 6 a replica of tp * pp. Twice the GPUs have twice the sequences.
TEST_CASE("a number of GPUs that no recipe has keeps the batch of a replica", "[unit]") {
  const ImportedExperiment known = recipe("llama31_405b_pretrain_256gpu_gb300_fp8cs_config");
  const ImportedExperiment twice = recipe("llama31_405b_pretrain_512gpu_gb300_fp8cs_config");
  CHECK(value_of(known, "training.global_batch_size") == "1536");
  CHECK(value_of(twice, "training.global_batch_size") == "3072");
  CHECK(value_of(twice, "plan.tp") == value_of(known, "plan.tp"));
  CHECK(count_of(twice.remarks, ImportOutcome::kAssumed) == 1);
}

TEST_CASE("the launcher's options change the recipe that they choose", "[unit]") {
  const ImportedExperiment experiment = import_megatron_bridge(input_of(
      "python scripts/performance/setup_experiment.py -m llama -mr llama3_70b -ng 64 -g h100 "
      "-c bf16 -a A -p P -i I -vp 10 -mb 2\n",
      "run.sh"));
  CHECK(value_of(experiment, "plan.tp") == "4");
  CHECK(value_of(experiment, "plan.pp") == "4");
  CHECK(value_of(experiment, "plan.vpp") == "10");
  CHECK(value_of(experiment, "training.micro_batch_size") == "2");
}

TEST_CASE("a recipe in Python begins from the framework's own", "[unit]") {
  const ImportedExperiment experiment =
      import_megatron_bridge(input_of("def llama31_405b_pretrain_512gpu_h100_bf16_config():\n"
                                      "    cfg = llama31_405b_pretrain_config()\n"
                                      "    cfg.model.context_parallel_size = 4\n"
                                      "    cfg.train.global_batch_size = 128\n"
                                      "    return cfg\n",
                                      "mine.py"));
  CHECK(value_of(experiment, "plan.tp") == "8");  // of the recipe that it begins from
  CHECK(value_of(experiment, "plan.cp") == "4");
}

TEST_CASE("adapters of a recipe are adapters here", "[unit]") {
  const ImportedExperiment named = recipe("llama3_70b_peft_8gpu_h100_bf16_config");
  CHECK(value_of(named, "training.lora.rank") == "16");
  // peft/lora.py: 32 ranks at all four products where a recipe says nothing.
  const ImportedExperiment usual = recipe("llama32_1b_peft_config");
  CHECK(value_of(usual, "training.lora.rank") == "32");
  CHECK(value_of(usual, "training.lora.targets") == "[qkv, o, gate_up, down]");
  const ImportedExperiment changed = recipe("llama32_1b_peft_config", {"peft.dim=8"});
  CHECK(value_of(changed, "training.lora.rank") == "8");
}

TEST_CASE("a misspelt recipe is told the nearest one", "[unit]") {
  CHECK_THAT(problems_of(import_megatron_bridge, input_of("llama3_8b_pretran_config", "name")),
             contains_text("did you mean 'llama3_8b_pretrain_config'?"));
}

TEST_CASE("what recipes of a model and a task usually set is known", "[unit]") {
  const auto usual = [](const std::string& name) {
    return bridge_table_usual(*parse_bridge_recipe(name), "seq_length", data_root());
  };
  CHECK(usual("llama3_8b_pretrain_8gpu_h100_bf16_config") == "8192");
  CHECK(usual("llama3_70b_peft_8gpu_h100_bf16_config") == "4096");
  CHECK(usual("qwen3_32b_pretrain_8gpu_h100_bf16_config") == "4096");
  CHECK(usual("llama9_1b_pretrain_8gpu_h100_bf16_config").empty());
}

TEST_CASE("the layout of a model's stages is looked up by their number", "[unit]") {
  CHECK(bridge_table_layout("deepseek_v3", 16, data_root()) == "Et*4|(t*4|)*14tmL");
  CHECK(bridge_table_layout("deepseek_v3", 32, data_root()) == "Et|(tt|)*30mL");
  CHECK(bridge_table_layout("deepseek_v3", 7, data_root()).empty());
  CHECK(bridge_table_layout("llama9_1b", 16, data_root()).empty());
}

// Each imports, or says that there is no profile of its GPU, or that its degrees need more GPUs
// than it has (which is so in Megatron Bridge: pp 4 and ep 32 on 64).
TEST_CASE("every recipe of the tables imports or says why not", "[unit]") {
  const std::filesystem::path folder = data_root().folder / "configs/recipes/megatron_bridge";
  std::size_t recipes = 0;
  for (const std::string& model : names_in(folder)) {
    const ConfigNode table = load_config(folder / (model + ".yaml"));
    REQUIRE(table.find("source") != nullptr);
    if (const ConfigNode* aliases = table.find("aliases")) {
      for (const ConfigEntry& alias : aliases->entries) {
        INFO(alias.key);
        CHECK(table.find("recipes")->find(alias.value.text) != nullptr);
      }
    }
    for (const ConfigEntry& entry : table.find("recipes")->entries) {
      INFO(entry.key);
      const auto named = parse_bridge_recipe(entry.key);
      REQUIRE(named);
      CHECK(bridge_recipe_name(*named) == entry.key);
      const std::string problem =
          problems_of(import_megatron_bridge, input_of(entry.key, entry.key));
      const bool explained = problem.empty() ||
                             problem.find("of which there is no profile") != std::string::npos ||
                             problem.find("parallelism needs a multiple of") != std::string::npos;
      CHECK(explained);
      ++recipes;
    }
  }
  CHECK(recipes >= 365);
}

}  // namespace
}  // namespace stepcast::bridge_table_test
