// SPDX-License-Identifier: Apache-2.0
#include "frameworks/published_models.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast::published_models_test {
namespace {

using test::contains_text;

std::optional<ModelSpec> model_named(const std::string& name, Diagnostics& diagnostics) {
  ImportInput input;
  input.file = "run.yaml";
  input.data = test::data_root();
  FrameworkReader settings({}, diagnostics);
  return published_model(name, input, settings, "model_name_or_path");
}

std::string shipped_as(const std::string& name) {
  Diagnostics diagnostics;
  const std::optional<ModelSpec> model = model_named(name, diagnostics);
  return model ? model->name : std::string{};
}

struct Published {
  const char* name;
  std::int64_t parameters;  // of the safetensors at huggingface.co
};
constexpr auto kPublished = std::to_array<Published>({
    {"qwen2.5-0.5b", 494'032'768},
    {"qwen2.5-1.5b", 1'543'714'304},
    {"qwen1.5-0.5b", 463'987'712},
    {"qwen1.5-1.8b", 1'836'828'672},
    {"qwen1.5-7b", 7'721'324'544},
    {"qwen1.5-14b", 14'167'290'880},
    {"qwen3-0.6b", 596'049'920},
    {"qwen3-1.7b", 1'720'574'976},
    {"mistral-7b-v0.1", 7'241'732'096},
    {"mistral-7b-v0.3", 7'248'023'552},
    {"mistral-nemo-base-2407", 12'247'782'400},
    {"mistral-small-24b-2501", 23'572'403'200},
    {"llama-30b", 32'528'943'616},
    {"llama-65b", 65'285'660'672},
    {"tinyllama-1.1b-v1.0", 1'100'048'384},
    {"codellama-7b", 6'738'546'688},
    {"codellama-13b", 13'016'028'160},
    {"codellama-34b", 33'743'970'304},
    {"yi-6b", 6'061'035'520},
    {"yi-34b", 34'388'917'248},
    {"deepseek-coder-1.3b", 1'346'471'936},
    {"deepseek-coder-6.7b", 6'740'512'768},
    {"deepseek-coder-33b", 33'342'991'360},
    {"deepseek-llm-7b", 6'910'365'696},
    {"smollm2-135m", 134'515'008},
    {"smollm2-360m", 361'821'120},
    {"smollm2-1.7b", 1'711'376'384},
    {"gemma-2b", 2'506'172'416},
    {"gemma-7b", 8'537'680'896},
    {"gemma-2-2b", 2'614'341'888},
    {"gemma-2-9b", 9'241'705'984},
    {"gemma-2-27b", 27'227'128'320},
    {"phi-3-mini-4k", 3'821'079'552},
    {"phi-4", 14'659'507'200},
    {"gemma-3-1b", 999'885'952},
    {"smollm3-3b", 3'075'098'624},
    {"open_llama_3b_v2", 3'426'473'600},
});

TEST_CASE("models by their names have as many parameters as are published", "[unit]") {
  for (const Published& row : kPublished) {
    CAPTURE(row.name);
    Diagnostics diagnostics;
    const std::optional<ModelSpec> model = model_named(row.name, diagnostics);
    REQUIRE(model);
    CHECK(count_parameters(*model).total == row.parameters);
  }
}

TEST_CASE("organisations, capitals and endings that change no size do not count", "[unit]") {
  CHECK(shipped_as("meta-llama/Llama-3.1-8B-Instruct") == "llama3.1_8b");
  CHECK(shipped_as("NousResearch/Meta-Llama-3.1-8B") == "llama3.1_8b");
  CHECK(shipped_as("Qwen/Qwen3-30B-A3B-Instruct-2507") == "qwen3_30b_a3b");
  CHECK(shipped_as("mistralai/Mixtral-8x7B-Instruct-v0.1") == "mixtral_8x7b");
  CHECK(shipped_as("/models/Qwen/Qwen2___5-7B/") == "qwen2.5_7b");
  CHECK(shipped_as("llama3.1_8b") == "llama3.1_8b");
}

TEST_CASE("quantised copies and names that nobody knows are refused with the nearest", "[unit]") {
  for (const char* name : {"unsloth/llama-3-8b-bnb-4bit", "TheBloke/Llama-2-7B-GPTQ", "qwen3-9b"}) {
    CAPTURE(name);
    Diagnostics diagnostics;
    CHECK_FALSE(model_named(name, diagnostics));
    REQUIRE(diagnostics.entries().size() == 1);
    CHECK_THAT(diagnostics.entries().front().message, contains_text("which is not known here"));
  }
  Diagnostics diagnostics;
  (void)model_named("qwen3-9b", diagnostics);
  CHECK_THAT(diagnostics.entries().front().message, contains_text("did you mean"));
}

}  // namespace
}  // namespace stepcast::published_models_test
