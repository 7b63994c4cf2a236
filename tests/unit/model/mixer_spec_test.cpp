// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/mixer_spec.hpp"

#include <cmath>
#include <string>
#include <tuple>

#include "catch.hpp"
#include "model_text.hpp"
#include "sample_specs.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast::mixer_spec_test {
namespace {

using test::config_error;
using test::contains_text;
using test::model_from;

const std::string kSmall =
    "name: small\nhidden_size: 64\nlayers: 4\nvocabulary: 1000\nattention: {heads: 4}\n"
    "mlp: {ffn_hidden: 256}\n";
const std::string kLinear =
    "linear_attention: {heads: 4, qk_heads: 2, qk_head_dim: 8, v_head_dim: 16, "
    "convolution_width: 4}\n";

std::string fault_of(const std::string& yaml) {
  return config_error([&] { model_from(yaml); });
}

std::string letters(const ModelSpec& model) {
  std::string text;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    text += name(layer_kind(model, i).mixer).front();
  }
  return text;
}

TEST_CASE("a list of mixers begins again behind its end", "[unit]") {
  CHECK(letters(model_from(kSmall + "mixers: [linear_attention, attention]\n" + kLinear)) ==
        "lala");
  CHECK(letters(model_from(kSmall + "mixers: [convolution, convolution, convolution, attention]\n"
                                    "convolution: {width: 3}\n")) == "ccca");
  CHECK(letters(model_from(kSmall)) == "aaaa");
}

TEST_CASE("a list that repeats itself is kept as what it repeats", "[unit]") {
  using enum Mixer;
  CHECK(shortest_pattern<Mixer>({kAttention, kAttention, kAttention}, 3) ==
        std::vector{kAttention});
  CHECK(shortest_pattern<Mixer>({kLinearAttention, kAttention, kLinearAttention}, 3) ==
        std::vector{kLinearAttention, kAttention});
  // Of four layers the last is like the first, and not like the second.
  CHECK(shortest_pattern<Mixer>({kLinearAttention, kAttention, kLinearAttention}, 4).size() == 3);
  CHECK(shortest_pattern<Mixer>({kConvolution, kAttention, kAttention}, 3).size() == 3);
  CHECK(shortest_pattern<Mixer>({}, 3).empty());
}

TEST_CASE("what a layer mixes with is described, and nothing else is", "[unit]") {
  CHECK_THAT(fault_of(kSmall + "mixers: [convolution, attention]\n"),
             contains_text("'mixers' has convolution, so 'convolution' must be given"));
  CHECK_THAT(fault_of(kSmall + "convolution: {width: 3}\n"),
             contains_text("describes what no layer of 'mixers' is"));
  CHECK_THAT(fault_of(kSmall + "mixers: [mamba]\n"), contains_text("unknown value 'mamba'"));
  CHECK_THAT(fault_of(kSmall + "mixers: [attention, attention, attention, attention, attention]\n"),
             contains_text("has 5 items for 4 layers"));
  CHECK_THAT(
      fault_of(kSmall + "mixers: [linear_attention]\nlinear_attention: {heads: 4, qk_heads: 3, "
                        "qk_head_dim: 8, v_head_dim: 8, convolution_width: 4}\n"),
      contains_text("must divide 'heads' (4)"));
  CHECK_THAT(fault_of(kSmall + "mixers: [convolution]\nconvolution: {}\n"),
             contains_text("'convolution.width' is missing"));
}

// The products of a layer that mixes by convolution are 3 H^2 in and H^2 out, and its filter is 3
// H.
TEST_CASE("a short convolution has four matrices of the hidden size and a filter", "[unit]") {
  const ModelSpec plain = model_from(kSmall);
  const ModelSpec mixed = model_from(kSmall + "mixers: [convolution]\nconvolution: {width: 3}\n");
  const std::int64_t attention = 4 * 64 * 64;
  CHECK(count_parameters(mixed).total - count_parameters(plain).total ==
        4 * (4 * 64 * 64 + 3 * 64 - attention));
}

// q and k 16 wide, v 64: H (2 16 + 64) + gate H 64 + step and decay H 4 each, filters 4 (2 16 +
// 64), rate and bias 4 each, norm 16, out 64 H.
TEST_CASE("a gated delta rule has its products, filters, decays and norm", "[unit]") {
  const ModelSpec plain = model_from(kSmall);
  const ModelSpec mixed = model_from(kSmall + "mixers: [linear_attention]\n" + kLinear);
  const std::int64_t layer =
      64 * (2 * 16 + 64) + 64 * 64 + 2 * 64 * 4 + 4 * (2 * 16 + 64) + 2 * 4 + 16 + 64 * 64;
  CHECK(count_parameters(mixed).total - count_parameters(plain).total == 4 * (layer - 4 * 64 * 64));
}

// Worked out from the sizes of the published configurations, layer by layer.
TEST_CASE("models of other mixers have the parameters that their layers add up to", "[case]") {
  using Counts = std::tuple<std::string, std::int64_t, std::int64_t>;
  for (const auto& [name, total, active] :
       {Counts{"lfm2_8b_a1b", 8'339'930'560, 1'557'740'992},
        Counts{"qwen3_5_35b_a3b", 34'660'610'688, 3'454'988'928},
        Counts{"glm5", 743'911'218'432, 41'784'728'832},
        Counts{"deepseek_v4_flash", 284'332'241'239, 13'799'633'239},
        Counts{"deepseek_v4_pro", 1'572'997'202'915, 49'779'082'211},
        Counts{"kimi_k3", 2'779'484'461'664, 105'364'003'424}}) {
    CAPTURE(name);
    const ParameterCounts counts = count_parameters(test::shipped_model(name));
    CHECK(counts.total == total);
    CHECK(counts.active == active);
  }
}

TEST_CASE("a layer of linear attention trains at 18 FLOPs a value of its states a token",
          "[case]") {
  const ModelSpec mixed = model_from(kSmall + "mixers: [linear_attention]\n" + kLinear);
  const ParameterCounts counts = count_parameters(mixed);
  const double parameters = 6.0 * static_cast<double>(counts.active - counts.embedding);
  CHECK(training_flops_per_token(mixed, 100).value() == parameters + 4 * 18.0 * 64 * 8);
  CHECK(training_flops_per_token(mixed, 200) == training_flops_per_token(mixed, 100));
}

// 8 of 100 keys take the place of the sequence, and the indexer scores all 100: heads 4 of 16 + 16
// values a pair, index heads 2 of 8.
TEST_CASE("chosen keys count in place of the sequence, and the indexer scores them all", "[case]") {
  const std::string latent =
      "name: x\nhidden_size: 64\nlayers: 4\nvocabulary: 1000\nmlp: {ffn_hidden: 256}\n"
      "attention: {kind: mla, heads: 4, kv_lora_rank: 16, qk_nope_head_dim: 8, "
      "qk_rope_head_dim: 8, v_head_dim: 16";
  const ModelSpec all = model_from(latent + "}\n");
  const ModelSpec few =
      model_from(latent + ", indexer: {heads: 2, head_dim: 8, chosen: 8, trained: true}}\n");
  const std::int64_t indexer = 64 * 16 + 64 * 2 + 64 * 8 + 2 * 8;
  const double pair = 6.0 * 4 * (16 + 16);
  CHECK(count_parameters(few).total - count_parameters(all).total == 4 * indexer);
  CHECK((training_flops_per_token(few, 100) - training_flops_per_token(all, 100)).value() ==
        4 * (6.0 * static_cast<double>(indexer) + pair * (8 - 100) + 6.0 * 2 * 8 * 100));
}

TEST_CASE("compression says which layers choose, and the last ratio is the module's", "[unit]") {
  const ModelSpec flash = test::shipped_model("deepseek_v4_flash");
  CHECK(layer_kind(flash, 0).compression == 0);
  CHECK(layer_kind(flash, 2).compression == 4);
  CHECK(layer_kind(flash, 3).compression == 128);
  CHECK(mtp_layer_kind(flash).compression == 0);
  CHECK(chooses_keys(flash, layer_kind(flash, 2)));
  CHECK_FALSE(chooses_keys(flash, layer_kind(flash, 3)));
  CHECK(residual_width(flash) == 4 * 4096);
}

// Keys of 4 positions each, that no window stands beside.
const std::string kCompressed =
    "name: x\nhidden_size: 64\nlayers: 2\nvocabulary: 1000\nmlp: {ffn_hidden: 256}\n"
    "attention: {kind: shared_kv, heads: 4, head_dim: 16, q_lora_rank: 32, qk_rope_head_dim: 8, "
    "output_groups: 2, output_lora_rank: 16";

// Of 8 positions there are 2 keys: three queries see none, four see one and the last both, 6 pairs,
// as the operator counts them.
TEST_CASE("no window beside compressed keys is none, and not the whole sequence", "[case]") {
  const ModelSpec model = model_from(kCompressed + ", compression: {ratios: [4, 4]}}\n");
  const double pair = 6.0 * 4 * (16 + 16);
  const Flops uncut = training_flops_per_token(model, 8);
  CHECK((uncut - masked_flops_per_token(model, 8, {})).value() == 2 * pair * (2 - 6.0 / 8));
}

TEST_CASE("a head that is key and value is seen in a window or compressed", "[unit]") {
  const std::string message = "has layers without keys: give 'sliding_window'";
  CHECK_THAT(fault_of(kCompressed + "}\n"), contains_text(message));
  CHECK_THAT(fault_of(kCompressed + ", compression: {ratios: [4, 0]}}\n"), contains_text(message));
  CHECK_THAT(fault_of(kCompressed + ", sliding_window: 4, full_attention_every: 2}\n"),
             contains_text(message));
  CHECK(fault_of(kCompressed + ", sliding_window: 4}\n") == "no error");
  CHECK(fault_of(kCompressed + ", sliding_window: 4, compression: {ratios: [4, 0]}}\n") ==
        "no error");
  CHECK_THAT(
      fault_of(kCompressed + ", sliding_window: 4, indexer: {heads: 2, head_dim: 8, chosen: 4}}\n"),
      contains_text("chooses among compressed keys; give 'compression'"));
}

// Blocks of 12 layers: inputs of layers 0, 12, ... are kept, 8 of them in the end.
TEST_CASE("attention residuals grow by one each block", "[unit]") {
  const ModelSpec model = test::shipped_model("kimi_k3");
  CHECK(layer_kind(model, 0).kept_residuals == 0);
  CHECK(layer_kind(model, 0).opens_residual_block);
  CHECK(layer_kind(model, 12).kept_residuals == 1);
  CHECK(layer_kind(model, 13).kept_residuals == 2);
  CHECK_FALSE(layer_kind(model, 13).opens_residual_block);
  CHECK(layer_kind(model, 92).mixer == Mixer::kAttention);
  CHECK(layer_kind(model, 90).mixer == Mixer::kLinearAttention);
  CHECK(residual_width(model) == 9 * 7168);
  CHECK(routed_width(model) == 3584);
}

}  // namespace
}  // namespace stepcast::mixer_spec_test
