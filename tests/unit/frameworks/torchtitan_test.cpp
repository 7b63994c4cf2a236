// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan.hpp"

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "frameworks/torchtitan_pipeline.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "text_file.hpp"

namespace stepcast::torchtitan_test {
namespace {

using test::config_error;
using test::contains_text;

const std::filesystem::path kRoot = STEPCAST_DATA_ROOT;

ImportInput input_of(const std::string& text, std::vector<std::string> overrides = {}) {
  ImportInput input;
  input.text = text;
  input.file = "job.toml";
  input.overrides = std::move(overrides);
  input.gpu = "h100_sxm";
  input.nodes = 8;
  input.data = {kRoot};
  return input;
}

ImportInput shipped(const std::string& name, std::vector<std::string> overrides = {}) {
  const std::filesystem::path file = kRoot / "tests/data/torchtitan" / name;
  ImportInput input = input_of(read_file(file), std::move(overrides));
  input.file = name;
  input.folder = file.parent_path();
  return input;
}

ImportedExperiment imported(const std::string& text, std::vector<std::string> overrides = {}) {
  return import_torchtitan(input_of(text, std::move(overrides)));
}

// A part of the experiment on one line, without what text is quoted.
std::string part(const ImportedExperiment& imported, const std::string& key) {
  const ConfigNode* node = imported.experiment.find(key);
  std::string text = node == nullptr ? "" : to_flow_yaml(*node);
  std::erase(text, '"');
  return text;
}

std::string fault_of(const std::string& text, std::vector<std::string> overrides = {}) {
  return config_error([&] { imported(text, std::move(overrides)); });
}

const std::string kLlama = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";

TEST_CASE("a job config without degrees shards over all GPUs", "[unit]") {
  const ImportedExperiment job = imported(kLlama);
  CHECK(part(job, "model") == "llama3.1_8b");
  CHECK(part(job, "plan") == "{tp: 1, pp: 1, fsdp: 64}");
  // 8 sequences on each of 64 ranks; every second layer is recomputed.
  CHECK_THAT(part(job, "training"),
             contains_text("sequence_length: 2048, micro_batch_size: 8, global_batch_size: 512"));
  CHECK_THAT(part(job, "training"), contains_text("recompute_layers: [1, 3, 5"));
  CHECK(part(job, "software") == "torchtitan_eager");
}

TEST_CASE("the GPUs that -1 leaves are shared by the other degrees", "[unit]") {
  const std::string degrees =
      kLlama +
      "[parallelism]\ntensor_parallel_degree = 4\ncontext_parallel_degree = 2\n"
      "data_parallel_replicate_degree = 2\n";
  // 64 / (4 * 2 * 2) = 4 shards, spread over context parallelism as well.
  CHECK(part(imported(degrees), "plan") ==
        "{tp: 4, pp: 1, cp: 2, hsdp: 8, cp_algorithm: all_gather}");
  CHECK_THAT(part(imported(degrees), "training"), contains_text("global_batch_size: 64"));
  CHECK_THAT(fault_of(kLlama + "[parallelism]\ntensor_parallel_degree = 3\n"),
             contains_text("what is left of 64 GPUs, which the other degrees, 3, do not divide"));
}

TEST_CASE("without --nodes the fewest whole nodes are assumed, and said so", "[unit]") {
  ImportInput input = input_of(kLlama + "[parallelism]\ntensor_parallel_degree = 2\n");
  input.nodes.reset();
  const ImportedExperiment job = import_torchtitan(input);
  CHECK(part(job, "cluster") == "{gpu: h100_sxm, nodes: 1}");
  CHECK_THAT(remarks_text(job, "job.toml"), contains_text("assumed: cluster.gpus 8"));
}

TEST_CASE("a pipeline's micro-batches divide the local batch", "[unit]") {
  const std::string pipeline =
      kLlama +
      "[training]\nlocal_batch_size = 16\n[parallelism]\npipeline_parallel_degree = 4\n"
      "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_microbatch_size = 2\n";
  const ImportedExperiment job = imported(pipeline);
  CHECK_THAT(part(job, "training"), contains_text("micro_batch_size: 2, global_batch_size: 256"));
  // 32 layers and two slots on 8 stages: 5, 5, 4, ... and one less at both ends.
  CHECK(part(job, "plan") ==
        "{tp: 1, pp: 4, vpp: 2, stage_layout: [4, 5, 4, 4, 4, 4, 4, 3], fsdp: 16}");
  CHECK_THAT(fault_of(pipeline, {"parallelism.pipeline_parallel_schedule=Magic"}),
             contains_text("is 'Magic'; supported are 1F1B"));
  CHECK_THAT(fault_of(pipeline, {"parallelism.pipeline_parallel_schedule=1F1B",
                                 "parallelism.pipeline_parallel_layers_per_stage=5"}),
             contains_text("makes 7 stages for 4 ranks; 1F1B needs one of them a rank"));
}

TEST_CASE("torchtitan deals layers out as its own function does", "[unit]") {
  // Its example: 3 layers on 2 stages, embedding and head worth two layers each.
  CHECK(torchtitan_stage_layers(2, 3, {2, 2, 0}) == std::vector<std::int64_t>{2, 1});
  CHECK(torchtitan_stage_layers(4, 48, {}) == std::vector<std::int64_t>{12, 13, 12, 11});
  CHECK(torchtitan_stage_layers(8, 4, {}).empty());
  CHECK(torchtitan_stages({1, 1, 4}, 61) == 16);
  const auto split = torchtitan_split({8, 8, 8, 8, 8, 8, 8, 5}, StageCount::kUsual);
  REQUIRE(split);
  CHECK(torchtitan_stage_layers(8, 61, *split) ==
        std::vector<std::int64_t>{8, 8, 8, 8, 8, 8, 8, 5});
  CHECK_FALSE(torchtitan_split({1, 9, 1, 9}, StageCount::kUsual));
}

TEST_CASE("activation checkpointing is recomputation", "[unit]") {
  const auto recompute = [](const std::string& keys) {
    const std::string training =
        part(imported(kLlama + "[activation_checkpoint]\n" + keys), "training");
    return training.substr(training.find("recompute"));
  };
  CHECK(recompute("mode = 'none'\n") == "recompute: none, optimizer: adamw}");
  CHECK(recompute("mode = 'full'\n") == "recompute: full, optimizer: adamw}");
  CHECK(recompute("mode = 'selective'\nselective_ac_option = 'op'\n") ==
        "recompute: selective_op, optimizer: adamw}");
  CHECK(recompute("mode = 'selective'\nselective_ac_option = '16'\n") ==
        "recompute: full, recompute_layers: [15, 31], optimizer: adamw}");
  CHECK(recompute("mode = 'memory_budget'\nmemory_budget = 0.25\n") ==
        "recompute: memory_budget, memory_budget: 0.25, optimizer: adamw}");
  CHECK_THAT(fault_of(kLlama + "[activation_checkpoint]\nmode = 'some'\n"),
             contains_text("'activation_checkpoint.mode' is 'some'"));
}

TEST_CASE("converters and compile decide formats and the software set", "[unit]") {
  const std::string fp8 = R"([compile]
enable = true
[quantize.linear.float8]
recipe_name = "rowwise_with_gw_hp"
enable_fsdp_float8_all_gather = true
)";
  const ImportedExperiment job =
      imported("[model]\nname = \"llama3\"\nflavor = \"8B\"\nconverters = [\"float8\"]\n" + fp8);
  CHECK_THAT(part(job, "training"), contains_text("dtype: fp8,"));
  CHECK(part(job, "software") == "torchtitan");
  CHECK(count_of(job.remarks, ImportOutcome::kNotCarried) == 2);
  const ImportedExperiment loss =
      imported(kLlama + "[compile]\nenable = true\ncomponents = [\"loss\"]\n");
  CHECK(part(loss, "software") == "{base: torchtitan_eager, cross_entropy: compiled}");
}

TEST_CASE("experts take their ranks, backend and routing", "[unit]") {
  const std::string experts = R"([model]
name = "deepseek_v3"
flavor = "671B"
[parallelism]
expert_parallel_degree = 32
expert_parallel_comm_backend = "deepep"
[debug]
moe_force_load_balance = true
)";
  const ImportedExperiment job = imported(experts);
  CHECK(part(job, "plan") == "{tp: 1, pp: 1, ep: 32, fsdp: 64, dispatcher: deepep}");
  CHECK(part(job, "expert_exchange") == "{routing: round_robin_forced}");
  CHECK_THAT(part(job, "model"), contains_text("name: deepseek_v3_without_mtp"));
}

TEST_CASE("torchtitan's keys that are wrong or not known are errors with a place", "[unit]") {
  CHECK_THAT(
      fault_of("[model]\nname = \"llama3\"\nflavor = \"80B\"\n"),
      contains_text("job.toml:3:10: error: 'model.flavor' is '80B' of 'llama3', which is not "
                    "known here; known are 1B, 3B, 8B"));
  CHECK_THAT(fault_of(kLlama + "[parallelism]\ntensor_paralel_degree = 8\n"),
             contains_text("did you mean 'parallelism.tensor_parallel_degree'?"));
  CHECK_THAT(fault_of("[model\n"), contains_text("job.toml:1:7: error: is no TOML"));
  CHECK_THAT(fault_of(kLlama, {"tp"}), contains_text("'tp' is no KEY=VALUE"));
  ImportInput lenient = input_of(kLlama + "[x]\ny = 1\n");
  lenient.unknown = UnknownSettings::kRemarked;
  CHECK(count_of(import_torchtitan(lenient).remarks, ImportOutcome::kNotCarried) == 1);
}

// Of carried, defaulted and not carried keys, as each of torchtitan's own files has them on 128
// GPUs.
TEST_CASE("torchtitan's own job configs are read to the last key", "[unit]") {
  struct Case {
    const char* file;
    std::size_t carried;
    std::size_t defaulted;
    std::size_t left_out;
    const char* plan;
  };
  const auto row = GENERATE(
      Case{"llama3_8b.toml", 14, 3, 0, "{tp: 1, pp: 1, fsdp: 128}"},
      Case{"llama3_70b.toml", 13, 3, 0, "{tp: 8, pp: 1, fsdp: 16}"},
      Case{"llama3_405b.toml", 15, 3, 1, "{tp: 8, pp: 1, fsdp: 16}"},
      Case{"llama3_405b_2024.toml", 14, 3, 1, "{tp: 8, pp: 1, fsdp: 16}"},
      Case{"llama4_17bx16e.toml", 16, 2, 0, "{tp: 8, pp: 1, ep: 1, etp: 8, fsdp: 16}"},
      Case{"llama4_17bx128e.toml", 16, 6, 0,
           "{tp: 8, pp: 4, vpp: 1, stage_layout: [12, 13, 12, 11], ep: 1, etp: 8, fsdp: 4}"},
      Case{"deepseek_v3_16b.toml", 17, 2, 0, "{tp: 1, pp: 1, ep: 8, fsdp: 128}"},
      Case{"deepseek_v3_671b.toml", 17, 2, 0, "{tp: 1, pp: 1, ep: 1, fsdp: 128}"},
      Case{"qwen3_32b.toml", 13, 3, 0, "{tp: 1, pp: 1, fsdp: 128}"});
  CAPTURE(row.file);
  ImportInput input = shipped(row.file);
  input.nodes = 16;
  const ImportedExperiment job = import_torchtitan(input);
  CHECK(part(job, "plan") == row.plan);
  CHECK(count_of(job.remarks, ImportOutcome::kCarried) == row.carried);
  CHECK(count_of(job.remarks, ImportOutcome::kDefaulted) == row.defaulted);
  CHECK(count_of(job.remarks, ImportOutcome::kNotCarried) == row.left_out);
}

TEST_CASE("a script that launches torchtitan names its job config, and changes it", "[unit]") {
  const std::filesystem::path folder = test::scratch_path("torchtitan_launch");
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "llama3_70b.toml")
      << "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nlocal_batch_size = 2\n"
         "seq_len = 8192\n";
  ImportInput input;
  input.file = "run.sh";
  input.folder = folder;
  input.gpu = "h100_sxm";
  input.data = {kRoot};
  input.text =
      "#!/bin/bash\nCONFIG_FILE=${CONFIG_FILE:-./llama3_70b.toml}\n"
      "srun torchrun --nnodes 4 --nproc_per_node 8 -m torchtitan.train --job.config_file "
      "$CONFIG_FILE --parallelism.tensor_parallel_degree 8 --training.seq-len=4096\n";
  const ImportedExperiment run = import_torchtitan(input);
  CHECK(part(run, "model") == "llama3.1_70b");
  CHECK(part(run, "cluster") == "{gpu: h100_sxm, nodes: 4}");
  CHECK_THAT(part(run, "plan"), contains_text("tp: 8"));
  CHECK_THAT(part(run, "training"), contains_text("sequence_length: 4096"));
  const auto fault = [&] { return config_error([&] { (void)import_torchtitan(input); }); };
  input.overrides = {"CONFIG_FILE=other.toml"};
  CHECK_THAT(fault(), contains_text("the job config 'other.toml', which is not beside"));
  input.overrides.clear();
  input.text = "#!/bin/bash\n./run_train.sh --training.seq_len 4096\n";
  CHECK_THAT(fault(), contains_text("names no job config; give CONFIG_FILE=FILE.toml"));
  input.text = "#!/bin/bash\necho done\n";
  CHECK_THAT(fault(), contains_text("no command that runs torchtitan"));
}

TEST_CASE("Python recipes of torchtitan are read without running them", "[unit]") {
  const auto recipe = [](const std::string& file, std::vector<std::string> overrides) {
    return import_torchtitan(shipped(file, std::move(overrides)));
  };
  const ImportedExperiment dense = recipe("llama3_config_registry.py", {"CONFIG=llama3_405b"});
  CHECK(part(dense, "model") == "llama3.1_405b");
  // 2 * 8192 tokens of context 8192 are 2 sequences; 64 GPUs / tp 8.
  CHECK(part(dense, "training") ==
        "{sequence_length: 8192, micro_batch_size: 2, global_batch_size: 16, dtype: fp8, "
        "recompute: full, optimizer: adamw}");
  CHECK(part(dense, "plan") == "{tp: 8, pp: 1, fsdp: 8}");
  CHECK_THAT(part(dense, "software"),
             contains_text("base: torchtitan_2026_08, cuda_graph: true, async_tp: true"));
  // A function that changes what another returns, and arguments of the command line after it.
  const ImportedExperiment experts =
      recipe("deepseek_v3_config_registry.py",
             {"--config=deepseek_v3_16b_hybridep", "--parallelism.expert_parallel_degree=16"});
  CHECK(part(experts, "model") == "deepseek_v3_16b");
  CHECK(part(experts, "plan") == "{tp: 1, pp: 1, ep: 16, fsdp: 64, dispatcher: hybridep}");
  CHECK_THAT(config_error([&] { recipe("gpt_oss_config_registry.py", {}); }),
             contains_text("has several configurations; add CONFIG=NAME with one of"));
  CHECK_THAT(config_error([&] { recipe("gpt_oss_config_registry.py", {"CONFIG=gpt_oss_20"}); }),
             contains_text("has no function 'gpt_oss_20'; did you mean 'gpt_oss_20b'?"));
}

TEST_CASE(
    "a file without keys is no job of torchtitan, whose defaults would be a model to debug with",
    "[unit]") {
  CHECK_THROWS_WITH(import_torchtitan(input_of("# nothing\n")),
                    test::contains_text("the file has no key"));
}

TEST_CASE("a flavor that is called like a model that ships is said to be had by its name",
          "[unit]") {
  const std::string file = "[model]\nname = \"deepseek_v3\"\nflavor = \"";
  CHECK_THAT(fault_of(file + "kimi_k2\"\n"), contains_text("a line '# stepcast: model=kimi_k2'"));
  CHECK_THAT(fault_of(file + "mine\"\n"), contains_text("a line '# stepcast: model=NAME'"));
}

}  // namespace
}  // namespace stepcast::torchtitan_test
