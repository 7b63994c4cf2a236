// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/document_mask.hpp"

#include <algorithm>

#include "catch.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast::document_mask_test {
namespace {

Documents fixed(std::int64_t length) { return {length, DocumentLengths::kFixed, true}; }
Documents geometric(std::int64_t length) { return {length, DocumentLengths::kGeometric, true}; }

// Sum over t and a <= t of q^a, as the header has it, with a window.
double counted_pairs(double q, std::int64_t sequence, std::int64_t window) {
  double pairs = 0.0;
  for (std::int64_t t = 0; t < sequence; ++t) {
    double weight = 1.0;
    for (std::int64_t a = 0; a <= t && (window == 0 || a < window); ++a) {
      pairs += weight;
      weight *= q;
    }
  }
  return pairs;
}

}  // namespace

TEST_CASE("documents of one length leave a triangle each", "[unit]") {
  // Ten tokens as 4, 4 and 2: 10 + 10 + 3 pairs of 55.
  CHECK(causal_pairs(fixed(4), 10, 0) == 23.0);
  CHECK(causal_pairs(Documents{}, 10, 0) == 55.0);
  // Each token sees itself and the one before it: 7 + 7 + 3.
  CHECK(causal_pairs(fixed(4), 10, 2) == 17.0);
  CHECK(causal_pairs(fixed(1), 10, 0) == 10.0);
}

TEST_CASE("a sequence that is one document and padding has one triangle", "[unit]") {
  CHECK(causal_pairs({4, DocumentLengths::kFixed, false}, 10, 0) == 10.0);
  // Half of the documents end after each token: 1 + 2 / 2 + 3 / 4.
  CHECK(causal_pairs({2, DocumentLengths::kGeometric, false}, 3, 0) == Approx(2.75));
}

TEST_CASE("documents of random length are counted token by token", "[unit]") {
  // Three tokens, half of the documents end after each: 1 + 1.5 + 1.75.
  CHECK(causal_pairs(geometric(2), 3, 0) == Approx(4.25));
  CHECK(causal_pairs(geometric(1), 7, 0) == Approx(7.0));
  for (const std::int64_t window : {0, 1, 5, 64}) {
    CHECK(causal_pairs(geometric(20), 100, window) ==
          Approx(counted_pairs(0.95, 100, window)).epsilon(1e-9));
  }
  CHECK(tokens_before(fixed(4), 10) == 2.0);
  CHECK(tokens_before(geometric(2), 2) == Approx(0.75));  // 1/2 + 1/4
}

TEST_CASE("one document of the whole sequence is the causal mask", "[property]") {
  const auto sequence = GENERATE(1, 2, 100, 4096, 131'072);
  const auto window = GENERATE(0, 1, 128);
  const double causal = causal_pairs(Documents{}, sequence, window);
  CHECK_FALSE(shortens(fixed(sequence), sequence));
  CHECK(causal_pairs(fixed(sequence), sequence, window) == causal);
  CHECK(causal_pairs(fixed(10 * sequence), sequence, window) == causal);
  CHECK(causal_pairs(geometric(1 << 27), sequence, window) == Approx(causal).epsilon(2e-3));
}

TEST_CASE("a mask by document never adds pairs, and longer documents never take any",
          "[property]") {
  const auto lengths = GENERATE(DocumentLengths::kFixed, DocumentLengths::kGeometric);
  const auto window = GENERATE(0, 3, 128);
  const auto sequence = GENERATE(1, 77, 4096);
  double shorter = 0.0;
  for (std::int64_t length = 1; length < 20'000; length *= 3) {
    const double pairs = causal_pairs({length, lengths, true}, sequence, window);
    CHECK(pairs >= static_cast<double>(sequence));
    CHECK(pairs <= causal_pairs(Documents{}, sequence, window) * (1.0 + 1e-12));
    // A last document cut short may make up for it where the lengths are fixed.
    if (lengths == DocumentLengths::kGeometric) {
      CHECK(pairs >= shorter * (1.0 - 1e-9));
    }
    shorter = pairs;
  }
}

TEST_CASE("attention counts the pairs that documents leave", "[unit]") {
  Attention op;
  op.batch = 1;
  op.seq_q = op.seq_kv = 10;
  op.heads = op.kv_heads = 1;
  op.d_qk = op.d_v = 8;
  op.documents = fixed(4);
  CHECK(attended_pairs(op) == 23.0);
  CHECK(flops(op).value() == 2.0 * 23.0 * 16.0);
  op.causal = false;  // the mask is of causal attention
  CHECK(attended_pairs(op) == 100.0);
}

}  // namespace stepcast::document_mask_test
