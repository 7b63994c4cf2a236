// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/model_spec.hpp"

#include <cmath>
#include <iostream>
#include <tuple>

#include "catch.hpp"
#include "model_text.hpp"
#include "sample_specs.hpp"
#include "stepcast/model/model_remarks.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast::model_spec_test {
namespace {

using test::config_error;
using test::contains_text;
using test::data_root;
using test::model_from;

std::string fault_of(const std::string& yaml) {
  return config_error([&] { model_from(yaml); });
}

const std::string kSmall =
    "name: small\nhidden_size: 64\nlayers: 4\nvocabulary: 1000\nattention: {heads: 4}\n"
    "mlp: {ffn_hidden: 256}\n";

bool same(const AttentionSpec& a, const AttentionSpec& b) {
  const auto key = [](const AttentionSpec& s) {
    return std::tuple(s.kind, s.heads, s.kv_heads, s.qk_head_dim, s.v_head_dim, s.qk_norm,
                      s.qkv_bias, s.output_bias, s.output_gate, s.sinks, s.sliding_window,
                      s.full_attention_every, s.mla.q_lora_rank, s.mla.kv_lora_rank,
                      s.mla.qk_nope_head_dim, s.mla.qk_rope_head_dim, s.rope_head_dim,
                      s.output_groups, s.output_lora_rank, s.indexer, s.compression.ratios,
                      s.compression.indexed_ratio);
  };
  return key(a) == key(b);
}

bool same(const std::optional<MoeSpec>& a, const std::optional<MoeSpec>& b) {
  const auto key = [](const MoeSpec& s) {
    return std::tuple(s.experts, s.experts_per_token, s.expert_ffn_hidden,
                      s.shared_expert_ffn_hidden, s.shared_expert_gate, s.expert_bias,
                      s.clamped_activation, s.latent_hidden, s.first_dense_layers, s.every,
                      s.router.score, s.router.groups, s.router.topk_groups, s.router.expert_bias,
                      s.router.linear_bias);
  };
  return a.has_value() == b.has_value() && (!a || key(*a) == key(*b));
}

bool same(const ModelSpec& a, const ModelSpec& b) {
  const auto key = [](const ModelSpec& s) {
    return std::tuple(s.name, s.title, s.family, s.source, s.note, s.hidden, s.layers, s.vocabulary,
                      s.positions, s.max_positions, s.norm, s.norm_weight, s.norm_bias,
                      s.embedding_norm, s.norms_per_layer, s.parallel_blocks, s.tied_embeddings,
                      s.head_bias, s.mlp.ffn_hidden, s.mlp.gated, s.mlp.bias, s.mtp_layers,
                      s.published.total, s.published.active, s.published.source, s.residual_streams,
                      s.residual_block);
  };
  return key(a) == key(b) && same(a.attention, b.attention) && same(a.moe, b.moe) &&
         a.mixers == b.mixers;
}

TEST_CASE("every shipped model is called as its file, and its text reads back to itself",
          "[unit]") {
  const std::vector<std::string> names = names_in(data_root().models());
  REQUIRE(names.size() >= 40);
  for (const std::string& name : names) {
    CAPTURE(name);
    ModelSpec model;
    CHECK(config_error([&] { model = test::shipped_model(name); }) == "no error");
    CHECK(model.name == name);
    CHECK(same(model_from(to_yaml(model)), model));
  }
}

TEST_CASE("every optional part of a model survives its text", "[unit]") {
  const std::string everything =
      "name: \"no\"\ntitle: \"a: b\"\nhidden_size: 64\nlayers: 4\nvocabulary: 1000\n"
      "positions: learned\nmax_positions: 128\nnorm: layernorm\nnorm_weight: false\n"
      "norm_bias: true\nembedding_norm: true\n"
      "norms_per_layer: 4\nparallel_blocks: true\ntied_embeddings: true\nhead_bias: true\n"
      "attention: {heads: 8, kv_heads: 2, head_dim: 16, v_head_dim: 8, qk_norm: full,\n"
      "  qkv_bias: true, output_bias: true, output_gate: true, sinks: true, sliding_window: 32,\n"
      "  full_attention_every: 2}\n"
      "mlp: {ffn_hidden: 256, gated: false, bias: true}\n"
      "moe: {experts: 8, experts_per_token: 2, expert_ffn_hidden: 32, every: 2,\n"
      "  shared_expert_ffn_hidden: 16, shared_expert_gate: true, expert_bias: true,\n"
      "  clamped_activation: true, first_dense_layers: 1, router: {score: sigmoid, groups: 4, "
      "topk_groups: 2,\n"
      "  expert_bias: true, linear_bias: true}}\n"
      "mtp_layers: 1\npublished: {total: \"1 B\", active: 12, source: x}\n";
  const ModelSpec model = model_from(everything);
  CHECK(same(model_from(to_yaml(model)), model));
}

TEST_CASE("an unusual but accepted model survives its text", "[unit]") {
  for (const char* line : {"title: \"\"", "note: \"~\"", "note: \"two\\nlines\"", "family: 'x #y'",
                           "source: \"- dash\""}) {
    CAPTURE(line);
    const ModelSpec model = model_from(kSmall + line + "\n");
    CHECK(config_error([&] { CHECK(same(model_from(to_yaml(model)), model)); }) == "no error");
  }
  const ModelSpec windowless = model_from(
      "name: x\nhidden_size: 64\nlayers: 4\nvocabulary: 1000\nmlp: {ffn_hidden: 256}\n"
      "attention: {heads: 4, full_attention_every: 2}\n");
  CHECK(same(model_from(to_yaml(windowless)), windowless));
}

TEST_CASE("published counts need to say where they are published", "[unit]") {
  CHECK_THAT(fault_of(kSmall + "published: {total: 5, source: \"\"}\n"),
             contains_text("'published.source'"));
  CHECK_THAT(fault_of(kSmall + "published: {total: 5}\n"), contains_text("needs the key 'source'"));
}

// Layers of 64, 4 heads of 16 and a feed-forward of 256: a norm is 64 values of weight, and as many
// of bias where it is layernorm.
TEST_CASE("norms count as they stand: without weights, behind the embedding, shared", "[unit]") {
  const auto total = [](const std::string& more) {
    return count_parameters(model_from(kSmall + more)).total;
  };
  const std::int64_t layers = model_from(kSmall).layers;
  const std::int64_t usual = total("");
  CHECK(usual - total("norm_weight: false\n") == (2 * layers + 1) * 64);
  CHECK(total("norm: layernorm\nnorm_weight: false\n") == total("norm_weight: false\n"));
  CHECK(total("embedding_norm: true\n") - usual == 64);
  CHECK(usual - total("parallel_blocks: true\n") == layers * 64);
  CHECK(total("parallel_blocks: true\nnorms_per_layer: 2\n") == usual);
  CHECK_THAT(fault_of(kSmall + "norms_per_layer: 1\n"),
             contains_text("needs 'parallel_blocks: true'"));
}

TEST_CASE("a model without a name is refused, or its text would not read back", "[unit]") {
  CHECK(fault_of("name: \"\"\n" + kSmall.substr(kSmall.find('\n') + 1)) != "no error");
}

TEST_CASE("parameter counts are the published ones to 0.1 % or half of the last digit", "[case]") {
  int checked = 0;
  for (const std::string& name : names_in(data_root().models())) {
    const ModelSpec model = test::shipped_model(name);
    const ParameterCounts counts = count_parameters(model);
    for (const auto& [text, count] : {std::pair{model.published.total, counts.total},
                                      std::pair{model.published.active, counts.active}}) {
      if (text.empty()) {
        continue;
      }
      const std::optional<PublishedCount> published = parse_published_count(text);
      CAPTURE(name, text, count);
      REQUIRE(published.has_value());
      CHECK(std::abs(static_cast<double>(count) - published->value) <= published->tolerance);
      ++checked;
    }
  }
  std::cout << "parameter counts checked against publications: " << checked << "\n";
  CHECK(checked >= 30);
}

TEST_CASE("a published count is a whole number or billions, good to half of its last digit",
          "[unit]") {
  CHECK(parse_published_count("671 B")->value == 671e9);
  CHECK(parse_published_count("671 B")->tolerance == 671e6);  // 0.1 %
  CHECK(parse_published_count("1.5 B")->tolerance == Approx(0.05e9));
  CHECK(parse_published_count("1.5 T")->value == 1.5e12);
  CHECK(parse_published_count("8030261248")->value == 8030261248.0);
  for (const char* text : {"", "lots", "B", " B", "1.5", "8B", "-1 B", "0", "1e9", "nan B"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_published_count(text).has_value());
  }
  CHECK_THAT(fault_of(kSmall + "published: {total: lots, source: x}\n"),
             contains_text("'published.total' must be a whole number of parameters"));
}

TEST_CASE("no shipped model needs a remark, and slips get one", "[unit]") {
  for (const std::string& name : names_in(data_root().models())) {
    CAPTURE(name);
    CHECK(model_remarks(test::shipped_model(name)).empty());
  }
  ModelSpec model = test::shipped_model("llama3_8b");
  model.mlp.ffn_hidden = 14335;
  model.vocabulary = 1;
  const std::vector<std::string> remarks = model_remarks(model);
  REQUIRE(remarks.size() == 3);
  CHECK_THAT(remarks[0], contains_text("the model's keys make 6,979") &&
                             contains_text("parameters, 'published' says 8"));
  CHECK_THAT(remarks[1], contains_text("ffn_hidden 14335 is no multiple of 8"));
  CHECK_THAT(remarks[2], contains_text("a vocabulary of 1 is less than"));
}

TEST_CASE("counts published to the last parameter are met to the last parameter", "[case]") {
  CHECK(count_parameters(test::shipped_model("llama3_8b")).total == 8'030'261'248);
  CHECK(count_parameters(test::shipped_model("mixtral_8x7b")).total == 46'702'792'704);
  CHECK(count_parameters(test::shipped_model("gpt2_xl")).total == 1'557'611'200);
  CHECK(count_parameters(test::shipped_model("qwen3_8b")).total == 8'190'735'360);
}

TEST_CASE("left-out keys of a model have the values of a plain transformer", "[unit]") {
  const ModelSpec model = model_from(kSmall);
  CHECK(model.title == "small");
  CHECK(model.attention.kv_heads == 4);
  CHECK(model.attention.qk_head_dim == 16);  // 64 / 4
  CHECK(model.attention.v_head_dim == 16);
  CHECK(model.norm == NormKind::kRmsNorm);
  CHECK_FALSE(model.norm_bias);
  CHECK(model.mlp.gated);
  CHECK_FALSE(model.moe.has_value());
}

TEST_CASE("layer norms have a bias unless it is switched off", "[unit]") {
  CHECK(model_from(kSmall + "norm: layernorm\n").norm_bias);
  CHECK_FALSE(model_from(kSmall + "norm: layernorm\nnorm_bias: false\n").norm_bias);
}

TEST_CASE("a model that contradicts itself is refused with every contradiction", "[unit]") {
  const std::string fault = fault_of(
      "name: x\nhidden_size: 65\nlayers: 4\nvocabulary: 1000\npositions: learned\n"
      "attention: {heads: 4, kv_heads: 3}\nmlp: {ffn_hidden: 256}\n"
      "moe: {experts: 8, experts_per_token: 9, expert_ffn_hidden: 4,\n"
      "  router: {groups: 3, topk_groups: 5}}\n");
  CHECK_THAT(fault, contains_text("does not divide hidden_size"));
  CHECK_THAT(fault, contains_text("must divide 'heads' (4)"));
  CHECK_THAT(fault, contains_text("'max_positions' must be given"));
  CHECK_THAT(fault, contains_text("'moe.experts_per_token' must not exceed 'experts'"));
  CHECK_THAT(fault, contains_text("'moe.router.groups' must divide"));
  CHECK_THAT(fault, contains_text("'moe.router.topk_groups' must not exceed"));
}

TEST_CASE("layers alternate between dense and experts, and between window and full", "[unit]") {
  ModelSpec model = model_from(
      "name: x\nhidden_size: 64\nlayers: 8\nvocabulary: 1000\nmlp: {ffn_hidden: 256}\n"
      "attention: {heads: 4, sliding_window: 128, full_attention_every: 4}\n"
      "moe: {experts: 8, experts_per_token: 2, expert_ffn_hidden: 32, first_dense_layers: 2,\n"
      "  every: 2}\n");
  std::string kinds;
  std::string windows;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    kinds += layer_kind(model, i).moe ? 'e' : 'd';
    windows += layer_kind(model, i).window > 0 ? 'w' : 'f';
  }
  CHECK(kinds == "dddedede");
  CHECK(windows == "wwwfwwwf");
  CHECK(mtp_layer_kind(model) == layer_kind(model, 7));
}

// Lists of 16 and 17 widths, heads or windows begin again together after 272 layers, lists of 3 and
// 85 after 255.
TEST_CASE("a model of more kinds of layers than any has is refused", "[unit]") {
  const auto model = [](int heads, int widths) {
    std::string text =
        "name: x\nhidden_size: 4096\nlayers: 9000\nvocabulary: 1000\nattention: "
        "{head_dim: 128, heads: [1";
    for (int i = 2; i <= heads; ++i) {
      text += ", " + std::to_string(i);
    }
    text += "]}\nmlp: {ffn_hidden: [1";
    for (int i = 2; i <= widths; ++i) {
      text += ", " + std::to_string(i);
    }
    return text + "]}\n";
  };
  CHECK(fault_of(model(3, 85)) == "no error");
  CHECK_THAT(fault_of(model(16, 17)), contains_text("'layers' are of more than 256 kinds"));
}

// 2^24 experts of 3 matrices of 2^24 x 2^24 are 3 * 2^72 parameters a layer.
TEST_CASE("a model whose parameters cannot be counted in 64 bits is refused", "[unit]") {
  CHECK(fault_of("name: x\nhidden_size: 16777216\nlayers: 10000\nvocabulary: 1000\n"
                 "attention: {heads: 16, head_dim: 128}\nmlp: {ffn_hidden: 256}\n"
                 "moe: {experts: 16777216, experts_per_token: 1, expert_ffn_hidden: 16777216}\n") !=
        "no error");
  CHECK(fault_of("name: x\nhidden_size: 16777216\nlayers: 10000\nvocabulary: 1000\n"
                 "attention: {heads: 16777216, head_dim: 16777216}\nmlp: {ffn_hidden: 256}\n") !=
        "no error");
}

}  // namespace
}  // namespace stepcast::model_spec_test
