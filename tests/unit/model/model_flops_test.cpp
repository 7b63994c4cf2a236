// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/model_flops.hpp"

#include <cmath>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast::model_flops_test {
namespace {

double gigaflops(const std::string& model, std::int64_t sequence_length) {
  const Flops flops = training_flops_per_token(test::shipped_model(model), sequence_length);
  return std::round(flops.value() / 1e8) / 10.0;  // one decimal
}

// 6 (8.030 - 0.525) G + 6 * 32 layers * 32 heads * (128 + 128) * 8192 = 45.03 G + 12.88 G
TEST_CASE("Llama 3 8B at 8192 trains at 57.9 GFLOP a token", "[case]") {
  CHECK(gigaflops("llama3_8b", 8192) == 57.9);
}

// 6 * active parameters without the embedding + 6 * 61 layers * 128 heads * (192 + 128) * 4096
TEST_CASE("DeepSeek-V3 at 4096 trains at 281.2 GFLOP a token", "[case]") {
  CHECK(gigaflops("deepseek_v3", 4096) == 281.2);
}

// One layer, H = 2 heads of 8, F = 32 ungated, V = 100, two norms a layer and a last one.
ModelSpec tiny() {
  ModelSpec model;
  model.hidden = 16;
  model.layers = 1;
  model.vocabulary = 100;
  model.attention.heads = 2;
  model.attention.kv_heads = 2;
  model.attention.qk_head_dim = 8;
  model.attention.v_head_dim = 8;
  model.mlp.ffn_hidden = 32;
  model.mlp.gated = false;
  return model;
}

TEST_CASE("a parameter costs 6 FLOPs, the embedding none, attention its uncut square", "[unit]") {
  // 4 H^2 + 2 H F + 3 H + V H = 1024 + 1024 + 48 + 1600 = 3696; attention 6 * 2 * 16 * 10.
  CHECK(training_flops_per_token(tiny(), 10) == Flops(6 * 3696 + 6 * 2 * 16 * 10));
}

TEST_CASE("a tied matrix counts once, as the output matrix", "[unit]") {
  ModelSpec tied = tiny();
  tied.tied_embeddings = true;
  CHECK(training_flops_per_token(tied, 10) == training_flops_per_token(tiny(), 10));
}

TEST_CASE("a table of learned positions is a lookup", "[unit]") {
  ModelSpec learned = tiny();
  learned.positions = Positions::kLearned;
  learned.max_positions = 64;
  CHECK(training_flops_per_token(learned, 10) == training_flops_per_token(tiny(), 10));
}

TEST_CASE("a token pays for its own experts and not for the others", "[unit]") {
  ModelSpec few = tiny();
  few.moe = test::experts(4, 2, 8);
  ModelSpec many = few;
  many.moe->experts = 8;
  // Only the router grows, by 4 rows of H.
  CHECK(training_flops_per_token(many, 10) - training_flops_per_token(few, 10) ==
        Flops(6 * 4 * 16));
}

// 6 heads (8 + 8) a pair: of s = 8 positions a token sees 8 uncut and 36 / 8 = 4.5 under the mask.
TEST_CASE("The mask takes the pairs above the diagonal from the FLOPs of attention", "[case]") {
  const double uncut = training_flops_per_token(tiny(), 8).value();
  CHECK(uncut - masked_flops_per_token(tiny(), 8, {}).value() == 6.0 * 2 * 16 * (8 - 4.5));
}

// In a window of 2 the first token sees one position and the other seven two: 15 of 8 tokens.
TEST_CASE("A window takes all pairs outside of it from the FLOPs of attention", "[case]") {
  ModelSpec model = tiny();
  model.attention.sliding_window = 2;
  CHECK(training_flops_per_token(model, 8).value() - masked_flops_per_token(model, 8, {}).value() ==
        6.0 * 2 * 16 * (8 - 15.0 / 8));
}

}  // namespace
}  // namespace stepcast::model_flops_test
