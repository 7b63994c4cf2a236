// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/op.hpp"

#include <cstdlib>

#include "catch.hpp"

namespace stepcast::op_test {
namespace {

using test::nearly;

Attention attention(std::int64_t seq_q, std::int64_t seq_kv, bool causal, std::int64_t window) {
  Attention op;
  op.batch = 2;
  op.seq_q = seq_q;
  op.seq_kv = seq_kv;
  op.heads = 4;
  op.kv_heads = 2;
  op.d_qk = 24;
  op.d_v = 16;
  op.causal = causal;
  op.window = window;
  return op;
}

// Pairs (i, j) that the mask leaves, one by one.
double counted_pairs(std::int64_t length, bool causal, std::int64_t window) {
  double pairs = 0.0;
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t j = 0; j < length; ++j) {
      const bool past = !causal || j <= i;
      const bool near = window == 0 || std::abs(i - j) < window;
      pairs += past && near ? 1.0 : 0.0;
    }
  }
  return pairs;
}

TEST_CASE("attended pairs are those that the mask leaves, counted one by one", "[property]") {
  for (std::int64_t length = 1; length <= 24; ++length) {
    for (std::int64_t window = 0; window <= length + 2; ++window) {
      for (const bool causal : {false, true}) {
        CAPTURE(length, window, causal);
        CHECK(attended_pairs(attention(length, length, causal, window)) ==
              nearly(counted_pairs(length, causal, window)));
      }
    }
  }
}

TEST_CASE("context parallelism gives each rank the same share of all pairs", "[unit]") {
  for (const std::int64_t window : {0, 5}) {
    const double whole = attended_pairs(attention(16, 16, true, window));
    CHECK(attended_pairs(attention(4, 16, true, window)) == nearly(whole / 4.0));
  }
}

TEST_CASE("a GEMM has 2 m n k FLOPs a batch", "[unit]") {
  CHECK(flops(Gemm{3, 5, 7, 2}) == Flops(420));  // 2 * 2 * 3 * 5 * 7
}

TEST_CASE("a grouped GEMM has 2 rows n k FLOPs, however the rows fall", "[unit]") {
  CHECK(flops(GroupedGemm{.groups = 4, .m_total = 100, .n = 5, .k = 7}) == Flops(7000));
}

// Forward Q K^T and P V; backward Q K^T again, dQ and dK over d_qk, dV and dP over d_v.
TEST_CASE("attention has two products forward and five backward", "[unit]") {
  Attention op = attention(8, 8, true, 0);
  const double pairs = 2 * 4 * 36;  // batch * heads * 8 * 9 / 2
  CHECK(flops(op).value() == nearly(2.0 * pairs * (24 + 16)));
  op.direction = Direction::kBackward;
  CHECK(flops(op).value() == nearly(2.0 * pairs * (3 * 24 + 2 * 16)));
}

TEST_CASE("operators that compute nothing have no FLOPs", "[unit]") {
  CHECK(flops(Op{.work = MemoryBound{MemoryBoundKind::kNorm, 10, 10}}) == Flops{});
  CHECK(flops(Op{.work = Collective{CollectiveOp::kAllReduce, Bytes(1e9), {8, 1}}}) == Flops{});
  CHECK(flops(Op{.work = Gemm{3, 5, 7}}) == Flops(210));
}

TEST_CASE("a GEMM must read both operands and write its result in 16 bits", "[unit]") {
  CHECK(compulsory_bytes(Gemm{3, 5, 7}) == Bytes(2 * (21 + 35 + 15)));
  Gemm fp8{3, 5, 7};
  fp8.dtype = Dtype::kFp8;
  CHECK(compulsory_bytes(fp8) == Bytes(21 + 35 + 2 * 15));
}

TEST_CASE("a GEMM that adds to fp32 gradients reads and writes 4 bytes of each", "[unit]") {
  const Gemm op{.m = 3, .n = 5, .k = 7, .accumulate = true, .result = Bytes(4)};
  CHECK(compulsory_bytes(op) == Bytes(2 * (21 + 35) + 2 * 4 * 15));
  GroupedGemm grouped{.groups = 4, .m_total = 100, .n = 5, .k = 7, .pass = GemmPass::kWgrad};
  grouped.accumulate = true;
  grouped.result = Bytes(4);
  CHECK(compulsory_bytes(grouped) == Bytes(2 * (700 + 500) + 2 * 4 * 4 * 35));
}

TEST_CASE("a grouped GEMM must read the weights of every group", "[unit]") {
  GroupedGemm op{.groups = 4, .m_total = 100, .n = 5, .k = 7};
  CHECK(compulsory_bytes(op) == Bytes(2 * (700 + 4 * 35 + 500)));
  op.pass = GemmPass::kWgrad;  // reads x and dy, writes four n x k gradients
  CHECK(compulsory_bytes(op) == Bytes(2 * (700 + 500 + 4 * 35)));
}

TEST_CASE("a group without rows needs no weights, and its gradient is zeros", "[unit]") {
  GroupedGemm op{.groups = 4, .m_total = 100, .n = 5, .k = 7, .counts = {60, 0, 40, 0}};
  CHECK(compulsory_bytes(op) == Bytes(2 * (700 + 2 * 35 + 500)));
  op.pass = GemmPass::kWgrad;
  CHECK(compulsory_bytes(op) == Bytes(2 * (700 + 500 + 4 * 35)));
  op.sequential = true;  // no kernel writes it
  CHECK(compulsory_bytes(op) == Bytes(2 * (700 + 500 + 2 * 35)));
}

TEST_CASE("every memory-bound kind has passes of its own", "[unit]") {
  const auto passes = [](MemoryBoundKind kind, Direction direction) {
    const MemoryBound op{.kind = kind, .rows = 10, .cols = 10, .direction = direction};
    return compulsory_bytes(op) / Bytes(200);
  };
  CHECK(passes(MemoryBoundKind::kNorm, Direction::kBackward) == 3.0);
  CHECK(passes(MemoryBoundKind::kRope, Direction::kForward) == 2.0);
  CHECK(passes(MemoryBoundKind::kGatedActivation, Direction::kBackward) == 5.0);
  CHECK(passes(MemoryBoundKind::kCrossEntropy, Direction::kForward) == 1.0);
  CHECK(passes(MemoryBoundKind::kServedQuantizeFp4, Direction::kForward) == 1.25);
  CHECK(passes(MemoryBoundKind::kCopy, Direction::kForward) == 2.0);
  CHECK(passes(MemoryBoundKind::kOptimizer, Direction::kForward) == 7.0);
}

TEST_CASE("attention must read q, k and v and write its output", "[unit]") {
  // Rows of q: 2 * 8 * 4 heads; of k and v: 2 * 8 * 2 heads. Widths 24 and 16.
  CHECK(compulsory_bytes(attention(8, 8, true, 0)) ==
        Bytes(2 * (64 * 24 + 32 * (24 + 16) + 64 * 16)));
}

TEST_CASE("every enumerator has a name of its own", "[unit]") {
  CHECK(name(CollectiveOp::kSendRecv) == "send_recv");
  CHECK(name(MemoryBoundKind::kNorm) == "norm");
  CHECK(name(MemoryBoundKind::kOptimizer) == "optimizer");
  CHECK(name(Implementation::kFused) == "fused");
  CHECK(name(Axis::kTensor) == "tp");
  CHECK(name(Axis::kPipeline) == "pp");
  CHECK(name(AttentionKernel::kUnfused) == "unfused");
  CHECK(name(AttentionKernel::kAiter) == "aiter");
}

}  // namespace
}  // namespace stepcast::op_test
