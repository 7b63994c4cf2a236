// SPDX-License-Identifier: Apache-2.0
// Attention over keys that an indexer chose for each query, and the indexer's scores.
//
// Sparse attention: a query of `heads` heads attends to the `chosen` keys of its own list, the same
// for all heads of a key head, and to the last `window` tokens where there is a window. Keys are
// latent: values are their first d_v dimensions (DeepSeek-V3.2, arXiv 2512.02556: 576 and 512,
// of one key head; DeepSeek-V4: keys that stand for several tokens each, and a window).
//
// Index scores: I(t, s) = sum over heads of w(t, h) ReLU(q(t, h) . k(s)) of all keys before t, and
// the choice of the largest. Backward (the indexer learns the attention's probabilities by their
// divergence, on chosen keys): scores again, gradients of q, k and w, and the teacher's
// probabilities, one product of its heads, where `teacher_heads` is not 0.
//
// Both are causal over the seq_kv tokens of a sequence, of which a key to choose stands for `ratio`
// (1: each token has its own): the query at position t, counted from 1, sees floor(t / ratio) keys.
// With fewer queries than tokens (context parallelism with balanced chunks) it is the same share of
// all pairs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/model/direction.hpp"

namespace stepcast {

// Whose kernels attend to chosen keys: the GPU's library (FlashMLA, Primus-Turbo), or Triton's, one
// of keys and values apart (AMD-AGI/Primus, v4_attention_kernels).
enum class SparseKernel { kLibrary, kTriton };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<SparseKernel> = {"library", "triton"};

struct SparseAttention {
  std::int64_t batch = 0;
  std::int64_t seq_q = 0;
  std::int64_t seq_kv = 0;  // tokens before compression
  std::int64_t heads = 0;
  std::int64_t kv_heads = 1;
  std::int64_t d_qk = 0;
  std::int64_t d_v = 0;  // the first of d_qk
  std::int64_t chosen = 0;
  std::int64_t ratio = 1;   // tokens that a key to choose stands for
  std::int64_t window = 0;  // of tokens with keys of their own; 0: none
  bool sinks = false;       // one learned logit a head beside the scores
  SparseKernel kernel = SparseKernel::kLibrary;
  Dtype dtype = Dtype::kBf16;
  Direction direction = Direction::kForward;
  bool operator==(const SparseAttention&) const = default;
};

struct IndexScores {
  std::int64_t batch = 0;
  std::int64_t seq_q = 0;
  std::int64_t seq_kv = 0;
  std::int64_t heads = 0;
  std::int64_t d = 0;
  std::int64_t chosen = 0;
  std::int64_t ratio = 1;
  std::int64_t teacher_heads = 0;  // of the attention that backward learns from; 0: not here
  std::int64_t teacher_d = 0;      // of its queries and keys
  Dtype dtype = Dtype::kBf16;      // of forward; backward is in 16 bits
  Direction direction = Direction::kForward;
  bool operator==(const IndexScores&) const = default;
};

// Keys of one sequence to choose from, and the longest list of them.
std::int64_t keys_to_choose(const SparseAttention& op);
std::int64_t keys_to_choose(const IndexScores& op);
std::int64_t listed_keys(const SparseAttention& op);
std::int64_t listed_keys(const IndexScores& op);

// Query-key pairs of `queries` of a sequence's `tokens` positions, each with `most` of its keys at
// most: the sum of min(floor(t / ratio), most) over the positions t = 1 ... tokens, or their share.
double capped_pairs(std::int64_t queries, std::int64_t tokens, std::int64_t ratio,
                    std::int64_t most);

// Query-key pairs of one head and one sequence: chosen ones and those of the window; and all that
// the indexer scores.
double attended_pairs(const SparseAttention& op);
double chosen_pairs(const IndexScores& op);
double scored_pairs(const IndexScores& op);

// Forward Q K^T and P V; backward the scores again, and dP, dQ, dK, dV.
Flops flops(const SparseAttention& op);
// Forward one product of all pairs; backward three of the chosen ones, and the teacher's. The sum
// over heads, two operations a score, is not counted.
Flops flops(const IndexScores& op);

// Each tensor once, the list of keys in 4 bytes; scores need not leave the kernel.
Bytes compulsory_bytes(const SparseAttention& op);
Bytes compulsory_bytes(const IndexScores& op);

}  // namespace stepcast
