// SPDX-License-Identifier: Apache-2.0
// What a framework cannot run is refused with the key in the way, its place and a remedy; what it
// has only the nearest word for is told.

#include "catch.hpp"
#include "frameworks/exported_file.hpp"
#include "frameworks/framework_table.hpp"
#include "sample_specs.hpp"
#include "text_file.hpp"

namespace stepcast::export_refusal_test {
namespace {

using namespace stepcast::test;

const FrameworkInfo& framework_named(std::string_view name) {
  for (const FrameworkInfo& framework : frameworks()) {
    if (framework.name == name) {
      return framework;
    }
  }
  throw InternalError("no such framework");
}

std::vector<ExportedFile> exports(const std::string& framework, const std::string& experiment) {
  return exported(framework_named(framework), parse_config(experiment, "mine.yaml"), {},
                  data_root());
}

std::string refusals(const std::string& framework, const std::string& experiment) {
  try {
    (void)exports(framework, experiment);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

std::string experiment_of(const std::string& model, const std::string& plan,
                          const std::string& training = {}) {
  return "model: " + model +
         "\ncluster: {gpu: h100_sxm, nodes: 8}\n"
         "training: {sequence_length: 4096, global_batch_size: 256" +
         training + "}\nplan: {" + plan + "}\n";
}

TEST_CASE("a schedule that a framework lacks is refused at its place, with those that it has",
          "[unit]") {
  const std::string dualpipe =
      experiment_of("deepseek_v3_16b", "pp: 2, ep: 8, schedule: dualpipe, stage_layout: balanced");
  CHECK_THAT(
      refusals("megatron", dualpipe),
      contains_text("mine.yaml:4:22: error: megatron cannot run 'plan.schedule' dualpipe: it "
                    "has no such pipeline schedule; take 1f1b or interleaved_1f1b"));
  CHECK_THAT(refusals("primus", dualpipe), contains_text("zbv"));
}

TEST_CASE("each key of a model in a file of its own is refused where that file says it", "[unit]") {
  const TextFile own(
      "own.yaml",
      "name: own\nhidden_size: 1024\nlayers: 8\nvocabulary: 32000\npositions: alibi\n"
      "norms_per_layer: 4\nattention: {heads: 8, qk_norm: full}\n"
      "mlp: {ffn_hidden: 4096}\n");
  const std::string told = refusals("megatron", experiment_of(own.path().string(), "tp: 1"));
  CHECK_THAT(told,
             contains_text("own.yaml:5:1: error: megatron cannot run 'model.positions' alibi"));
  CHECK_THAT(told,
             contains_text("own.yaml:6:1: error: megatron cannot run 'model.norms_per_layer' 4"));
  CHECK_THAT(told, contains_text("own.yaml:7:23: error: megatron cannot run "
                                 "'model.attention.qk_norm' full"));
  CHECK_THAT(told, contains_text("take head or none"));
}

TEST_CASE("a model that is called otherwise than a shipped one of its shape comes back as it is",
          "[unit]") {
  const TextFile same("same.yaml",  // of which an import alone would make llama3_8b
                      "name: mine\nhidden_size: 4096\nlayers: 32\nvocabulary: 128256\n"
                      "attention: {heads: 32, kv_heads: 8}\nmlp: {ffn_hidden: 14336}\n");
  const TextFile other("other.yaml",
                       "name: mine\nhidden_size: 4096\nlayers: 30\nvocabulary: 128256\n"
                       "attention: {heads: 32, kv_heads: 8}\nmlp: {ffn_hidden: 14336}\n");
  for (const TextFile* model : {&same, &other}) {
    for (const std::string framework : {"megatron", "primus", "torchtitan", "maxtext"}) {
      CAPTURE(framework);
      const std::string experiment = experiment_of(model->path().string(), "tp: 2");
      const std::string text = exports(framework, experiment).front().text;
      CHECK_THAT(text, contains_text("# stepcast: model.name=mine"));
    }
  }
}

TEST_CASE("an optimizer that a framework has one word for comes back with all of its keys",
          "[unit]") {
  const std::string experiment = experiment_of(
      "llama3_8b", "tp: 2", ", optimizer: {kind: adamw, moments: fp32, master: remainder}");
  for (const std::string framework : {"megatron", "primus", "torchtitan", "maxtext"}) {
    CAPTURE(framework);
    CHECK_FALSE(exports(framework, experiment).empty());
  }
}

TEST_CASE("full sharding and a set that nobody names come back", "[unit]") {
  for (const std::string framework : {"megatron", "primus", "torchtitan", "maxtext"}) {
    CAPTURE(framework);
    CHECK_FALSE(exports(framework, experiment_of("llama3_8b", "zero: 3")).empty());
  }
  CHECK_FALSE(exports("megatron_bridge", experiment_of("llama3_70b", "pp: 4, zero: 1")).empty());
}

TEST_CASE("adapters go to Primus and to recipes of Megatron Bridge, and to nobody else", "[unit]") {
  const std::string lora =
      experiment_of("llama3_70b", "tp: 8", ", lora: {rank: 16, targets: [qkv, o], dropout: true}");
  const std::string primus = exports("primus", lora).front().text;
  CHECK_THAT(primus, contains_text("post_trainer:"));
  CHECK_THAT(primus, contains_text("target_modules: [linear_qkv, linear_proj]"));
  CHECK_THAT(exports("megatron_bridge", lora).front().text, contains_text("peft.dim=16"));
  for (const std::string framework : {"megatron", "torchtitan", "maxtext"}) {
    CHECK_THAT(refusals(framework, lora),
               contains_text(framework + " cannot run 'training.lora': "));
  }
  // Adapters of gate alone stand beside a part of what frameworks make one product.
  const std::string gate =
      experiment_of("llama3_70b", "tp: 8", ", lora: {rank: 8, targets: [gate]}");
  CHECK_THAT(refusals("primus", gate), contains_text("'training.lora.targets' gate"));
}

TEST_CASE("what a file says otherwise is told beside it", "[unit]") {
  const std::vector<ExportedFile> files =
      exports("torchtitan", experiment_of("llama3_8b", "zero: 1, pp: 2, schedule: zb_h1"));
  const std::string told = told_of_export(files);
  CHECK_THAT(told, contains_text("train.toml: torchtitan has no ZeRO-1"));
  CHECK_THAT(told, contains_text("train.toml: torchtitan has no schedule zb_h1"));
  CHECK_THAT(told, contains_text("said by a comment alone: plan.schedule=zb_h1"));
  CHECK_THAT(told_of_export(exports("maxtext", experiment_of("mixtral_8x7b", "ep: 8, zero: 1"))),
             contains_text("over the ranks of experts and contexts; this is not ZeRO-1."));
}

TEST_CASE("MaxText's pipeline holds no dense layers before those with experts", "[unit]") {
  CHECK_THAT(
      refusals("maxtext", experiment_of("deepseek_v3", "pp: 8, ep: 8, stage_layout: balanced")),
      contains_text("'plan.pp' 8: its pipeline holds the layers with experts alone, not the 3 "
                    "before them; take 1"));
}

TEST_CASE("MaxText's stages are equal, and a refusal says which numbers divide the layers",
          "[unit]") {
  CHECK_THAT(
      refusals("maxtext", experiment_of("qwen3_30b_a3b", "pp: 32, stage_layout: balanced")),
      contains_text("'plan.pp' 32: its pipeline has the same number of layers in each stage, which "
                    "48 layers in 32 stages do not give; take pp * vpp of 1, 2, 3, 4, 6, 8"));
}

}  // namespace
}  // namespace stepcast::export_refusal_test
