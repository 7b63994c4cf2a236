// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/sparse_attention.hpp"

#include "catch.hpp"

namespace stepcast::sparse_attention_test {
namespace {

SparseAttention chosen_of(std::int64_t tokens, std::int64_t chosen, std::int64_t ratio) {
  SparseAttention op;
  op.batch = 1;
  op.seq_q = tokens;
  op.seq_kv = tokens;
  op.heads = 2;
  op.d_qk = 6;
  op.d_v = 4;
  op.chosen = chosen;
  op.ratio = ratio;
  return op;
}

TEST_CASE("a query attends to its chosen keys, or to all before it while they are fewer",
          "[unit]") {
  // Positions 1 to 5 with 3 keys at most: 1 + 2 + 3 + 3 + 3.
  CHECK(attended_pairs(chosen_of(5, 3, 1)) == 12.0);
  // As many as there are is the causal mask: 1 + ... + 5.
  CHECK(attended_pairs(chosen_of(5, 99, 1)) == 15.0);
}

TEST_CASE("a compressed key is seen once all of its tokens are there", "[unit]") {
  // Two tokens a key, positions 1 to 8: 0 1 1 2 2 3 3 4, and 2 at most: 0 1 1 2 2 2 2 2.
  CHECK(attended_pairs(chosen_of(8, 99, 2)) == 16.0);
  CHECK(attended_pairs(chosen_of(8, 2, 2)) == 12.0);
  // Nine tokens make four keys as well, which the last two positions see.
  CHECK(attended_pairs(chosen_of(9, 99, 2)) == 20.0);
  // A window of 3 tokens beside them: 1 + 2 + 3 * 6.
  SparseAttention windowed = chosen_of(8, 2, 2);
  windowed.window = 3;
  CHECK(attended_pairs(windowed) == 12.0 + 21.0);
  CHECK(listed_keys(windowed) == 5);
}

TEST_CASE("FLOPs and bytes of attention over chosen keys", "[unit]") {
  SparseAttention op = chosen_of(5, 3, 1);
  // Two heads, 12 pairs, Q K^T of 6 and P V of 4.
  CHECK(flops(op).value() == 2.0 * 2.0 * 12.0 * 10.0);
  // q 5 * 2 * 6, o 5 * 2 * 4, keys 5 * 6 of 2 bytes; lists of 3 in 4 bytes.
  CHECK(compulsory_bytes(op).value() == 2.0 * (60.0 + 40.0 + 30.0) + 4.0 * 15.0);
  op.direction = Direction::kBackward;
  CHECK(flops(op).value() == 2.0 * 2.0 * 12.0 * (3.0 * 6.0 + 2.0 * 4.0));
}

TEST_CASE("an indexer scores every key before a query and learns from the chosen ones", "[unit]") {
  IndexScores op;
  op.batch = 1;
  op.seq_q = 5;
  op.seq_kv = 5;
  op.heads = 2;
  op.d = 8;
  op.chosen = 3;
  CHECK(flops(op).value() == 2.0 * 15.0 * 16.0);
  // q 5 * 16 and k 5 * 8 of 2 bytes, weights 5 * 2 and lists 5 * 3 of 4.
  CHECK(compulsory_bytes(op).value() == 2.0 * 120.0 + 4.0 * 10.0 + 4.0 * 15.0);
  op.direction = Direction::kBackward;
  CHECK(flops(op).value() == 2.0 * 12.0 * 3.0 * 16.0);
  op.teacher_heads = 4;
  op.teacher_d = 10;
  CHECK(flops(op).value() == 2.0 * 12.0 * (3.0 * 16.0 + 40.0));
}

TEST_CASE("ranks that share the queries of a sequence share its pairs", "[unit]") {
  SparseAttention op = chosen_of(64, 16, 1);
  const double whole = attended_pairs(op);
  op.seq_q = 16;
  CHECK(attended_pairs(op) == whole / 4.0);
}

}  // namespace
}  // namespace stepcast::sparse_attention_test
