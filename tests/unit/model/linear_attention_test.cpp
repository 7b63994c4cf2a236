// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/linear_attention.hpp"

#include "catch.hpp"

namespace stepcast::linear_attention_test {
namespace {

// Two heads over one chunk of 4 tokens, with states of 2 x 3.
LinearAttention small(DeltaRule rule, Direction direction) {
  LinearAttention op;
  op.batch = 1;
  op.seq = 4;
  op.heads = 2;
  op.qk_heads = 1;
  op.d_k = 2;
  op.d_v = 3;
  op.chunk = 4;
  op.rule = rule;
  op.direction = direction;
  return op;
}

TEST_CASE("FLOPs of the gated delta rule are those of its products under the triangle", "[unit]") {
  // Under the triangle lie 4 * 5 / 2 = 10 pairs; a product with the state is 4 * 2 * 3 = 24.
  // Forward: K K^T, W, Q K^T of d_k, U and P V of d_v, three with the state, and an inverse.
  const double forward = 2.0 * (10.0 * (3.0 * 2.0 + 2.0 * 3.0) + 3.0 * 24.0) + 64.0 / 3.0;
  CHECK(flops(small(DeltaRule::kGatedDelta, Direction::kForward)).value() == Approx(2.0 * forward));
  // Backward: W and U again, Q K^T, dO V^T's two of keys, five through W, U and T: 9 of d_k;
  // U, its gradients' three and dO V^T: 5 of d_v; eleven with the state less what forward counts:
  // 2 + 3 + 3; two products of triangles.
  const double backward = 2.0 * (10.0 * (9.0 * 2.0 + 5.0 * 3.0) + 8.0 * 24.0) + 2.0 * 64.0 / 3.0;
  CHECK(flops(small(DeltaRule::kGatedDelta, Direction::kBackward)).value() ==
        Approx(2.0 * backward));
}

TEST_CASE("a decay a channel changes the bytes of decays, not the products forward", "[unit]") {
  const LinearAttention gated = small(DeltaRule::kGatedDelta, Direction::kForward);
  const LinearAttention kimi = small(DeltaRule::kKimiDelta, Direction::kForward);
  CHECK(flops(kimi) == flops(gated));
  // q, k: 4 * 2 each; v and o: 4 * 2 * 3 each; strengths 4 * 2; all of 2 bytes. Decays of 4 bytes:
  // 4 * 2, and twice as many by channel.
  CHECK(compulsory_bytes(gated).value() == 2.0 * (16.0 + 48.0 + 8.0) + 4.0 * 8.0);
  CHECK(compulsory_bytes(kimi).value() == 2.0 * (16.0 + 48.0 + 8.0) + 4.0 * 16.0);
}

TEST_CASE("a kernel of the state moves its operands and a state a chunk", "[unit]") {
  LinearAttention op = small(DeltaRule::kGatedDelta, Direction::kForward);
  op.seq = 6;  // two chunks, the second one short
  CHECK(chunks_of(op) == 2);
  for (const ChunkKernel& kernel : chunk_kernels(op.rule, op.direction)) {
    if (kernel.sequential) {
      // k of one head 6 * 2, W of two 6 * 2 * 2, U and V' 2 * 6 * 2 * 3, states 2 * 2 * 2 * 3.
      CHECK(bytes_moved(op, kernel).value() == 2.0 * (12.0 + 24.0 + 72.0 + 24.0));
    }
  }
}

TEST_CASE("gradients of keys that heads share are added up in kernels of their own", "[unit]") {
  LinearAttention op = small(DeltaRule::kGatedDelta, Direction::kBackward);
  CHECK(kernels_of(op).back().name == "head_sums");
  CHECK(kernels_of(op).size() == chunk_kernels(op.rule, op.direction).size() + 1);
  op.qk_heads = op.heads;
  CHECK(kernels_of(op).size() == chunk_kernels(op.rule, op.direction).size());
}

}  // namespace
}  // namespace stepcast::linear_attention_test
