// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/layer_counts.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "model_text.hpp"
#include "sample_specs.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast::layer_counts_test {
namespace {

using test::config_error;
using test::contains_text;
using test::model_from;

// Four layers of hidden size 64 with heads 8 wide.
std::string small(const std::string& attention, const std::string& mlp = "ffn_hidden: 256",
                  const std::string& rest = "") {
  return "name: small\nhidden_size: 64\nlayers: 4\nvocabulary: 1000\nattention: {head_dim: 8, " +
         attention + "}\nmlp: {" + mlp + "}\n" + rest;
}

std::string fault_of(const std::string& yaml) {
  return config_error([&] { model_from(yaml); });
}

TEST_CASE("a count is one of all layers or a list that begins again", "[unit]") {
  const LayerCounts same(8);
  CHECK(same.uniform());
  CHECK(same.of_layer(3) == 8);
  const LayerCounts apart({4, 8, 8}, 5);
  CHECK_FALSE(apart.uniform());
  CHECK(apart.of_layer(3) == 4);
  CHECK(apart.of_layer(4) == 8);
  CHECK(apart.most() == 8);
  CHECK(to_text(apart) == "[4, 8, 8]");
  CHECK(LayerCounts({4, 4, 4, 4}, 4) == LayerCounts(4));
  CHECK(LayerCounts({4, 8, 4, 8}, 4).pattern() == std::vector<std::int64_t>{4, 8});
}

TEST_CASE("one count of layers that differ is a fault of the program", "[unit]") {
  CHECK_THROWS_AS(LayerCounts({4, 8}, 2).same(), InternalError);
}

TEST_CASE("layers have the heads, windows and widths that lists give them", "[unit]") {
  const ModelSpec model =
      model_from(small("heads: [8, 4], kv_heads: [2, 2, 2, 4], sliding_window: [0, 128]",
                       "ffn_hidden: [256, 256, 512, 0]"));
  CHECK(heads_of(model, layer_kind(model, 2)) == AttentionHeads{8, 2, 8, 8});
  CHECK(heads_of(model, layer_kind(model, 3)) == AttentionHeads{4, 4, 8, 8});
  CHECK(layer_kind(model, 2).window == 0);
  CHECK(layer_kind(model, 3).window == 128);
  CHECK(ffn_hidden_of(model, layer_kind(model, 2)) == 512);
  CHECK_FALSE(feeds_forward(model, layer_kind(model, 3)));
  CHECK(attention_heads(model).size() == 3);
  CHECK(layers_differ(model));
}

TEST_CASE("layers of the same heads and widths are of one kind", "[unit]") {
  const ModelSpec model = model_from(small("heads: [8, 4, 8, 4]", "ffn_hidden: [64, 64, 64, 32]"));
  CHECK(layer_kind(model, 0) == layer_kind(model, 2));
  CHECK(layer_kind(model, 1) != layer_kind(model, 3));
  const ModelSpec alike = model_from(small("heads: 8"));
  CHECK(layer_kind(alike, 0) == layer_kind(alike, 3));
  CHECK_FALSE(layers_differ(alike));
}

TEST_CASE("a model with lists is written so that it reads back the same", "[unit]") {
  const std::string text =
      to_yaml(model_from(small("heads: [8, 4], kv_heads: [2, 1], sliding_window: [0, 16]",
                               "ffn_hidden: [256, 0]", "mixers: [attention, none]\n")));
  CHECK(to_yaml(model_from(text)) == text);
  CHECK_THAT(text, contains_text("heads: [8, 4]"));
  CHECK_THAT(text, contains_text("ffn_hidden: [256, 0]"));
}

TEST_CASE("lists that do not fit are refused with what is wrong", "[unit]") {
  CHECK_THAT(fault_of(small("heads: [8, 4, 8, 4, 8]")),
             contains_text("'attention.heads' has 5 items for 4 layers"));
  CHECK_THAT(fault_of(small("heads: []")), contains_text("'attention.heads' is an empty list"));
  CHECK_THAT(fault_of(small("heads: [8, 0]")),
             contains_text("'attention.heads[1]': 0 is out of range"));
  CHECK_THAT(fault_of(small("heads: [8, 6], kv_heads: 4")),
             contains_text("must divide 'heads' (6 in layer 1)"));
  CHECK_THAT(fault_of("name: x\nhidden_size: 64\nlayers: 4\nvocabulary: 9\nattention: {heads: "
                      "[8, 4]}\nmlp: {ffn_hidden: 8}\n"),
             contains_text("differ by layer; give 'head_dim' as well"));
  CHECK_THAT(fault_of(small("heads: 8, sliding_window: [0, 16], full_attention_every: 2")),
             contains_text("'attention.full_attention_every' must be left out"));
  CHECK_THAT(fault_of(small("heads: 8", "ffn_hidden: [256, 0]", "parallel_blocks: true\n")),
             contains_text("'mlp' leaves layer 1 without a block"));
  CHECK_THAT(fault_of(small("heads: 8", "ffn_hidden: 256",
                            "mixers: [attention, none]\nresidual_streams: 2\n")),
             contains_text("'mixers' leaves layer 1 without a block"));
}

// q and o of 8 or 4 heads of 8, k and v of 2 of 8; up, gate and down; a norm for each block.
TEST_CASE("parameters are those that each layer has", "[case]") {
  const ModelSpec model =
      model_from(small("heads: [8, 4, 8, 8], kv_heads: 2", "ffn_hidden: [256, 256, 0, 64]",
                       "mixers: [attention, attention, attention, none]\n"));
  const auto attention = [](std::int64_t heads) { return 64 * 8 * (2 * heads + 2 * 2) + 64; };
  const auto mlp = [](std::int64_t width) { return 3 * 64 * width + 64; };
  const std::int64_t layers =
      attention(8) + mlp(256) + attention(4) + mlp(256) + attention(8) + mlp(64);
  CHECK(count_parameters(model).total == layers + 2 * 1000 * 64 + 64);
}

// Of 100 keys: 6 (8 + 4 + 8) heads of 16 values a pair and token; a layer without a mixer has none.
TEST_CASE("FLOPs between positions are those of each layer's heads", "[case]") {
  const ModelSpec model = model_from(small("heads: [8, 4, 8, 8]", "ffn_hidden: 256",
                                           "mixers: [attention, attention, attention, none]\n"));
  const ParameterCounts counts = count_parameters(model);
  const double parameters = 6.0 * static_cast<double>(counts.active - counts.embedding);
  CHECK(training_flops_per_token(model, 100).value() == parameters + 6.0 * 20 * 16 * 100);
}

TEST_CASE("shipped models whose layers differ have their published parameters", "[case]") {
  CHECK(count_parameters(test::shipped_model("openelm_1_1b")).total == 1'079'891'456);
  CHECK(count_parameters(test::shipped_model("llama3.3_nemotron_super_49b")).total ==
        49'867'145'216);
  CHECK(count_parameters(test::shipped_model("llama3.1_nemotron_ultra_253b")).total ==
        253'401'268'224);
}

}  // namespace
}  // namespace stepcast::layer_counts_test
