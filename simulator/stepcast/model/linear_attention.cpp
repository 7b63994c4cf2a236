// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/linear_attention.hpp"

#include "stepcast/base/real.hpp"
#include "stepcast/base/sum.hpp"

namespace stepcast {
namespace {

constexpr Bytes kDecay{4.0};  // fp32

// Sums of decays along a chunk: read and written.
constexpr ChunkKernel kDecaySums{.name = "decay_sums", .decays = 2.0};
// State: W S, K^T V'; reads k, W, U and writes a state a chunk and V'.
constexpr ChunkKernel kState{.name = "state",
                             .sequential = true,
                             .state_products = 2.0,
                             .keys = 1.0,
                             .shared_keys = 1.0,
                             .values = 2.0,
                             .states = 1.0};
// W = T (b K), U = T (b V).
constexpr ChunkKernel kWu{.name = "w_u",
                          .key_products = 1.0,
                          .value_products = 1.0,
                          .keys = 1.0,
                          .shared_keys = 1.0,
                          .values = 2.0,
                          .triangles = 1.0};

// dV' += K dS, dS += Q^T dO - W^T dV', from the last chunk to the first.
constexpr ChunkKernel kStateGradients{.name = "state_gradients",
                                      .sequential = true,
                                      .state_products = 3.0,
                                      .keys = 1.0,
                                      .shared_keys = 2.0,
                                      .values = 3.0,
                                      .states = 1.0};

constexpr std::array kGatedForward = {kDecaySums, ChunkKernel{.name = "zeros", .triangles = 1.0},
                                      // K K^T and T itself.
                                      ChunkKernel{.name = "inverse",
                                                  .key_products = 1.0,
                                                  .inverses = 1.0,
                                                  .shared_keys = 1.0,
                                                  .triangles = 1.0},
                                      kWu, kState,
                                      // Q S + (Q K^T) V'.
                                      ChunkKernel{.name = "output",
                                                  .state_products = 1.0,
                                                  .key_products = 1.0,
                                                  .value_products = 1.0,
                                                  .shared_keys = 2.0,
                                                  .values = 2.0,
                                                  .states = 1.0}};

constexpr std::array kGatedBackward = {
    kWu, kState,
    // (Q K^T)^T dO within a chunk.
    ChunkKernel{.name = "value_gradients",
                .key_products = 1.0,
                .value_products = 1.0,
                .shared_keys = 2.0,
                .values = 2.0},
    kStateGradients,
    // dQ = dO S^T, dK = V' dS^T, dW = dV' S^T, dO V'^T and its products with K and Q.
    ChunkKernel{.name = "key_gradients",
                .gradient_of_keys = true,
                .state_products = 3.0,
                .key_products = 2.0,
                .value_products = 1.0,
                .keys = 4.0,
                .shared_keys = 2.0,
                .values = 3.0,
                .states = 2.0},
    // Through W, U and T: dW K^T, T^T dW, K K^T and two products with its gradient; dU V^T, T^T dU.
    ChunkKernel{.name = "w_u_gradients",
                .key_products = 5.0,
                .value_products = 2.0,
                .triangle_products = 2.0,
                .keys = 2.0,
                .shared_keys = 1.0,
                .values = 3.0,
                .triangles = 1.0},
    // Gradients of keys and of decays come from two kernels each.
    ChunkKernel{.name = "sums", .launches = 2.0, .keys = 3.0, .decays = 3.0}, kDecaySums};

// With a decay a channel the operands of a product are scaled first: a kernel for the diagonal
// blocks, one for the others, and scaled keys are kept for the state. How many values are scaled
// stands for the loops over rows of a block as well, one constant for all: set from times of the
// kernels on one H100 (tests/validation/linear_attention_kernels.jsonl).
constexpr std::array kKimiForward = {
    kDecaySums,
    ChunkKernel{.name = "zeros", .launches = 2.0, .triangles = 3.0},
    ChunkKernel{.name = "diagonal_blocks",
                .key_products = 0.5,
                .scaled = 2.0,
                .shared_keys = 2.0,
                .triangles = 1.0,
                .decays = 1.0},
    ChunkKernel{.name = "inverse",
                .key_products = 1.5,
                .inverses = 1.0,
                .scaled = 1.0,
                .shared_keys = 2.0,
                .triangles = 2.0,
                .decays = 1.0},
    ChunkKernel{.name = "w_u",
                .key_products = 1.0,
                .value_products = 1.0,
                .keys = 2.0,
                .shared_keys = 1.0,
                .values = 2.0,
                .triangles = 1.0,
                .decays = 1.0},
    kState,
    ChunkKernel{.name = "output",
                .state_products = 1.0,
                .value_products = 1.0,
                .shared_keys = 1.0,
                .values = 2.0,
                .triangles = 1.0,
                .states = 1.0,
                .decays = 1.0}};

constexpr std::array kKimiBackward = {
    ChunkKernel{.name = "w_u",
                .key_products = 1.0,
                .value_products = 1.0,
                .keys = 3.0,
                .shared_keys = 2.0,
                .values = 2.0,
                .triangles = 1.0,
                .decays = 1.0},
    kState,
    // The gradient of a chunk's scores is in fp32.
    ChunkKernel{.name = "value_gradients", .value_products = 2.0, .values = 3.0, .triangles = 3.0},
    kStateGradients,
    // Also what goes through W, U and T.
    ChunkKernel{.name = "key_gradients",
                .gradient_of_keys = true,
                .state_products = 3.0,
                .key_products = 2.0,
                .value_products = 2.0,
                .triangle_products = 2.0,
                .scaled = 8.0,
                .keys = 4.0,
                .shared_keys = 2.0,
                .values = 5.0,
                .triangles = 3.0,
                .states = 2.0,
                .decays = 2.0},
    // Through the scaled products of a chunk, block by block: each row of a block of 16 in turn.
    ChunkKernel{.name = "block_gradients",
                .key_products = 4.0,
                .scaled = 17.0,
                .keys = 8.0,
                .shared_keys = 2.0,
                .triangles = 4.0,
                .decays = 3.0},
    // Gradients of queries and keys from fp32 to 16 bits.
    ChunkKernel{.name = "conversion", .launches = 3.0, .keys = 6.0}, kDecaySums};

double tokens(const LinearAttention& op) { return real(op.batch) * real(op.seq); }

// Decays of one tensor.
double decays(const LinearAttention& op) {
  const double each = op.rule == DeltaRule::kKimiDelta ? real(op.d_k) : 1.0;
  return tokens(op) * real(op.heads) * each;
}

}  // namespace

std::span<const ChunkKernel> chunk_kernels(DeltaRule rule, Direction direction) {
  const bool forward = direction == Direction::kForward;
  if (rule == DeltaRule::kGatedDelta) {
    return forward ? std::span<const ChunkKernel>(kGatedForward)
                   : std::span<const ChunkKernel>(kGatedBackward);
  }
  return forward ? std::span<const ChunkKernel>(kKimiForward)
                 : std::span<const ChunkKernel>(kKimiBackward);
}

// The gated rule adds up three tensors, queries' gradients and those of keys from two kernels.
ChunkKernel shared_key_sums(DeltaRule rule) {
  const double tensors = rule == DeltaRule::kGatedDelta ? 3.0 : 2.0;
  return {.name = "head_sums", .launches = tensors, .keys = tensors, .shared_keys = tensors};
}

std::vector<ChunkKernel> kernels_of(const LinearAttention& op) {
  const std::span<const ChunkKernel> listed = chunk_kernels(op.rule, op.direction);
  std::vector<ChunkKernel> kernels(listed.begin(), listed.end());
  if (op.direction == Direction::kBackward && op.qk_heads < op.heads) {
    kernels.push_back(shared_key_sums(op.rule));
  }
  return kernels;
}

std::int64_t chunks_of(const LinearAttention& op) { return (op.seq + op.chunk - 1) / op.chunk; }

Flops flops(const LinearAttention& op, const ChunkKernel& kernel) {
  const double c = real(op.chunk);
  const double pairs = c * (c + 1.0) / 2.0;
  const double products =
      kernel.state_products * c * real(op.d_k) * real(op.d_v) +
      pairs * (kernel.key_products * real(op.d_k) + kernel.value_products * real(op.d_v));
  const double triangles = (kernel.inverses + kernel.triangle_products) * c * c * c / 3.0;
  const double chunks = real(op.batch) * real(op.heads) * real(chunks_of(op));
  return Flops(chunks * (2.0 * products + triangles));
}

Bytes bytes_moved(const LinearAttention& op, const ChunkKernel& kernel) {
  const double rows = tokens(op) * real(op.heads);
  const double chunks = real(op.batch) * real(op.heads) * real(chunks_of(op));
  const double elements = rows * (kernel.keys * real(op.d_k) + kernel.values * real(op.d_v) +
                                  kernel.triangles * real(op.chunk)) +
                          tokens(op) * kernel.shared_keys * real(op.qk_heads) * real(op.d_k) +
                          chunks * kernel.states * real(op.d_k) * real(op.d_v);
  return elements * size_of(op.dtype) + kernel.decays * decays(op) * kDecay;
}

Flops flops(const LinearAttention& op) {
  return sum_over(chunk_kernels(op.rule, op.direction),
                  [&](const ChunkKernel& kernel) { return flops(op, kernel); });
}

Bytes compulsory_bytes(const LinearAttention& op) {
  const bool forward = op.direction == Direction::kForward;
  const double qk = 2.0 * tokens(op) * real(op.qk_heads) * real(op.d_k);
  const double strengths = tokens(op) * real(op.heads);
  const double values = tokens(op) * real(op.heads) * real(op.d_v);
  const double passes = forward ? 1.0 : 2.0;
  // v and o, or v, its gradient and that of o.
  const double rows = passes * (qk + strengths) + (forward ? 2.0 : 3.0) * values;
  return rows * size_of(op.dtype) + passes * decays(op) * kDecay;
}

}  // namespace stepcast
