// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/memory/stage_holding.hpp"
#include "stepcast/schedule/data_parallel.hpp"

namespace stepcast::base_weights_test {
namespace {

using test::nearly;
using test::Sample;

// Matrices of a layer: q, o, k and v, gate, up and down.
constexpr double kMatrices = 2.0 * 1024 * 1024 + 2.0 * 256 * 1024 + 3.0 * 4096 * 1024;

Sample packed(BaseWeights base) {
  Sample sample = test::dense_sample();
  sample.training.weights.lora = LoraSpec{16, {LoraTarget::kQ, LoraTarget::kV}, false, base};
  return sample;
}

double passes_over(const OpList& ops, MemoryBoundKind kind) {
  double elements = 0.0;
  for (const Op& op : ops) {
    const auto* pass = std::get_if<MemoryBound>(&op.work);
    if (pass != nullptr && op.id == OpId::kBaseDequantize && pass->kind == kind) {
      elements += static_cast<double>(pass->rows * pass->cols);
    }
  }
  return elements;
}

// 4 bits are half a byte; 4 bytes for 64 weights a 16th; 1 byte for 64 and 4 for 256 of those
// 0.0159, which is 0.127 bits.
TEST_CASE("Weights of 4 bits take a half and a 16th of a byte, or 0.516 with scales of 8 bits",
          "[case]") {
  CHECK_FALSE(quantised_bytes(BaseWeights::kAsOthers));
  CHECK(*quantised_bytes(BaseWeights::kInt8) == Bytes(1.0));
  CHECK(*quantised_bytes(BaseWeights::kNf4) == Bytes(0.5625));
  const double doubled = quantised_bytes(BaseWeights::kNf4Double)->value();
  CHECK(doubled == nearly(0.5 + 1.0 / 64 + 4.0 / 64 / 256));
  CHECK(8.0 * (doubled - 0.5) == nearly(0.127).margin(0.0002));
}

TEST_CASE("Matrices of attention and feed-forward are packed, norms and ends are not", "[case]") {
  const Sample sample = packed(BaseWeights::kNf4);
  const BuiltStage stage = StageBuilder().stage(sample.context(), 0);
  const LocalParameters all = stage.parameters.all();
  CHECK(all.packed_dense == 8.0 * kMatrices);
  const double rest = all.frozen_dense - all.packed_dense;
  CHECK(rest == 2.0 * 32'000 * 1024 + 17.0 * 1024);  // embedding, head, two norms a layer, one more
  CHECK(state_memory(sample.context(), all).parameters.value() ==
        nearly(0.5625 * all.packed_dense + 2.0 * rest + 2.0 * all.trained().total()));
}

TEST_CASE("Each product reads a matrix that is made 16 bits before it", "[unit]") {
  for (const BaseWeights base : {BaseWeights::kNf4, BaseWeights::kNf4Double}) {
    const Sample sample = packed(base);
    const LayerKind kind = layer_kind(sample.model, sample.training.weights, 1);
    const BlockOps layer = expand_layer(sample.context(), kind);
    CHECK(passes_over(layer.forward, MemoryBoundKind::kDequantizeNf4) == kMatrices);
    CHECK(passes_over(layer.backward, MemoryBoundKind::kDequantizeNf4) == kMatrices);
  }
}

// LLM.int8 multiplies bytes in forward, and makes 16 bits of them for the gradient of the input.
TEST_CASE("Weights of 8 bits are made 16 bits in backward alone", "[unit]") {
  const Sample sample = packed(BaseWeights::kInt8);
  const LayerKind kind = layer_kind(sample.model, sample.training.weights, 1);
  const BlockOps layer = expand_layer(sample.context(), kind);
  CHECK(passes_over(layer.forward, MemoryBoundKind::kDequantizeInt8) == 0.0);
  CHECK(passes_over(layer.backward, MemoryBoundKind::kDequantizeInt8) == kMatrices);
}

// Of a layer the matrices in 0.5625 bytes and two norms in 2; adapters of rank 16 on q and v.
TEST_CASE("Full sharding gathers packed weights as they lie", "[case]") {
  Sample sample = packed(BaseWeights::kNf4);
  sample.plan.dp = sample.plan.fsdp = 8;
  sample.plan.zero = 3;
  const BuiltStage stage = StageBuilder().stage(sample.context(), 0);
  const LayerTraffic traffic = layer_traffic(sample.context(), stage.layers.front().parameters);
  const double adapters = 16.0 * (1024 + 1024) + 16.0 * (1024 + 256);
  CHECK(std::get<Collective>(traffic.gather.front().work).bytes.value() ==
        nearly(0.5625 * kMatrices + 2.0 * 2.0 * 1024 + 2.0 * adapters));
}

}  // namespace
}  // namespace stepcast::base_weights_test
