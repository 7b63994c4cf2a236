// SPDX-License-Identifier: Apache-2.0
// Forward under torch.autocast over fp32 weights, as Hugging Face's Trainer runs it. The sample has
// 1024 tokens, H = 1024, 16 heads and 4 key/value heads of 64, F = 4096.
#include <algorithm>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/memory/stage_holding.hpp"

namespace stepcast::autocast_test {
namespace {

using test::Sample;

Sample sample_in_autocast() {
  Sample sample = test::dense_sample();
  sample.software.autocast = Autocast::kUnsharded;
  sample.software.fused_qkv = false;
  sample.software.fused_gate_up = false;
  sample.software.norm = Implementation::kEager;
  sample.plan.zero = 0;
  return sample;
}

std::vector<MemoryBound> passes(const OpList& ops, OpId id) {
  std::vector<MemoryBound> found;
  for (const Op& op : ops) {
    if (const auto* pass = std::get_if<MemoryBound>(&op.work); pass != nullptr && op.id == id) {
      found.push_back(*pass);
    }
  }
  return found;
}

Bytes saved_as(const BlockOps& layer, TensorId id) {
  Bytes bytes;
  for (const SavedTensor& tensor : layer.saved) {
    bytes += tensor.id == id ? tensor.bytes : Bytes{};
  }
  return bytes;
}

// q, k, v, o, gate, up, down; those behind a norm are q, k, v, gate and up.
TEST_CASE("under autocast every product casts its weight, and each behind a norm its own input",
          "[unit]") {
  const Sample sample = sample_in_autocast();
  const BlockOps layer = expand_layer(sample.context(), {});
  for (const OpList* ops : {&layer.forward, &layer.backward}) {
    CHECK(passes(*ops, OpId::kAutocastWeight).size() == 7);
    CHECK(passes(*ops, OpId::kAutocastInput).size() == 5);
  }
  CHECK(passes(layer.forward, OpId::kAutocastWeight).front().kind == MemoryBoundKind::kCast);
  CHECK(passes(layer.backward, OpId::kAutocastWeight).front().kind == MemoryBoundKind::kCastUp);
  // The gradient of both sums goes to 16 bits before the products that made the summand.
  CHECK(passes(layer.backward, OpId::kAutocastGradient).size() == 2);
}

TEST_CASE("the residual stream is in fp32 under autocast and in 16 bits without", "[unit]") {
  Sample sample = sample_in_autocast();
  const BlockOps layer = expand_layer(sample.context(), {});
  CHECK(passes(layer.forward, OpId::kAttentionNorm).front().element == Bytes(4));
  CHECK(passes(layer.forward, OpId::kAttentionNorm).front().kind == MemoryBoundKind::kWrittenNorm);
  CHECK(passes(layer.forward, OpId::kMlpResidual).front().element == Bytes(4));
  CHECK(layer_input(sample.context()) == Bytes(1024.0 * 1024.0 * 4.0));
  sample.software.autocast = Autocast::kNone;
  CHECK(layer_input(sample.context()) == Bytes(1024.0 * 1024.0 * 2.0));
}

TEST_CASE("where FSDP shards the weights, its policy casts them and autocast does not", "[unit]") {
  Sample sample = sample_in_autocast();
  sample.plan.zero = 3;
  sample.plan.dp = sample.plan.fsdp = 2;
  const BlockOps layer = expand_layer(sample.context(), {});
  CHECK(passes(layer.forward, OpId::kAutocastWeight).empty());
  CHECK(passes(layer.forward, OpId::kAttentionNorm).front().element == kSixteenBits);
}

// 5 inputs of 1024 x 1024; weights of 2 (q, o) x 1024 x 1024, 2 (k, v) x 256 x 1024 and 3 x 4096 x
// 1024: all in 16 bits.
TEST_CASE("casts of inputs and of weights stay for backward, and the norm's result does not",
          "[unit]") {
  const Sample sample = sample_in_autocast();
  const BlockOps layer = expand_layer(sample.context(), {});
  CHECK(saved_as(layer, TensorId::kProductInputs) == Bytes(5.0 * 1024.0 * 1024.0 * 2.0));
  CHECK(saved_as(layer, TensorId::kWeightCasts) ==
        Bytes((2.0 * 1024.0 + 2.0 * 256.0 + 3.0 * 4096.0) * 1024.0 * 2.0));
  CHECK(saved_as(layer, TensorId::kAttentionNormOutput) == Bytes{});
}

TEST_CASE("written-out norms keep their input in fp32 or what the gain multiplies", "[unit]") {
  Sample sample = sample_in_autocast();
  CHECK(saved_as(expand_layer(sample.context(), {}), TensorId::kNormCopies) == Bytes{});
  sample.software.memory.keeps_norm_copies = true;
  CHECK(saved_as(expand_layer(sample.context(), {}), TensorId::kNormCopies) ==
        Bytes(2.0 * 1024.0 * 1024.0 * 4.0));
  sample.software.norm = Implementation::kFused;
  CHECK(saved_as(expand_layer(sample.context(), {}), TensorId::kNormCopies) == Bytes{});
}

TEST_CASE("experts under autocast are products in fp32, one expert after the other", "[unit]") {
  Sample sample = test::moe_sample();
  sample.software.autocast = Autocast::kUnsharded;
  sample.software.permute = Implementation::kEager;
  sample.software.permute_order = PermuteOrder::kIndexMasked;
  sample.plan.zero = 0;
  const BlockOps layer = expand_layer(sample.context(), {.moe = true});
  int products = 0;
  for (const Op& op : layer.forward) {
    if (const auto* product = std::get_if<GroupedGemm>(&op.work)) {
      ++products;
      CHECK(product->dtype == Dtype::kFp32);
      CHECK(product->sequential);
    }
  }
  CHECK(products == 2);  // gate and up in one, down
  CHECK(passes(layer.forward, OpId::kExpertsMask).size() == 1);
  CHECK(passes(layer.forward, OpId::kMoePermute).front().kind == MemoryBoundKind::kMaskedRowsTaken);
  // 1024 tokens to 2 experts each, rows of 1024 values in fp32.
  CHECK(saved_as(layer, TensorId::kExpertsInput) == Bytes(2048.0 * 1024.0 * 4.0));
}

TEST_CASE("rotate_half is one list of kernels in 16 bits and another in fp32", "[unit]") {
  Sample sample = sample_in_autocast();
  sample.model.positions = Positions::kRope;
  sample.software.rope = Implementation::kEager;
  sample.software.rope_form = RopeForm::kRotateHalf;
  const auto kind = [&] {
    return passes(expand_layer(sample.context(), {}).forward, OpId::kAttentionRope).front().kind;
  };
  CHECK(kind() == MemoryBoundKind::kRotateHalfFp32);
  sample.software.autocast = Autocast::kNone;
  CHECK(kind() == MemoryBoundKind::kRotateHalf);
  sample.software.rope_form = RopeForm::kCastRotateHalf;
  CHECK(kind() == MemoryBoundKind::kCastRotateHalf);
  sample.software.rope = Implementation::kFused;  // Liger's
  CHECK(kind() == MemoryBoundKind::kRope);
}

TEST_CASE("16-bit training has two bytes a weight, two a gradient and four of moments", "[unit]") {
  SoftwareSpec software;
  software.autocast = Autocast::kUnsharded;
  train_in_16_bits(software);
  const StateMemory memory = state_memory({1e9, 0.0}, ParallelPlan{}, software);
  CHECK(memory.parameters == Bytes(2e9));
  CHECK(memory.gradients == Bytes(2e9));
  CHECK(memory.optimizer == Bytes(4e9));
  CHECK(software.autocast == Autocast::kNone);
}

TEST_CASE("under autocast the fp32 weights are the master copy", "[unit]") {
  SoftwareSpec software;
  software.autocast = Autocast::kUnsharded;
  ParallelPlan plan;
  plan.zero = 0;
  const StateMemory memory = state_memory({1e9, 0.0}, plan, software);
  CHECK(memory.parameters == Bytes(4e9));
  CHECK(memory.gradients == Bytes(4e9));
  CHECK(memory.optimizer == Bytes(8e9));
}

}  // namespace
}  // namespace stepcast::autocast_test
