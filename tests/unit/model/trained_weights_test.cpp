// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/trained_weights.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast::trained_weights_test {
namespace {

using enum LoraTarget;

TrainedWeights lora(std::int64_t rank, std::vector<LoraTarget> targets) {
  return {LoraSpec{rank, std::move(targets)}, std::nullopt};
}

// 80 layers of 16 (8192 + 10240) beside q, k and v together and 16 (8192 + 8192) beside o.
TEST_CASE("MLPerf's adapters of Llama 2 70B have 44,564,480 parameters", "[case]") {
  const TrainedCounts counts =
      count_trained(test::shipped_model("llama2_70b"), lora(16, {kQkv, kO}));
  CHECK(counts.total == 44'564'480);
  CHECK(counts.adapters == 44'564'480);
  CHECK(counts.active == 44'564'480);
}

// 16 (8192 + 8192) of q and of o, 16 (8192 + 1024) of k and of v.
TEST_CASE("An adapter each of q, k, v and o of Llama 2 70B are 65,536,000 parameters", "[case]") {
  CHECK(count_trained(test::shipped_model("llama2_70b"), lora(16, {kQ, kK, kV, kO})).total ==
        65'536'000);
}

// H = 1024, F = 4096: 8 layers of 4 (1024 + 8192) and of 4 (4096 + 1024).
TEST_CASE("Adapters of a gated feed-forward read and make what its matrices do", "[unit]") {
  const ModelSpec model = test::dense_sample().model;
  CHECK(count_trained(model, lora(4, {kGateUp})).total == 8 * 4 * (1024 + 8192));
  CHECK(count_trained(model, lora(4, {kDown})).total == 8 * 4 * (4096 + 1024));
  CHECK(count_trained(model, lora(4, {kGate, kUp})).total == 2 * 8 * 4 * (1024 + 4096));
}

TEST_CASE("A frozen parameter costs 4 FLOPs a token, an adapter 6", "[unit]") {
  const ModelSpec model = test::dense_sample().model;
  const double whole = training_flops_per_token(model, 512).value();
  const ParameterCounts counts = count_parameters(model);
  const auto matrices = static_cast<double>(counts.active - counts.embedding);
  // 8 layers of 4 (1024 + 1024).
  CHECK(training_flops_per_token(model, 512, lora(4, {kO})).value() ==
        whole - 2.0 * matrices + 6.0 * 65'536.0);
  const TrainedWeights but_embedding{std::nullopt, std::vector{ParameterRole::kEmbedding}};
  CHECK(training_flops_per_token(model, 512, but_embedding).value() == whole);
}

TEST_CASE("Gradients end at the lowest layer that has something to train", "[unit]") {
  ModelSpec model = test::dense_sample().model;
  const auto flows = [&](const TrainedWeights& weights) {
    std::string text;
    for (std::int64_t i = 0; i < 4; ++i) {
      text += layer_kind(model, weights, i).input_gradient ? 'y' : 'n';
    }
    return text;
  };
  CHECK(flows({}) == "yyyy");
  CHECK(flows(lora(4, {kO})) == "nyyy");
  CHECK(flows({std::nullopt, std::vector{ParameterRole::kEmbedding}}) == "nyyy");
  CHECK(flows({std::nullopt, std::vector{ParameterRole::kAttention}}) == "yyyy");
  using enum ParameterRole;
  const TrainedWeights head{std::nullopt, std::vector{kEmbedding, kAttention, kMlp, kNorm}};
  CHECK(flows(head) == "nnnn");
  CHECK_FALSE(trains_before_head(model, head));
  CHECK(trains_before_head(model, lora(4, {kO})));
  // Only the shared expert of a layer with experts has a feed-forward that adapters stand beside.
  model.moe = MoeSpec{};
  model.moe->experts = 8;
  model.moe->experts_per_token = 2;
  model.moe->expert_ffn_hidden = 64;
  model.moe->shared_expert_ffn_hidden = 0;
  model.moe->first_dense_layers = 2;
  CHECK(flows(lora(4, {kDown})) == "nyyy");
  model.moe->first_dense_layers = 0;
  CHECK(flows(lora(4, {kDown})) == "nnnn");
  CHECK(count_trained(model, lora(4, {kDown})).total == 0);
}

}  // namespace
}  // namespace stepcast::trained_weights_test
