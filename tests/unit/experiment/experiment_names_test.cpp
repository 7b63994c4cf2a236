// SPDX-License-Identifier: Apache-2.0
// How an experiment may name its model, its cluster and its number of GPUs.
#include "catch.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "sweep_text.hpp"

namespace stepcast::experiment_names_test {
namespace {

using test::contains_text;

Experiment read(const std::string& model, const std::string& cluster) {
  return read_experiment(
      parse_config("model: " + model + "\ncluster: {" + cluster +
                       "}\ntraining: {sequence_length: 4096, global_batch_size: 64}\n",
                   "test.yaml"),
      {}, test::data_root());
}

std::string problem(const std::string& cluster) {
  try {
    read("llama3.1_8b", cluster);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("A model is known by its repository on huggingface.co, in any case", "[unit]") {
  const Experiment one = read("meta-llama/Llama-3.1-8B", "gpu: h100_sxm");
  CHECK(one.model.name == "llama3.1_8b");
  CHECK(one.named.model == "llama3.1_8b");
  CHECK(read("qwen/qwen3-30b-a3b", "gpu: h100_sxm").model.name == "qwen3_30b_a3b");
  CHECK_THROWS_AS(read("meta-llama/Llama-9", "gpu: h100_sxm"), ConfigError);
}

TEST_CASE("Every repository that is known is one of a model that ships", "[unit]") {
  const ConfigNode names = load_config(test::data_root().hugging_face());
  REQUIRE(names.entries.size() > 40);
  for (const ConfigEntry& entry : names.entries) {
    CAPTURE(entry.key);
    CHECK(file_named(test::data_root().models(), entry.value.text));
  }
}

TEST_CASE("A number of GPUs is whole nodes, or some of the GPUs of one", "[unit]") {
  const Experiment sixteen = read("llama3.1_8b", "gpu: h100_sxm, gpus: 16");
  CHECK(sixteen.cluster.nodes == 2);
  CHECK(sixteen.cluster.gpus_per_node == 8);
  const Experiment three = read("llama3.1_8b", "gpu: h100_sxm, gpus: 3");
  CHECK(three.cluster.nodes == 1);
  CHECK(three.cluster.gpus() == 3);
  CHECK_THAT(problem("gpu: h100_sxm, gpus: 12"),
             contains_text("no whole nodes of 8; give 8 or 16"));
  CHECK_THAT(problem("gpu: h100_sxm, gpus: 8, nodes: 1"), contains_text("leave one of them out"));
}

TEST_CASE("A cluster may be a file", "[unit]") {
  const std::string file = (test::data_root().clusters() / "a100_4nic_200g.yaml").string();
  const Experiment own = read("llama3.1_8b", "name: " + file + ", nodes: 2");
  const Experiment shipped = read("llama3.1_8b", "name: a100_4nic_200g, nodes: 2");
  CHECK(own.cluster.device.name == shipped.cluster.device.name);
  CHECK(own.cluster.device.scale_out.nics_per_gpu == shipped.cluster.device.scale_out.nics_per_gpu);
}

}  // namespace stepcast::experiment_names_test
