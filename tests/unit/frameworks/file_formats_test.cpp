// SPDX-License-Identifier: Apache-2.0
#include "frameworks/file_formats.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "frameworks/framework_table.hpp"
#include "sample_specs.hpp"

namespace stepcast::file_formats_test {
namespace {

using test::config_error;
using test::contains_text;
using test::data_root;

std::string told(const std::string& text, const std::string& file) {
  const auto found = recognized_file(read_text(text, file), data_root());
  return found ? told_format(*found) : "nothing";
}

// The door, or what is known of the format where there is none.
std::string door_of(const std::string& text, const std::string& file) {
  const auto found = recognized_file(read_text(text, file), data_root());
  return !found ? "nothing" : found->format.door.empty() ? found->format.name : found->format.door;
}

TEST_CASE("a file of data is known by its keys, whatever it is called", "[unit]") {
  CHECK(told("pipe_parallel_size: 4\nnum_layers: 44\nnum_attention_heads: 8\n", "20B.yml") ==
        "a configuration of GPT-NeoX, by its 'pipe_parallel_size'");
  CHECK(door_of("{\"pipe-parallel-size\": 4}", "a") == "a configuration of GPT-NeoX");
  CHECK(door_of("actor_rollout_ref: {model: {path: x}}\n", "a.yaml") == "a configuration of verl");
  CHECK(door_of("parallelism: {pp_engine: 1f1b}\n", "a.yaml") == "a configuration of nanotron");
  CHECK(door_of("{\"distributed\": {\"tp_size\": 2}}", "config.json") ==
        "a configuration of picotron");
  CHECK(door_of("model: {_component_: torchtune.models.x}\n", "a.yaml") ==
        "a configuration of torchtune");
  CHECK(door_of("device_train_microbatch_size: 8\n", "a.yaml") == "a configuration of LLM-Foundry");
  CHECK(door_of("model: {mlp_ratio: 8}\n", "a.yaml") == "a configuration of OLMo");
  CHECK(door_of("resources: {accelerators: H100:8}\nrun: |\n  torchrun\n", "sky.yaml") ==
        "a description of SkyPilot");
}

TEST_CASE("what is read goes to the framework that reads it", "[unit]") {
  CHECK(door_of("base_config: base.yml\n", "a.yml") == "maxtext");
  CHECK(door_of("modules: {pre_trainer: {framework: megatron}}\n", "a.yaml") == "primus");
  CHECK(door_of("language_model: {num_layers: 2}\n", "a.yaml") == "megatron");
  CHECK(door_of("MODEL_ARGS: {--num-layers: 2}\n", "a.yaml") == "megatron");
  CHECK(door_of("[training]\nseq_len = 8\n", "a.toml") == "torchtitan");
  CHECK(door_of("[training]\nseq_len = 8\n", "a") == "torchtitan");
  CHECK(door_of("{\"model_type\": \"llama\", \"hidden_size\": 8}", "config.json") == "hf");
  CHECK(door_of("{\"zero_optimization\": {\"stage\": 3}}", "ds.json") == "deepspeed");
  CHECK(door_of("base_model: x\nsequence_len: 8\n", "a.yaml") == "axolotl");
  CHECK(door_of("from torchtitan.trainer import Trainer\n", "a.py") == "torchtitan");
  CHECK(door_of("from megatron.bridge.training import x\n", "a.py") == "megatron_bridge");
}

TEST_CASE("scripts are known by what they run, and not by their comments", "[unit]") {
  const std::string begin = "#!/bin/bash\n#SBATCH -N 4\n# as MaxText.train does\n";
  CHECK(door_of(begin + "srun python -m MaxText.train base.yml\n", "a.sh") == "maxtext");
  CHECK(door_of(begin + "torchrun pretrain_gpt.py --num-layers 2\n", "a.sh") == "megatron");
  CHECK(door_of(begin + "torchrun -m torchtitan.train --job.config_file a.toml\n", "a.sh") ==
        "torchtitan");
  CHECK(door_of(begin + "python deepy.py train.py 20B.yml\n", "a.sh") == "a script of GPT-NeoX");
  CHECK(door_of(begin + "python -m verl.trainer.main_ppo data.x=1\n", "a.sh") ==
        "a script of verl");
  CHECK(door_of(begin + "tune run lora --config a.yaml\n", "a.sh") == "a script of torchtune");
  CHECK(door_of(begin + "echo done\n", "a.sh") == "nothing");
}

TEST_CASE("a text that is nearly data is known by the keys of its lines", "[unit]") {
  CHECK(door_of("apiVersion: v1\nkind: Job\n---\nkind: Job\n", "a.yaml") ==
        "a description of Kubernetes");
  CHECK(door_of("base: &a {x: 1}\nMODEL_ARGS: *a\n", "a.yaml") == "megatron");
  CHECK(door_of("{\"model_type\": \"llama\",\n \"hidden_size\": Infinity}", "a.json") == "hf");
  CHECK(door_of("[]\n", "a.yaml") == "nothing");
}

TEST_CASE("an experiment is known as one, which needs no import", "[unit]") {
  const auto found = recognized_file(
      read_text("model: x\ncluster: {gpu: y}\ntraining: {dtype: bf16}\n", "a.yaml"), data_root());
  REQUIRE(found);
  CHECK(found->format.is_experiment);
  CHECK(found->where.line == 3);
}

TEST_CASE("every door of a format is a framework that is imported", "[unit]") {
  std::set<std::string> doors = {"hf"};
  for (const FrameworkInfo& framework : frameworks()) {
    doors.emplace(framework.name);
  }
  std::set<std::string> names;
  for (const FileFormat& format :
       read_file_formats(load_config(data_root().folder / "configs/frameworks/formats.yaml"))) {
    INFO(format.name);
    CHECK((format.door.empty() || doors.contains(format.door)));
    CHECK(names.insert(format.name).second);
  }
}

TEST_CASE("a row of formats without signs, or without what to do, is refused", "[unit]") {
  const auto problem = [](const std::string& row) {
    return config_error(
        [&] { (void)read_file_formats(parse_config("formats:\n  - " + row, "mine.yaml")); });
  };
  CHECK_THAT(problem("{name: x, door: y}\n"), contains_text("by which a file is known"));
  CHECK_THAT(problem("{name: x, keys: [a]}\n"), contains_text("either 'door'"));
  CHECK_THAT(problem("{name: x, keys: [a], door: y, form: text}\n"),
             contains_text("give one of: data, toml, script, python"));
}

}  // namespace
}  // namespace stepcast::file_formats_test
