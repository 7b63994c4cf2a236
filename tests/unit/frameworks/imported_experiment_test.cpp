// SPDX-License-Identifier: Apache-2.0
#include "frameworks/imported_experiment.hpp"

#include "catch.hpp"
#include "frameworks/known_model.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast::imported_experiment_test {
namespace {

const DataRoot kData{STEPCAST_DATA_ROOT};

FrameworkExperiment llama_on_16_gpus() {
  FrameworkExperiment parts;
  parts.model = load_named_model("llama3.1_70b", kData, {});
  parts.model->name = "imported";
  parts.training = parse_config("{sequence_length: 8192, global_batch_size: 128}", "training");
  parts.plan = parse_config("{tp: 8}", "plan");
  parts.software = "megatron";
  parts.gpu = "h100_sxm";
  parts.gpus = 16;
  return parts;
}

ImportInput input_with(const std::string& text) {
  ImportInput input;
  input.text = text;
  input.data = kData;
  return input;
}

TEST_CASE("a model with the shape of a shipped one gets its name", "[unit]") {
  const ModelSpec model = *llama_on_16_gpus().model;
  CHECK(known_model(model, "", kData) == "llama3.1_70b");
  CHECK(known_model(model, "llama3_70b", kData) == "llama3_70b");
  CHECK(known_model(model, "llama2_7b", kData) == "llama3.1_70b");
  ModelSpec wider = model;
  wider.hidden *= 3;
  CHECK(known_model(wider, "", kData).empty());
}

TEST_CASE("nodes follow from the GPUs of the job and those of a node", "[unit]") {
  FrameworkExperiment parts = llama_on_16_gpus();
  const ImportedExperiment imported = assembled(parts, input_with(""));
  CHECK(to_flow_yaml(*imported.experiment.find("cluster")) == "{gpu: h100_sxm, nodes: 2}");
  parts.gpus_per_node = 4;
  const ImportedExperiment fours = assembled(parts, input_with(""));
  CHECK(to_flow_yaml(*fours.experiment.find("cluster")) ==
        "{gpu: h100_sxm, nodes: 4, gpus_per_node: 4}");
}

TEST_CASE("without a number of GPUs the fewest that the plan needs are assumed, and said",
          "[unit]") {
  FrameworkExperiment parts = llama_on_16_gpus();
  parts.gpus.reset();
  parts.plan = parse_config("{tp: 8, pp: 3}", "plan");
  const ImportedExperiment imported = assembled(parts, input_with(""));
  CHECK(to_flow_yaml(*imported.experiment.find("cluster")) == "{gpu: h100_sxm, nodes: 3}");
  CHECK(count_of(imported.remarks, ImportOutcome::kAssumed) == 1);
}

TEST_CASE("without a GPU there is no cluster, and a remark says so", "[unit]") {
  FrameworkExperiment parts = llama_on_16_gpus();
  parts.gpu.clear();
  const ImportedExperiment imported = assembled(parts, input_with(""));
  CHECK(imported.experiment.find("cluster") == nullptr);
  CHECK(remarks_text(imported, "train.sh") ==
        "from train.sh: 1 keys assumed\n"
        "assumed: cluster not stated: give --gpu and --nodes, here or to the command that takes "
        "this file\n");
}

TEST_CASE("lines that an export left are taken as --set takes them", "[unit]") {
  const std::string text =
      "#!/bin/bash\n# stepcast: software=nemo\n# stepcast: plan.schedule=1f1b\r\n"
      "echo '# stepcast: plan.tp=4'\n";
  CHECK(kept_assignments(text) == std::vector<std::string>{"software=nemo", "plan.schedule=1f1b"});
  const ImportedExperiment imported = assembled(llama_on_16_gpus(), input_with(text));
  CHECK(imported.experiment.find("software")->text == "nemo");
  CHECK(to_flow_yaml(*imported.experiment.find("plan")) == "{tp: 8, schedule: 1f1b}");
}

TEST_CASE("a kept name of a model counts only where the file still has its shape", "[unit]") {
  const std::string text = "# stepcast: model=llama3_70b\n";
  FrameworkExperiment parts = llama_on_16_gpus();
  CHECK(assembled(parts, input_with(text)).experiment.find("model")->text == "llama3_70b");
  parts.model->layers = 79;
  CHECK(assembled(parts, input_with(text)).experiment.find("model")->kind ==
        ConfigNode::Kind::kMapping);
}

TEST_CASE("an imported experiment reads back from its own text", "[unit]") {
  const ImportedExperiment imported = assembled(llama_on_16_gpus(), input_with(""));
  const ConfigNode root = parse_config(to_yaml(imported, "train.sh"), "imported");
  const Experiment experiment = read_experiment(root, {}, kData);
  CHECK(experiment.model.name == "llama3.1_70b");
  CHECK(experiment.cluster.gpus() == 16);
  CHECK(experiment.plan.tp == 8);
}

}  // namespace
}  // namespace stepcast::imported_experiment_test
