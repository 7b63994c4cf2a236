// SPDX-License-Identifier: Apache-2.0
// Linear attention by a gated delta rule, in chunks, and the kernels that it runs as.
//
// Each value head keeps a state S of d_k x d_v. With decay a_t and write strength b_t:
//
//   S_t = a_t (I - b_t k_t k_t^T) S_(t-1) + b_t k_t v_t^T,   o_t = S_t^T q_t
//
//   gated delta   one decay a head and token      Gated DeltaNet, arXiv 2412.06464
//   kimi delta    one a channel of the key        Kimi Linear, arXiv 2510.26692
//
// Chunks of C tokens, by the WY representation: T = (I + tril(b K K^T))^-1, W = T (b K),
// U = T (b V); then from chunk to chunk V' = U - W S, S = S + K^T V'; then
// O = Q S + tril(Q K^T) V'. A chunk's products are over C x C pairs under a triangle; those with
// the state are C x d_k x d_v.
//
// Kernels are those of flash-linear-attention (github fla-org/flash-linear-attention, fla/ops/
// gated_delta_rule/chunk.py and fla/ops/kda/{chunk_fwd,chunk_bwd}.py of 2026-08), which Megatron,
// Primus and Transformers run. Backward makes W, U and the states of forward again.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/model/direction.hpp"

namespace stepcast {

enum class DeltaRule { kGatedDelta, kKimiDelta };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<DeltaRule> = {"gated_delta",
                                                                        "kimi_delta"};

struct LinearAttention {
  std::int64_t batch = 0;
  std::int64_t seq = 0;
  std::int64_t heads = 0;     // of values and of the state
  std::int64_t qk_heads = 0;  // that divide `heads`
  std::int64_t d_k = 0;
  std::int64_t d_v = 0;
  std::int64_t chunk = 64;
  DeltaRule rule = DeltaRule::kGatedDelta;
  Dtype dtype = Dtype::kBf16;
  Direction direction = Direction::kForward;
  bool operator==(const LinearAttention&) const = default;
};

// What one kernel does for each chunk of each value head, and the tensors that it reads or writes.
struct ChunkKernel {
  std::string_view name;
  double launches = 1.0;
  bool sequential = false;         // from chunk to chunk; else all chunks at once
  bool gradient_of_keys = false;   // the kernel that holds most tensors at a time
  double state_products = 0.0;     // of C x d_k x d_v
  double key_products = 0.0;       // of pairs x d_k
  double value_products = 0.0;     // of pairs x d_v
  double inverses = 0.0;           // of a triangle of C x C
  double triangle_products = 0.0;  // of two triangles of C x C
  double scaled = 0.0;             // values that a channel's decay scales, of C x d_k
  double keys = 0.0;               // tensors of tokens x heads x d_k
  double shared_keys = 0.0;        // of tokens x qk_heads x d_k
  double values = 0.0;             // of tokens x heads x d_v
  double triangles = 0.0;          // of tokens x heads x C
  double states = 0.0;             // of chunks x heads x d_k x d_v
  double decays = 0.0;             // in fp32, of tokens x heads, or x d_k as well
};

// In the order in which they run. Those that add up gradients of shared keys run only if there are
// fewer heads of keys than of values.
std::span<const ChunkKernel> chunk_kernels(DeltaRule rule, Direction direction);
ChunkKernel shared_key_sums(DeltaRule rule);
std::vector<ChunkKernel> kernels_of(const LinearAttention& op);

std::int64_t chunks_of(const LinearAttention& op);  // of one sequence
Flops flops(const LinearAttention& op, const ChunkKernel& kernel);
Bytes bytes_moved(const LinearAttention& op, const ChunkKernel& kernel);

// FLOPs of all kernels. Pairs are those under the triangle, C (C + 1) / 2 of a chunk; an inverse
// and a product of two triangles are C^3 / 3 FLOPs each.
Flops flops(const LinearAttention& op);
// Forward reads q, k, v, the decays and the write strengths and writes o; backward reads them and
// the gradient of o and writes theirs.
Bytes compulsory_bytes(const LinearAttention& op);

}  // namespace stepcast
