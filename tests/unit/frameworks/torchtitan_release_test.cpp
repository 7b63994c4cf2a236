// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast::torchtitan_release_test {
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

const std::string kLlama = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";

// --- which torchtitan a file is of ---------------------------------------------------------------

std::string set_of(const ImportedExperiment& job) {
  const ConfigNode* node = job.experiment.find("software");
  const ConfigNode* base = node == nullptr ? nullptr : node->find("base");
  return base != nullptr ? base->text : node == nullptr ? "" : node->text;
}

ImportedExperiment released(const std::string& text, const std::string& release) {
  ImportInput input = input_of(text);
  input.release = release;
  return import_torchtitan(input);
}

const std::string kCompiled = "[compile]\nenable = true\n";

TEST_CASE("the keys of a job config say of which time it is", "[unit]") {
  const auto set = [](const std::string& keys) { return set_of(imported(kLlama + keys)); };
  // A TOML file without any is of the last ones.
  CHECK(set("") == "torchtitan_eager");
  CHECK(set(kCompiled) == "torchtitan");
  // training.compile was given up on 2025-08-20, nine days before the set of September holds.
  CHECK(set("[training]\nlocal_batch_size = 2\ncompile = true\n") == "torchtitan_2025_09");
  CHECK(set("[training]\nbatch_size = 2\ncompile = true\n"
            "[experimental]\ncontext_parallel_degree = 1\n") == "torchtitan_2024");
  CHECK(set(kCompiled + "[parallelism]\nexpert_parallel_comm_backend = \"standard\"\n") ==
        "torchtitan");
  // Keys that no time has together leave the time of the form.
  CHECK(set("[training]\nbatch_size = 2\n" + kCompiled) == "torchtitan");
}

TEST_CASE("an import says which set it took, why, and which it could be", "[unit]") {
  const std::string said = remarks_text(imported(kLlama + kCompiled), "job.toml");
  CHECK_THAT(said, contains_text("assumed: software torchtitan: the file is of 2025-08-20 to "
                                 "2026-02-23, by compile.enable"));
  CHECK_THAT(said, contains_text("--release may also be 2025-09"));
  const std::string near = remarks_text(
      imported(kLlama + "[training]\nlocal_batch_size = 2\ncompile = true\n"), "job.toml");
  CHECK_THAT(near, contains_text("the file is of 2025-06-05 to 2025-08-20, by "
                                 "training.local_batch_size and training.compile"));
  CHECK_THAT(near, contains_text("the nearest set: its memory.recompute_stops_early is of "
                                 "2025-08-29, after the file"));
}

TEST_CASE("--release and --software count before what a file's form says", "[unit]") {
  const std::string job = kLlama + kCompiled;
  CHECK(set_of(released(job, "2026-03")) == "torchtitan_2026_03");
  CHECK(set_of(released(job, "2025-09-30")) == "torchtitan_2025_09");
  CHECK_THAT(remarks_text(released(job, "2026-03"), "job.toml"),
             contains_text("assumed: software torchtitan_2026_03: by --release"));
  CHECK_THAT(config_error([&] { released(job, "0.2"); }),
             contains_text("--release: error: must be a month such as 2026-03"));
  ImportInput input = input_of(job);
  input.software = "torchtitan_2024";
  const ImportedExperiment given = import_torchtitan(input);
  CHECK(set_of(given) == "torchtitan_2024");
  CHECK(remarks_text(given, "job.toml").find("the file is of") == std::string::npos);
}

// --- recipes in Python, February to August 2026 --------------------------------------------------

// A registry as torchtitan had them in March 2026.
std::string march(const std::string& inside, const std::string& flavor = "8B") {
  return "def llama3_8b() -> Trainer.Config:\n    return Trainer.Config(\n        model_spec="
         "model_registry(\"" +
         flavor +
         "\"),\n        optimizer=OptimizersContainer.Config(lr=3e-4),\n        "
         "training=TrainingConfig(local_batch_size=2, seq_len=4096, steps=1000),\n" +
         inside + "    )\n";
}

ImportedExperiment recipe_of(const std::string& text, std::vector<std::string> overrides = {}) {
  ImportInput input = input_of(text, std::move(overrides));
  input.file = "registry.py";
  return import_torchtitan(input);
}

TEST_CASE("a recipe of March 2026 counts sequences and names its checkpointing by a mode",
          "[unit]") {
  const ImportedExperiment job = recipe_of(
      march("        activation_checkpoint=ActivationCheckpointConfig(mode=\"selective\", "
            "selective_ac_option=\"op\"),\n        compile=CompileConfig(enable=True),\n"));
  CHECK(part(job, "model") == "llama3.1_8b");
  // 2 sequences on each of 64 ranks.
  CHECK(part(job, "training") ==
        "{sequence_length: 4096, micro_batch_size: 2, global_batch_size: 128, dtype: bf16, "
        "recompute: selective_op, optimizer: adamw}");
  CHECK(part(job, "software") == "torchtitan_2026_03");
  CHECK_THAT(remarks_text(job, "registry.py"),
             contains_text("of 2026-02-23 to 2026-03-23, by selective_ac_option"));
  const ImportedExperiment layers = recipe_of(
      march("        activation_checkpoint=ActivationCheckpointConfig(mode=\"selective\", "
            "selective_ac_option=\"16\"),\n"));
  CHECK_THAT(part(layers, "training"), contains_text("recompute_layers: [15, 31]"));
  CHECK(set_of(layers) == "torchtitan_eager_2026_03");
}

TEST_CASE("the classes of a recipe narrow its time", "[unit]") {
  const auto set = [](const std::string& inside) { return set_of(recipe_of(march(inside))); };
  CHECK(set("        activation_checkpoint=ActivationCheckpointConfig(mode=\"full\"),\n"
            "        compile=CompileConfig(enable=True),\n") == "torchtitan_2026_05");
  CHECK(set("        activation_checkpoint=FullAC.Config(),\n") == "torchtitan_eager_2026_08");
  const ImportedExperiment converted =
      recipe_of(march("        model_converters=ModelConvertersContainer.Config(converters=["
                      "Float8LinearConverter.Config(enable_fsdp_float8_all_gather=True)]),\n"
                      "        compile=CompileConfig(enable=True),\n"));
  CHECK_THAT(part(converted, "training"), contains_text("dtype: fp8,"));
  CHECK(set_of(converted) == "torchtitan_2026_05");
  // What stands in another function, or is imported, is of the same time.
  CHECK(set_of(recipe_of("from x import ModelConvertersContainer as selective_ac_option\n" +
                         march("        compile=CompileConfig(enable=True),\n"))) ==
        "torchtitan_2026_03");
}

TEST_CASE("graphs are captured by recipes since August 2026 alone", "[unit]") {
  CHECK_THAT(part(recipe_of(march("        activation_checkpoint=FullAC.Config(),\n")), "software"),
             !contains_text("cuda_graph"));
  const ImportedExperiment tokens = recipe_of(
      "def f() -> Trainer.Config:\n    return Trainer.Config(model_spec=model_registry(\"8B\"), "
      "training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=8192, "
      "max_context_length=4096))\n");
  CHECK(part(tokens, "software") == "{base: torchtitan_eager_2026_08, cuda_graph: true}");
}

TEST_CASE("a loss in chunks holds an eighth of the logits", "[unit]") {
  CHECK_THAT(part(recipe_of(march("        loss=ChunkedCELoss.Config(),\n")), "software"),
             contains_text("memory: {loss_chunks: 8}"));
  CHECK_THAT(
      part(recipe_of(march("        loss=ChunkedCELoss.Config(num_chunks=4),\n")), "software"),
      contains_text("memory: {loss_chunks: 4}"));
}

TEST_CASE("several functions of a recipe are listed, and one of them is chosen by its name",
          "[unit]") {
  const std::string two =
      march("") +
      "\ndef llama3_8b_flex() -> Trainer.Config:\n    config = llama3_8b()\n"
      "    config.model_spec = model_registry(\"8B_flex\")\n    return config\n";
  CHECK_THAT(config_error([&] { recipe_of(two); }),
             contains_text("has several configurations; add CONFIG=NAME with one of llama3_8b, "
                           "llama3_8b_flex"));
  CHECK_THAT(part(recipe_of(two, {"CONFIG=llama3_8b_flex"}), "software"),
             contains_text("attention: flex"));
  CHECK_THAT(config_error([&] { recipe_of(march("        taste=1,\n")); }),
             contains_text("'taste' is not known here"));
}

TEST_CASE("flavors, recipes and families name the kernel of attention", "[unit]") {
  const auto software = [](const std::string& flavor) {
    return part(imported("[model]\nname = \"llama3\"\nflavor = \"" + flavor + "\"\n"), "software");
  };
  CHECK(software("8B") == "torchtitan_eager");
  CHECK(software("8B_flex") == "{base: torchtitan_eager, attention: flex}");
  CHECK(software("8B_varlen") ==
        "{base: torchtitan_eager, attention: flash2, attention_library: {name: flash_attention}}");
  // DeepSeek's attention is FlexAttention by the set itself, whatever the flavor is called.
  for (const char* flavor : {"16B", "236B", "671B"}) {
    ImportInput input =
        input_of("[model]\nname = \"deepseek_v3\"\nflavor = \"" + std::string(flavor) + "\"\n");
    const ImportedExperiment job = import_torchtitan(input);
    CHECK(part(job, "software") == "torchtitan_eager");
    const Experiment read = read_experiment(job.experiment, {}, input.data);
    CHECK(read.software.attention_kernel() == AttentionKernel::kFlex);
    CHECK(read.software.keeps_documents_apart());
  }
}

// --- what trains in fp32 -------------------------------------------------------------------------

TEST_CASE("tensor or pipeline parallelism without FSDP is refused: it trains in fp32", "[unit]") {
  const std::string alone =
      kLlama + "[parallelism]\ndata_parallel_shard_degree = 1\ntensor_parallel_degree = 8\n";
  const auto on_one_node = [](const std::string& text, const std::string& release) {
    ImportInput input = input_of(text);
    input.nodes = 1;
    input.release = release;
    return input;
  };
  CHECK_THAT(config_error([&] { import_torchtitan(on_one_node(alone, "")); }),
             contains_text("job.toml:6:26: error: 'parallelism.tensor_parallel_degree' without "
                           "FSDP makes torchtitan train in fp32"));
  CHECK_THAT(config_error([&] { import_torchtitan(on_one_node(alone, "2026-03")); }),
             contains_text("give parallelism.data_parallel_shard_degree above 1"));
  // Since 2026-04-09 parameters are sharded over one rank as well, which casts them.
  const ImportedExperiment later = import_torchtitan(on_one_node(alone, "2026-05"));
  CHECK(part(later, "plan") == "{tp: 8, pp: 1, zero: 0}");
  CHECK(part(later, "software") == "torchtitan_eager_2026_05");
}

TEST_CASE("of a number of GPUs that nobody said the fewest have two shards", "[unit]") {
  ImportInput input = input_of(kLlama + "[parallelism]\ntensor_parallel_degree = 8\n");
  input.nodes.reset();
  const ImportedExperiment job = import_torchtitan(input);
  CHECK(part(job, "plan") == "{tp: 8, pp: 1, fsdp: 2}");
  CHECK(part(job, "cluster") == "{gpu: h100_sxm, nodes: 2}");
  CHECK_THAT(remarks_text(job, "job.toml"), contains_text("whole nodes with two shards"));
}

TEST_CASE("one rank by itself trains under autocast, and in fp32 before June 2025", "[unit]") {
  ImportInput input = input_of(kLlama + "[parallelism]\ndata_parallel_shard_degree = 1\n");
  input.nodes.reset();
  const ImportedExperiment job = import_torchtitan(input);
  CHECK(part(job, "plan") == "{tp: 1, pp: 1, zero: 0}");
  CHECK_THAT(remarks_text(job, "job.toml"), contains_text("without FSDP by autocast"));
  input.release = "2025-01";
  CHECK_THAT(config_error([&] { import_torchtitan(input); }), contains_text("train in fp32"));
}

TEST_CASE("gradients that are reduced in 16 bits are carried", "[unit]") {
  CHECK_THAT(
      part(imported(kLlama + "[training]\nmixed_precision_reduce = \"bfloat16\"\n"), "software"),
      contains_text("gradient_reduce: bf16"));
}

}  // namespace
}  // namespace stepcast::torchtitan_release_test
