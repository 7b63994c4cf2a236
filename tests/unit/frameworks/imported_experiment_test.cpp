// SPDX-License-Identifier: Apache-2.0
#include "frameworks/imported_experiment.hpp"

#include "catch.hpp"
#include "frameworks/known_model.hpp"
#include "frameworks/megatron_import.hpp"
#include "import_of.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast::imported_experiment_test {
namespace {

using test::contains_text;
using test::input_of;
using test::problems_of;
using test::value_of;

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
        "from train.sh: 1 key assumed\n"
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

TEST_CASE("given nodes and a given set count before the lines that an export left", "[unit]") {
  ImportInput input = input_with("# stepcast: cluster.nodes=4\n# stepcast: software=nemo\n");
  FrameworkExperiment parts = llama_on_16_gpus();
  CHECK(to_flow_yaml(*assembled(parts, input).experiment.find("cluster")) ==
        "{gpu: h100_sxm, nodes: 4}");
  input.nodes = 3;
  input.software = "maxtext";
  const ImportedExperiment given = assembled(parts, input);
  CHECK(to_flow_yaml(*given.experiment.find("cluster")) == "{gpu: h100_sxm, nodes: 3}");
  CHECK(given.experiment.find("software")->text == "maxtext");
}

TEST_CASE("a given GPU takes the place of a kept cluster, and a remark says so", "[unit]") {
  ImportInput input = input_with("# stepcast: cluster.name=h100_rail_optimised\n");
  FrameworkExperiment parts = llama_on_16_gpus();
  parts.gpu.clear();
  CHECK(to_flow_yaml(*assembled(parts, input).experiment.find("cluster")) ==
        "{name: h100_rail_optimised, nodes: 2}");
  input.gpu = "mi300x";
  const ImportedExperiment given = assembled(parts, input);
  CHECK(to_flow_yaml(*given.experiment.find("cluster")) == "{gpu: mi300x, nodes: 2}");
  CHECK(remarks_text(given, "train.sh") ==
        "from train.sh: 1 key assumed\n"
        "assumed: cluster.gpu mi300x: instead of the cluster h100_rail_optimised that the file "
        "names\n");
}

TEST_CASE("a job of fewer GPUs than a node has runs on a node of as many", "[unit]") {
  FrameworkExperiment parts = llama_on_16_gpus();
  parts.gpus = 4;
  const ImportedExperiment imported = assembled(parts, input_with(""));
  CHECK(to_flow_yaml(*imported.experiment.find("cluster")) ==
        "{gpu: h100_sxm, nodes: 1, gpus_per_node: 4}");
  CHECK(imported.remarks.empty());
}

TEST_CASE("GPUs that fill no whole nodes are said", "[unit]") {
  FrameworkExperiment parts = llama_on_16_gpus();
  parts.gpus = 12;
  const ImportedExperiment imported = assembled(parts, input_with(""));
  CHECK(to_flow_yaml(*imported.experiment.find("cluster")) == "{gpu: h100_sxm, nodes: 2}");
  CHECK(remarks_text(imported, "train.sh") ==
        "from train.sh: 1 key assumed\n"
        "assumed: cluster.nodes 2: 12 GPUs fill no whole nodes of 8; all 16 are counted\n");
}

TEST_CASE("the GPUs of a usual node are those of the part's whole profile", "[unit]") {
  for (const std::string& name : names_in(kData.gpus())) {
    CAPTURE(name);
    CHECK(usual_gpus_per_node(name, kData, {}) == load_gpu(name, kData, {}).gpus_per_node);
  }
  CHECK(usual_gpus_per_node("gb200", kData, {}) == 4);
  CHECK_THAT(test::config_error([] { usual_gpus_per_node("h100_sxn", kData, {}); }),
             test::contains_text("did you mean 'h100_sxm'"));
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

constexpr std::string_view kLaunched =
    "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --bf16 "
    "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --vocab-size 32000 ";

ImportInput launched(const std::string& text) {
  ImportInput input = input_of(text, "run.sh");
  input.gpu = "h100_sxm";
  return input;
}

TEST_CASE("nodes of more GPUs than a fabric joins become as many GPUs in its own nodes", "[unit]") {
  const ImportedExperiment run = import_megatron(
      launched("torchrun --nproc_per_node 16 --nnodes 2 " + std::string(kLaunched)));
  CHECK(value_of(run, "cluster.nodes") == "4");
  CHECK_THAT(remarks_text(run, "run.sh"), contains_text("the file's nodes have 16"));
  ImportInput given = launched("torchrun --nproc_per_node 16 --nnodes 2 " + std::string(kLaunched));
  given.nodes = 8;
  CHECK(value_of(import_megatron(given), "cluster.nodes") == "8");
}

TEST_CASE("a command that trains something else is named, whatever else the script runs",
          "[unit]") {
  const std::string bert = "torchrun pretrain_bert.py --num-layers 24 --hidden-size 1024 --fp16\n";
  CHECK_THAT(problems_of(import_megatron, launched("python prepare.py --input x\n" + bert)),
             contains_text("trains BERT"));
  // A conversion beside the training has about as many arguments as it.
  const std::string convert = "python tools/convert.py --more 1 " + std::string(kLaunched);
  CHECK(value_of(import_megatron(launched(convert + "\ntorchrun --nproc_per_node 8 --nnodes 1 " +
                                          std::string(kLaunched))),
                 "model.layers") == "32");
}

}  // namespace
}  // namespace stepcast::imported_experiment_test
