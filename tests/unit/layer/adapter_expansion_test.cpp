// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/memory/stage_holding.hpp"
#include "stepcast/schedule/data_parallel.hpp"

namespace stepcast::adapter_expansion_test {
namespace {

using enum LoraTarget;
using test::Sample;

// H = 1024, q and o 1024 wide, k and v 256 each, gated F = 4096, 1,024 tokens; rank 16.
Sample adapted(std::vector<LoraTarget> targets) {
  Sample sample = test::dense_sample();
  sample.training.weights.lora = LoraSpec{16, std::move(targets), false};
  return sample;
}

BlockOps layer_of(const Sample& sample, std::int64_t index) {
  return expand_layer(sample.context(), layer_kind(sample.model, sample.training.weights, index));
}

std::vector<Gemm> products(const OpList& ops, GemmPass pass, OpId id) {
  std::vector<Gemm> found;
  for (const Op& op : ops) {
    const auto* gemm = std::get_if<Gemm>(&op.work);
    if (gemm != nullptr && gemm->pass == pass && op.id == id) {
      found.push_back(*gemm);
    }
  }
  return found;
}

std::size_t count(const OpList& ops, OpId id) {
  return static_cast<std::size_t>(
      std::count_if(ops.begin(), ops.end(), [id](const Op& op) { return op.id == id; }));
}

Bytes saved(const BlockOps& layer, TensorId id) {
  Bytes sum;
  for (const SavedTensor& tensor : layer.saved) {
    sum += tensor.id == id ? tensor.bytes : Bytes{};
  }
  return sum;
}

// qkv, o, gate and up, down: 1024 x (1536 + 1024 + 8192 + 4096) values of the sample's layer.
TEST_CASE("Frozen matrices in 4 bits are converted for each product, forward and backward",
          "[unit]") {
  Sample sample = adapted({kO});
  CHECK(count(layer_of(sample, 1).forward, OpId::kBaseDequantize) == 0);
  sample.training.weights.lora->base = BaseWeights::kNf4;
  const BlockOps layer = layer_of(sample, 1);
  CHECK(count(layer.forward, OpId::kBaseDequantize) == 4);
  CHECK(count(layer.backward, OpId::kBaseDequantize) == 4);
}

TEST_CASE("NF4 takes half a byte and four of a scale for 64, or an eighth of those", "[unit]") {
  CHECK(*quantised_bytes(BaseWeights::kNf4) == Bytes(0.5625));
  CHECK(*quantised_bytes(BaseWeights::kNf4Double) == Bytes(0.5 + 0.015625 + 0.000244140625));
  CHECK_FALSE(quantised_bytes(BaseWeights::kAsOthers));
}

TEST_CASE("Frozen matrices have input gradients and no weight gradients", "[unit]") {
  const Sample sample = adapted({kO});
  const BlockOps layer = layer_of(sample, 1);
  std::size_t weight_gradients = 0;
  for (const Op& op : layer.backward) {
    const auto* gemm = std::get_if<Gemm>(&op.work);
    weight_gradients += gemm != nullptr && gemm->pass == GemmPass::kWgrad ? 1U : 0U;
  }
  CHECK(weight_gradients == 2);  // A and B
  for (const OpId id : {OpId::kAttentionQkv, OpId::kAttentionO, OpId::kMlpGateUp, OpId::kMlpDown}) {
    CHECK(products(layer.backward, GemmPass::kDgrad, id).size() == 1);
  }
}

TEST_CASE("An adapter is two thin products, a scale and a sum, and each has its backward",
          "[unit]") {
  const Sample sample = adapted({kQkv});
  const BlockOps layer = layer_of(sample, 1);
  const auto a = products(layer.forward, GemmPass::kForward, OpId::kAdapterA);
  const auto b = products(layer.forward, GemmPass::kForward, OpId::kAdapterB);
  REQUIRE(a.size() == 1);
  REQUIRE(b.size() == 1);
  CHECK(a[0] == Gemm{1024, 16, 1024});
  CHECK(b[0] == Gemm{1024, 1536, 16});
  CHECK(products(layer.backward, GemmPass::kDgrad, OpId::kAdapterA).size() == 1);
  CHECK(products(layer.backward, GemmPass::kWgrad, OpId::kAdapterA)[0].m == 16);
  CHECK(products(layer.backward, GemmPass::kWgrad, OpId::kAdapterB)[0].n == 16);
  CHECK(count(layer.forward, OpId::kAdapterScale) == 1);
  CHECK(count(layer.backward, OpId::kAdapterScale) == 1);
  CHECK(count(layer.forward, OpId::kAdapterSum) == 1);
  CHECK(count(layer.backward, OpId::kAdapterSum) == 0);
  CHECK(count(layer.forward, OpId::kAdapterDropout) == 0);
  // The gradient of what the matrix and its adapter read is a sum of two.
  CHECK(count(layer.backward, OpId::kAttentionGradientSum) == 1);
}

TEST_CASE("Below the first adapter nothing runs backward", "[unit]") {
  const Sample of_o = adapted({kO});
  const BlockOps first = layer_of(of_o, 0);
  CHECK(count(first.backward, OpId::kAttentionCore) == 0);
  CHECK(count(first.backward, OpId::kAttentionNorm) == 0);
  CHECK(products(first.backward, GemmPass::kDgrad, OpId::kAttentionO).empty());
  CHECK(products(first.backward, GemmPass::kDgrad, OpId::kAdapterA).empty());
  CHECK(products(first.backward, GemmPass::kWgrad, OpId::kAdapterA).size() == 1);
  CHECK(products(first.backward, GemmPass::kDgrad, OpId::kAdapterB).size() == 1);
  CHECK(products(first.backward, GemmPass::kDgrad, OpId::kMlpDown).size() == 1);
  CHECK(saved(first, TensorId::kAttentionQ) == Bytes{});
  CHECK(expand_embedding(of_o.context()).backward.empty());
  // Of q alone in the lowest layer, neither k nor v have anything to hand on.
  Sample of_q = adapted({kQ});
  of_q.software.fused_qkv = false;
  const BlockOps lowest = layer_of(of_q, 0);
  CHECK(products(lowest.backward, GemmPass::kDgrad, OpId::kAttentionK).empty());
  CHECK(count(lowest.backward, OpId::kAttentionCore) == 1);
}

// 1,024 tokens of 1,024 values of 2 bytes are 2 MiB.
TEST_CASE("What a frozen matrix reads is not kept, what an adapter reads is", "[unit]") {
  constexpr Bytes kStream{1024.0 * 1024.0 * 2.0};
  Sample sample = adapted({kQkv, kO});
  const BlockOps plain = layer_of(sample, 1);
  CHECK(saved(plain, TensorId::kAttentionNormOutput) == Bytes{});
  CHECK(saved(plain, TensorId::kMlpNormOutput) == Bytes{});
  CHECK(saved(plain, TensorId::kMlpActivationOutput) == Bytes{});
  CHECK(saved(plain, TensorId::kMlpActivationInput) == 8.0 * kStream);
  CHECK(saved(plain, TensorId::kAdapterInput) == kStream);  // of o attention keeps it anyway
  sample.training.weights.lora->dropout = true;
  const BlockOps dropped = layer_of(sample, 1);
  CHECK(saved(dropped, TensorId::kAdapterInput) == 2.0 * kStream);
  CHECK(saved(dropped, TensorId::kAdapterDropoutMask) == kStream);  // two of a byte a value
  sample.training.weights.lora = LoraSpec{16, {kQ, kK, kV}, false};
  CHECK(saved(layer_of(sample, 1), TensorId::kAdapterInput) == kStream);
}

TEST_CASE("Tensor parallelism divides the adapters of both kinds of matrices", "[unit]") {
  Sample sample = adapted({kQkv, kO});
  sample.plan.tp = 4;
  sample.plan.sequence_parallel = true;
  const BlockOps layer = layer_of(sample, 1);
  const auto a = products(layer.forward, GemmPass::kForward, OpId::kAdapterA);
  const auto b = products(layer.forward, GemmPass::kForward, OpId::kAdapterB);
  REQUIRE(a.size() == 2);
  CHECK(a[0] == Gemm{1024, 4, 1024});  // a quarter of the rank, gathered
  CHECK(b[0] == Gemm{1024, 384, 16});
  CHECK(a[1] == Gemm{1024, 16, 256});  // summed over a quarter of the input each
  CHECK(b[1] == Gemm{1024, 256, 16});
  std::vector<Collective> moved;
  for (const Op& op : layer.forward) {
    if (op.id == OpId::kAdapterTp) {
      moved.push_back(std::get<Collective>(op.work));
    }
  }
  REQUIRE(moved.size() == 3);
  CHECK(moved[0].op == CollectiveOp::kAllGather);
  CHECK(moved[0].bytes == Bytes(1024 * 16 * 2));
  CHECK(moved[1].op == CollectiveOp::kAllReduce);
  CHECK(moved[2].op == CollectiveOp::kAllToAll);
  CHECK(moved[2].bytes == Bytes(1024 * 256 * 2));
  // 16 (1024 + 1536) and 16 (1024 + 1024) elements, a quarter of each.
  const LocalParameters local =
      local_parameters(layer_parameters(sample.model, {}, sample.training.weights), sample.plan);
  CHECK(local.trained().total() == 16 * (1024 + 1536 + 1024 + 1024) / 4);
}

TEST_CASE("Frozen weights that lie in 8 bits are not converted again", "[unit]") {
  Sample sample = adapted({kO});
  sample.training.dtype = Dtype::kFp8;
  const auto conversions = [&](FrozenWeights frozen) {
    sample.software.frozen_weights = frozen;
    const BlockOps layer = layer_of(sample, 1);
    return std::array{
        count(layer.forward, OpId::kQuantize), count(layer.forward, OpId::kQuantizeTranspose),
        count(layer.backward, OpId::kQuantize), count(layer.backward, OpId::kQuantizeTranspose)};
  };
  using Counts = std::array<std::size_t, 4>;
  CHECK(conversions(FrozenWeights::kParameters) == Counts{8, 4, 4, 0});
  CHECK(conversions(FrozenWeights::kProducts) == Counts{4, 0, 4, 0});
  CHECK(conversions(FrozenWeights::kProductsOneLayout) == Counts{4, 0, 4, 4});
}

TEST_CASE("Frozen parameters have neither gradients nor optimizer states", "[unit]") {
  SoftwareSpec software;
  software.states = {Bytes(2), Bytes(4), Bytes(12)};
  const LocalParameters parameters{1e9, 0.0, 0.9e9, 0.0};
  const StateMemory memory = state_memory(parameters, ParallelPlan{}, software);
  CHECK(memory.parameters.value() == test::nearly(2e9));
  CHECK(memory.gradients.value() == test::nearly(0.4e9));
  CHECK(memory.optimizer.value() == test::nearly(1.2e9));
  software.frozen_weights = FrozenWeights::kProducts;
  CHECK(state_memory(parameters, ParallelPlan{}, software, Dtype::kFp8).parameters.value() ==
        test::nearly(1.1e9));
  CHECK(state_memory(parameters, ParallelPlan{}, software, Dtype::kBf16).parameters.value() ==
        test::nearly(2e9));
}

TEST_CASE("Full sharding gathers what is frozen and reduces what is trained", "[unit]") {
  Sample sample = adapted({kO});
  sample.plan.dp = 4;
  sample.plan.fsdp = 4;
  sample.plan.zero = 3;
  const LocalParameters parameters{1e6, 0.0, 0.9e6, 0.0};
  const auto bytes = [](const OpList& ops) { return std::get<Collective>(ops.at(0).work).bytes; };
  const LayerTraffic sharded = layer_traffic(sample.context(), parameters);
  CHECK(bytes(sharded.gather).value() == test::nearly(2e6));
  CHECK(bytes(sharded.reduce).value() == test::nearly(0.4e6));
  sample.plan.zero = 1;
  sample.plan.fsdp = 1;
  const LayerTraffic replicated = layer_traffic(sample.context(), parameters);
  CHECK(bytes(replicated.gather).value() == test::nearly(0.2e6));
  CHECK(bytes(replicated.reduce).value() == test::nearly(0.4e6));
}

}  // namespace
}  // namespace stepcast::adapter_expansion_test
