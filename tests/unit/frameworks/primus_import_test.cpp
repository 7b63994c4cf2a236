// SPDX-License-Identifier: Apache-2.0
#include "frameworks/primus_import.hpp"

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "import_of.hpp"
#include "text_file.hpp"

namespace stepcast::primus_import_test {
namespace {

using namespace stepcast::test;

std::string experiment_of(const std::string& model, const std::string& overrides) {
  return "exp_name: ${NAME:x}\nmodules:\n  pre_trainer:\n    framework: megatron\n"
         "    config: pre_trainer.yaml\n    model: " +
         model + ".yaml\n    overrides:\n" + overrides;
}

ImportedExperiment imported(const std::string& model, const std::string& overrides,
                            std::vector<std::string> given = {}) {
  ImportInput input = input_of(experiment_of(model, overrides), "standard input", std::move(given));
  input.gpu = "mi300x";
  input.nodes = 1;
  return import_primus(input);
}

TEST_CASE("the model of a preset that is not beside the file is the shipped one", "[unit]") {
  const ImportedExperiment experiment = imported("llama3.1_8B", "      seq_length: 8192\n");
  CHECK(value_of(experiment, "model") == "llama3.1_8b");
  CHECK(value_of(experiment, "training.micro_batch_size") == "2");    // trainer_base.yaml
  CHECK(value_of(experiment, "training.global_batch_size") == "16");  // pre_trainer.yaml
  CHECK(value_of(experiment, "plan.zero") == "1");
}

TEST_CASE("what the command line says counts before the overrides", "[unit]") {
  const std::string overrides =
      "      seq_length: 4096\n      micro_batch_size: ${MBS:4}\n      global_batch_size: 32\n";
  CHECK(value_of(imported("llama3.1_8B", overrides, {"seq_length=2048"}),
                 "training.sequence_length") == "2048");
  CHECK(value_of(imported("llama3.1_8B", overrides), "training.micro_batch_size") == "4");
  CHECK(value_of(imported("llama3.1_8B", overrides, {"MBS=1"}), "training.micro_batch_size") ==
        "1");
}

TEST_CASE("Primus' own adapters are carried where they are enabled, and need not be there",
          "[unit]") {
  const auto tuned = [](const std::string& adapters, const std::string& model = "llama2_70B") {
    ImportInput input = input_of(
        "modules:\n  post_trainer:\n    framework: megatron\n    config: sft_trainer.yaml\n"
        "    model: " +
            model + ".yaml\n    overrides:\n      lora: " + adapters + "\n",
        "standard input");
    input.gpu = "mi300x";
    input.nodes = 1;
    return import_primus(input);
  };
  const ImportedExperiment some = tuned(
      "{enabled: true, dim: 16, alpha: 32, dropout: 0.1, target_modules: [linear_qkv, "
      "linear_proj]}");
  CHECK(value_of(some, "training.lora") == "{rank: 16, targets: [qkv, o], dropout: true}");
  CHECK(value_of(some, "training.sequence_length") == "2048");  // sft_trainer.yaml
  CHECK(value_of(tuned("{enabled: true}"), "training.lora") ==
        "{rank: 32, targets: [qkv, o, gate_up, down]}");
  CHECK(value_of(tuned("{enabled: false, dim: 16}"), "training.lora").empty());
  const ImportedExperiment latent = tuned("{enabled: true}", "deepseek_v2_lite");
  CHECK(value_of(latent, "training.lora.targets") == "[o, gate_up, down]");
  CHECK_THAT(remarks_text(latent, "x"), contains_text("not carried over: linear_qkv"));
}

TEST_CASE("a variable without a default is needed by its name", "[unit]") {
  const ImportInput input =
      input_of(experiment_of("llama3.1_8B", "      seq_length: ${SEQ}\n"), "x.yaml");
  CHECK_THAT(problems_of(import_primus, input), contains_text("needs the variable SEQ"));
}

TEST_CASE("presets build upon others by either word, and the file itself counts last", "[unit]") {
  const std::filesystem::path root = test::scratch_path("primus_presets");
  const std::filesystem::path models = root / "primus" / "configs" / "models" / "megatron";
  std::filesystem::create_directories(models);
  std::ofstream(models / "a.yaml") << "num_layers: 1\nhidden_size: 64\nswiglu: true\n";
  std::ofstream(models / "b.yaml") << "num_layers: 2\nnum_attention_heads: 4\n";
  std::ofstream(models / "c.yaml")
      << "bases:\n  - a.yaml\nextends: [b.yaml]\nvocab_size: 100\nposition_embedding_type: rope\n"
         "seq_length: 128\nmicro_batch_size: 1\nglobal_batch_size: 8\nbf16: true\n";
  ImportInput input = input_of(experiment_of("c", "      hidden_size: 128\n"), "x.yaml");
  input.folder = root;
  const ImportedExperiment experiment = import_primus(input);
  CHECK(value_of(experiment, "model.layers") == "2");
  CHECK(value_of(experiment, "model.hidden_size") == "128");
  std::filesystem::remove_all(root);
}

TEST_CASE("turbo's switches choose the software set and its changes", "[unit]") {
  CHECK(value_of(imported("llama3.1_8B", "      enable_primus_turbo: false\n"), "software.base") ==
        "primus_legacy");
  const ImportedExperiment turbo =
      imported("mixtral_8x7B_v0.1",
               "      expert_model_parallel_size: 8\n      enable_primus_turbo: true\n"
               "      use_turbo_attention: true\n      use_turbo_deepep: true\n"
               "      turbo_deepep_num_cu: 80\n");
  CHECK(value_of(turbo, "software.base") == "primus_turbo");
  CHECK(value_of(turbo, "plan.dispatcher") == "deepep");
  CHECK(value_of(turbo, "expert_exchange.num_sms") == "80");
}

TEST_CASE("layers to recompute are a list of their numbers", "[unit]") {
  CHECK(value_of(imported("llama3.1_8B",
                          "      recompute_granularity: full\n"
                          "      recompute_layer_ids: \"0,3,4\"\n"),
                 "training.recompute_layers") == "[0, 3, 4]");
}

TEST_CASE("forced routing is even, in turn, unless it is said to be uniform", "[unit]") {
  const std::string forced =
      "      expert_model_parallel_size: 8\n      moe_router_force_load_balancing: true\n";
  CHECK(value_of(imported("mixtral_8x7B_v0.1", forced), "expert_exchange.routing") ==
        "round_robin_forced");
  CHECK(value_of(imported("mixtral_8x7B_v0.1",
                          forced + "      moe_router_force_load_balancing_type: uniform\n"),
                 "expert_exchange.routing") == "uniform");
}

TEST_CASE("unknown models are refused by their names", "[unit]") {
  const ImportInput unknown = input_of(experiment_of("zebra_llama_1B", "      bf16: true\n"), "-");
  CHECK_THAT(problems_of(import_primus, unknown), contains_text("zebra_llama_1B"));
}

TEST_CASE("models of images that Primus trains by diffusion are refused", "[unit]") {
  const std::string sizes =
      "      num_layers: 2\n      hidden_size: 3072\n      num_attention_heads: 24\n";
  const ImportInput input =
      input_of(experiment_of("flux_535m", sizes + "      model_type: diffusion_model\n"), "a.yaml");
  CHECK_THAT(problems_of(import_primus, input), contains_text("images by diffusion"));
}

}  // namespace
}  // namespace stepcast::primus_import_test
