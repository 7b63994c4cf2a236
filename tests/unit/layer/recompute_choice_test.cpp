// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/recompute_choice.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/activation_inventory.hpp"

namespace stepcast::recompute_choice_test {
namespace {

using test::Sample;

bool has(const OpList& ops, OpId id) {
  return std::any_of(ops.begin(), ops.end(), [id](const Op& op) { return op.id == id; });
}

bool has(const std::vector<SavedTensor>& tensors, TensorId id) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [id](const SavedTensor& tensor) { return tensor.id == id; });
}

// Separate projections, as in torchtitan: wq, wk, wv, wo, w1, w3, w2.
Sample separate() {
  Sample sample = test::dense_sample();
  sample.software.fused_qkv = false;
  sample.software.fused_gate_up = false;
  return sample;
}

std::vector<std::int64_t> recomputed(Sample& sample, std::size_t stage) {
  return recomputed_layers(sample.context(), stage);
}

TEST_CASE("full recomputation covers every layer, the first of each stage, or those named",
          "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 2, 1);  // layers 0 to 3 and 4 to 7
  RecomputeSpec& recompute = sample.training.recompute;
  CHECK(recomputed(sample, 0) == std::vector<std::int64_t>{0});
  recompute.kind = RecomputeKind::kFull;
  CHECK(recomputed(sample, 0) == std::vector<std::int64_t>{4});
  recompute.method = RecomputeMethod::kBlock;
  recompute.layers = 3;
  CHECK(recomputed(sample, 1) == std::vector<std::int64_t>{3});
  recompute.layers = 9;
  CHECK(recomputed(sample, 1) == std::vector<std::int64_t>{4});
  recompute.layer_list = {0, 5, 7};
  CHECK(recomputed(sample, 0) == std::vector<std::int64_t>{1});
  CHECK(recomputed(sample, 1) == std::vector<std::int64_t>{2});
}

TEST_CASE("PyTorch's checkpoint stops before the last product, Megatron's runs everything",
          "[unit]") {
  Sample sample = separate();
  sample.training.recompute.kind = RecomputeKind::kFull;
  const BlockOps everything = expand_layer(sample.context(), {});
  CHECK(everything.full_recompute == everything.forward);
  sample.software.memory.recompute_stops_early = true;
  const BlockOps early = expand_layer(sample.context(), {});
  CHECK(has(early.full_recompute, OpId::kMlpActivation));
  CHECK_FALSE(has(early.full_recompute, OpId::kMlpDown));
}

// Of 1 + 1 + q 1, k 1/4, v 1/4, output 1, ... what stays: x, wq, wv, attention, w1.
TEST_CASE("the operator policy keeps every second product and attention", "[case]") {
  Sample sample = separate();
  sample.training.recompute.kind = RecomputeKind::kOperators;
  const std::vector<SavedTensor> kept = saved_tensors(sample.context(), {});
  const double u = layer_input(sample.context()).value();
  const double statistics = 4.0 * 1024 * 16;
  // x 1, q 1, v 1/4, attention 1, w1 4 (F = 4 H)
  CHECK(total(kept).value() == Approx(7.25 * u + statistics));
  CHECK_FALSE(has(kept, TensorId::kAttentionK));
  CHECK_FALSE(has(kept, TensorId::kMlpUp));
  const OpList again = expand_layer(sample.context(), {}).recompute;
  for (const OpId id :
       {OpId::kAttentionNorm, OpId::kAttentionK, OpId::kAttentionO, OpId::kMlpUp, OpId::kMlpNorm}) {
    CHECK(has(again, id));
  }
  for (const OpId id : {OpId::kAttentionQ, OpId::kAttentionV, OpId::kAttentionCore, OpId::kMlpGate,
                        OpId::kMlpDown}) {
    CHECK_FALSE(has(again, id));
  }
  sample.software.memory.keeps_unread_outputs = true;
  CHECK(total(saved_tensors(sample.context(), {})).value() == Approx(8.25 * u + statistics));
}

// Of queries and keys with a norm the policy keeps what the products made, the norm's input, and of
// the normed ones nothing: they are made again.
TEST_CASE("the operator policy keeps normed queries once", "[case]") {
  Sample sample = separate();
  sample.training.recompute.kind = RecomputeKind::kOperators;
  const Bytes plain = total(saved_tensors(sample.context(), {}));
  sample.model.attention.qk_norm = QkNorm::kHead;
  const std::vector<SavedTensor> kept = saved_tensors(sample.context(), {});
  CHECK(total(kept) == plain);
  CHECK(has(kept, TensorId::kAttentionQNormInput));
  CHECK_FALSE(has(kept, TensorId::kAttentionQ));
  CHECK_FALSE(has(kept, TensorId::kAttentionKNormInput));
  CHECK(has(expand_layer(sample.context(), {}).recompute, OpId::kAttentionQNorm));
}

// DeepSeek-V2-Lite's layer with experts: q, kv_down, kv_up, o, the router, three grouped products,
// then gate, up and down of the shared expert.
Sample with_experts() {
  Sample sample;
  sample.model = test::shipped_model("deepseek_v2_lite");
  sample.plan.ep = sample.plan.dp = 2;
  sample.software.fused_qkv = false;
  sample.software.fused_gate_up = false;
  sample.training.recompute.kind = RecomputeKind::kOperators;
  return sample;
}
constexpr LayerKind kWithExperts{.moe = true};

TEST_CASE("torchtitan's policy leaves the router out of its count, and may stop early", "[unit]") {
  Sample sample = with_experts();
  sample.software.memory.recompute_stops_early = true;
  const BlockOps early = expand_layer(sample.context(), kWithExperts);
  CHECK_FALSE(has(early.recompute, OpId::kMlpGate));  // the fifth, counted without the router
  CHECK(has(early.recompute, OpId::kMlpUp));
  CHECK(has(early.recompute, OpId::kMoeRouter));
  CHECK_FALSE(has(early.recompute, OpId::kExpertsDown));
  CHECK_FALSE(has(early.recompute, OpId::kMlpResidual));
  sample.software.memory.recompute_stops_early = false;
  const BlockOps whole = expand_layer(sample.context(), kWithExperts);
  CHECK(has(whole.recompute, OpId::kExpertsDown));
  CHECK(has(whole.recompute, OpId::kMlpResidual));
  CHECK_FALSE(has(whole.recompute, OpId::kMoeDispatch));
}

TEST_CASE("all-to-alls run again where a model's list has none", "[unit]") {
  Sample sample = with_experts();
  sample.software.memory.selective_keeps_exchanges = false;
  const BlockOps layer = expand_layer(sample.context(), kWithExperts);
  CHECK(has(layer.recompute, OpId::kMoeDispatch));
  CHECK(has(layer.recompute, OpId::kMoeCombine));
}

TEST_CASE("the policy meets no product of a layer that is compiled in pieces", "[unit]") {
  Sample sample = with_experts();
  sample.software.host.layers = LaunchMode::kCompiled;
  sample.software.host.experts = LaunchMode::kEager;
  CHECK_FALSE(is_one_graph(sample.software, kWithExperts));
  const BlockOps pieces = expand_layer(sample.context(), kWithExperts);
  for (const OpId id : {OpId::kAttentionQ, OpId::kAttentionKvUp, OpId::kMlpGate}) {
    CHECK(has(pieces.recompute, id));
  }
  CHECK_FALSE(has(pieces.recompute, OpId::kAttentionCore));  // a call of another library
  CHECK(is_one_graph(sample.software, {}));
  CHECK_FALSE(has(expand_layer(sample.context(), {}).recompute, OpId::kAttentionQ));
}

TEST_CASE("FlexAttention is generated, so that it is kept only in a layer that is one graph",
          "[unit]") {
  Sample sample = with_experts();
  sample.software.attention = AttentionKernel::kFlex;
  sample.software.host.layers = LaunchMode::kEager;
  CHECK(has(expand_layer(sample.context(), {}).recompute, OpId::kAttentionCore));
  sample.software.host.layers = LaunchMode::kCompiled;
  CHECK_FALSE(has(expand_layer(sample.context(), {}).recompute, OpId::kAttentionCore));
}

TEST_CASE("a memory budget gives up what is cheap to compute again first", "[unit]") {
  Sample sample = separate();
  const Bytes all = total(saved_tensors(sample.context(), {}));
  const Bytes optional = all - layer_input(sample.context());
  sample.training.recompute.kind = RecomputeKind::kBudget;
  for (const double budget : {0.0, 0.3, 0.7, 1.0}) {
    sample.training.recompute.budget = budget;
    CAPTURE(budget);
    CHECK(total(saved_tensors(sample.context(), {})) <=
          budget * optional + layer_input(sample.context()));
    const BlockOps ops = expand_layer(sample.context(), {});
    CHECK(ops.recompute.empty() == (budget == 1.0));
  }
  sample.training.recompute.budget = 0.7;
  const std::vector<SavedTensor> kept = saved_tensors(sample.context(), {});
  CHECK_FALSE(has(kept, TensorId::kAttentionNormOutput));
  CHECK_FALSE(has(kept, TensorId::kMlpActivationOutput));
  CHECK(has(kept, TensorId::kAttentionOutput));
}

TEST_CASE("an operator named by two modules runs again once", "[unit]") {
  Sample sample = test::dense_sample();
  sample.training.recompute.kind = RecomputeKind::kSelective;
  sample.training.recompute.modules = {RecomputeModule::kMlp, RecomputeModule::kMlpActivation};
  const OpList again = expand_layer(sample.context(), {}).recompute;
  CHECK(std::count_if(again.begin(), again.end(),
                      [](const Op& op) { return op.id == OpId::kMlpActivation; }) == 1);
}

TEST_CASE("moe_act and shared_experts recompute their part of a layer with experts", "[unit]") {
  Sample sample = test::moe_sample();
  sample.model.moe->shared_expert_ffn_hidden = 512;
  const LayerKind moe{.moe = true};
  const Bytes all = total(saved_tensors(sample.context(), moe));
  sample.training.recompute.kind = RecomputeKind::kSelective;
  sample.training.recompute.modules = {RecomputeModule::kMoeActivation};
  // T k rows of F = 512 in 16 bits
  CHECK(all - total(saved_tensors(sample.context(), moe)) == Bytes(2048.0 * 512 * 2));
  CHECK(has(expand_layer(sample.context(), moe).recompute, OpId::kExpertsActivation));
  sample.training.recompute.modules = {RecomputeModule::kSharedExperts};
  // T rows of gate, up and product
  CHECK(all - total(saved_tensors(sample.context(), moe)) == Bytes(3.0 * 1024 * 512 * 2));
  const OpList again = expand_layer(sample.context(), moe).recompute;
  CHECK(has(again, OpId::kMlpActivation));
  CHECK_FALSE(has(again, OpId::kExpertsActivation));
}

TEST_CASE("qk_norm makes queries and keys again, and moe_dispatch sends rows again", "[unit]") {
  Sample sample = separate();
  sample.model.attention.qk_norm = QkNorm::kHead;
  const Bytes all = total(saved_tensors(sample.context(), {}));
  sample.training.recompute.kind = RecomputeKind::kSelective;
  sample.training.recompute.modules = {RecomputeModule::kQkNorm};
  // T = 1,024 rows of 16 + 4 heads of 64 in 16 bits
  CHECK(all - total(saved_tensors(sample.context(), {})) == Bytes(1024.0 * 20 * 64 * 2));
  const OpList again = expand_layer(sample.context(), {}).recompute;
  CHECK(has(again, OpId::kAttentionQ));
  CHECK(has(again, OpId::kAttentionK));
  CHECK(again.size() == 2);

  Sample experts = test::moe_sample();
  experts.plan.ep = experts.plan.dp = 2;
  const LayerKind moe{.moe = true};
  CHECK(has(saved_tensors(experts.context(), moe), TensorId::kExpertsInput));
  experts.training.recompute = sample.training.recompute;
  experts.training.recompute.modules = {RecomputeModule::kMoeDispatch};
  CHECK_FALSE(has(saved_tensors(experts.context(), moe), TensorId::kExpertsInput));
  CHECK(has(expand_layer(experts.context(), moe).recompute, OpId::kMoeDispatch));
}

TEST_CASE("a policy that keeps what an exchange brings keeps its 16 bits, not the copy in 32",
          "[unit]") {
  Sample sample = test::moe_sample();
  sample.plan.ep = sample.plan.dp = 2;
  sample.software.weighted_sum = Bytes(4);
  sample.software.memory.selective_keeps_exchanges = true;
  const auto rows = [&] {
    const std::vector<SavedTensor> kept = saved_tensors(sample.context(), {.moe = true});
    const auto found = std::ranges::find(kept, TensorId::kMoeCombinedRows, &SavedTensor::id);
    return found == kept.end() ? Bytes{} : found->bytes;
  };
  CHECK(rows() == Bytes(2048.0 * 1024 * 4));  // T k rows of H
  sample.training.recompute.kind = RecomputeKind::kOperators;
  CHECK(rows() == Bytes(2048.0 * 1024 * 2));
}

}  // namespace
}  // namespace stepcast::recompute_choice_test
