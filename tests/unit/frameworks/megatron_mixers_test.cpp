// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_mixers.hpp"

#include "catch.hpp"
#include "frameworks/megatron_writer.hpp"
#include "sample_specs.hpp"

namespace stepcast::megatron_mixers_test {
namespace {

using test::config_error;
using test::contains_text;

ModelSpec read(std::vector<Setting> fields) {
  Diagnostics diagnostics;
  FrameworkReader settings(std::move(fields), diagnostics);
  MegatronSource source;
  source.model = megatron_default_model();
  source.primus = true;
  const FrameworkWords words = megatron_words(test::data_root());
  ModelSpec model = read_megatron_model(MegatronFields(settings, source, words)).model;
  diagnostics.throw_if_any();
  return model;
}

// All that prices depend on, as text.
std::string shape(ModelSpec model) {
  model.name = "x";
  model.title = model.family = model.source = model.note = {};
  model.published = {};
  return to_yaml(model);
}

TEST_CASE("models of other mixers come back from the fields that say them", "[unit]") {
  for (const std::string name : {"lfm2_8b_a1b", "qwen3_5_35b_a3b", "glm5", "deepseek_v4_flash",
                                 "deepseek_v4_pro", "kimi_k3"}) {
    CAPTURE(name);
    const ModelSpec model = test::shipped_model(name);
    CHECK(shape(read(megatron_model_fields(model, MegatronDialect::kPrimus))) == shape(model));
  }
}

std::vector<Setting> qwen_with(const std::string& name, const std::string& value) {
  std::vector<Setting> fields =
      megatron_model_fields(test::shipped_model("qwen3_5_35b_a3b"), MegatronDialect::kPrimus);
  fields.push_back(text_setting(name, value, {}));
  return fields;
}

TEST_CASE("a number of layers is that of the last one, which has attention", "[unit]") {
  const ModelSpec model = read(qwen_with("linear_attention_freq", "4"));
  CHECK(layer_kind(model, 2).mixer == Mixer::kLinearAttention);
  CHECK(layer_kind(model, 3).mixer == Mixer::kAttention);
  CHECK(layer_kind(model, 39).mixer == Mixer::kAttention);
}

TEST_CASE("layers that nothing here has are refused", "[unit]") {
  const auto fault = [](const std::string& name, const std::string& value) {
    return config_error([&] { read(qwen_with(name, value)); });
  };
  CHECK_THAT(fault("linear_attention_freq", "[1,0]"),
             contains_text("with as many layers as the model has (40)"));
  CHECK_THAT(fault("experimental_attention_variant", "mamba"),
             contains_text("layers here have gated_delta_net or dsa"));
  CHECK_THAT(fault("hybrid_override_pattern", "M*M-"), contains_text("layers of state spaces"));
}

TEST_CASE("what Primus alone runs is said to be so", "[unit]") {
  CHECK(!primus_alone(test::shipped_model("qwen3_5_35b_a3b")));
  CHECK(!primus_alone(test::shipped_model("glm5")));
  CHECK(primus_alone(test::shipped_model("lfm2_8b_a1b")));
  CHECK(primus_alone(test::shipped_model("kimi_k3")));
  CHECK(primus_alone(test::shipped_model("deepseek_v4_pro")));
}

}  // namespace
}  // namespace stepcast::megatron_mixers_test
