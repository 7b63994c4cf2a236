// SPDX-License-Identifier: Apache-2.0
// The kinds of kernels that memory bounds. Each is one row here: the enumeration, the names that
// files and reports use, the bytes that must move and the category in a trace are made of the rows.
// Which kernels an implementation of it runs is its row in backends/memory_bound.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

// What frameworks name the kernels after: what they compute, that they copy, or the optimizer.
enum class KernelFamily { kElementwise, kCopy, kUpdate };

// ROW(enumerator, name, forward, backward, family). Forward and backward are the tensors of rows x
// cols that must be read and written, whatever the implementation: what a generated kernel takes
// over from its neighbour or computes again is left out. Comments say what it does, which tensors
// those are and, behind a semicolon, those of backward.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage, bugprone-macro-parentheses)
#define STEPCAST_MEMORY_BOUND_KINDS(ROW)                                                       \
  /* RMSNorm: x, y; dy, x, dx */                                                               \
  ROW(kNorm, norm, 2, 3, kElementwise)                                                         \
  /* the same over fp32 values, written out in calls of the framework: likewise */             \
  ROW(kWrittenNorm, written_norm, 2, 3, kElementwise)                                          \
  /* mean and variance: likewise */                                                            \
  ROW(kLayerNorm, layer_norm, 2, 3, kElementwise)                                              \
  /* x, y */                                                                                   \
  ROW(kRope, rope, 2, 2, kElementwise)                                                         \
  /* the same as products of complex numbers: likewise */                                      \
  ROW(kComplexRope, complex_rope, 2, 2, kElementwise)                                          \
  /* and of a part of each head, which is joined with the rest afterwards: likewise */         \
  ROW(kComplexRopeParts, complex_rope_parts, 2, 2, kElementwise)                               \
  /* as transformers writes it, x cos + rotate_half(x) sin, in 16 bits: likewise */            \
  ROW(kRotateHalf, rotate_half, 2, 2, kElementwise)                                            \
  /* the same in fp32 by tables in fp32, with the casts around it: likewise */                 \
  ROW(kRotateHalfFp32, rotate_half_fp32, 2, 2, kElementwise)                                   \
  /* in fp32 by tables in 16 bits, of a copy in fp32, and back: likewise */                    \
  ROW(kCastRotateHalf, cast_rotate_half, 2, 2, kElementwise)                                   \
  /* of one input tensor (GELU, squared ReLU): x, y; dy, x, dx */                              \
  ROW(kActivation, activation, 2, 3, kElementwise)                                             \
  /* silu(gate) * up: gate, up, product; gate, up, dy and two gradients */                     \
  ROW(kGatedActivation, gated_activation, 3, 5, kElementwise)                                  \
  /* likewise, both drawn towards a limit by a tanh first */                                   \
  ROW(kSoftClampedActivation, soft_clamped_activation, 3, 5, kElementwise)                     \
  /* x times a gate, or its sigmoid: x, gate, product; dy, x, gate and two gradients */        \
  ROW(kGate, gate, 3, 5, kElementwise)                                                         \
  /* RMSNorm of x times a gate's SiLU or sigmoid: likewise */                                  \
  ROW(kGatedNorm, gated_norm, 3, 5, kElementwise)                                              \
  /* each channel over the few rows before: x, y; dy, x, dx */                                 \
  ROW(kShortConvolution, short_convolution, 2, 3, kElementwise)                                \
  /* likewise, and SiLU: x, y; dy, x, dx */                                                    \
  ROW(kActivatedConvolution, activated_convolution, 2, 3, kElementwise)                        \
  /* decays of a recurrence or weights of streams from their logits, in fp32: logits,          \
     weights; those and the gradient */                                                        \
  ROW(kLogitWeights, logit_weights, 2, 3, kElementwise)                                        \
  /* rows x cols are values, summed over windows of rows by the softmax of as many scores:     \
     values, scores, what is left depends on the window; both and their gradients */           \
  ROW(kPool, pool, 2, 4, kElementwise)                                                         \
  /* rows x cols are the streams of each token, summed with its weights into one: those;       \
     those and their gradient */                                                               \
  ROW(kStreamSum, stream_sum, 1, 2, kElementwise)                                              \
  /* rows x cols are the kept residuals of each token and its stream, summed by the softmax    \
     of a score of each, a product behind a norm: likewise */                                  \
  ROW(kResidualSum, residual_sum, 1, 2, kElementwise)                                          \
  /* the same streams mixed with each other and a block's result added: streams, results;      \
     two gradients and the streams */                                                          \
  ROW(kStreamMix, stream_mix, 2, 3, kElementwise)                                              \
  /* x + weight of the row * bias of its expert: x, y; dy for the gradients of both */         \
  ROW(kExpertBias, expert_bias, 2, 1, kElementwise)                                            \
  /* the same with weights in fp32, counted in `element`, that of the weights */               \
  ROW(kExpertBiasFp32, expert_bias_fp32, 2, 1, kElementwise)                                   \
  /* x cut at a limit, half by half: x, y; dy, x, dx */                                        \
  ROW(kClamp, clamp, 2, 3, kElementwise)                                                       \
  /* x + y, y perhaps of the norm that follows; one more gradient added to the sum */          \
  ROW(kResidual, residual, 2.5, 2, kElementwise)                                               \
  /* x, y: the mask can be computed again */                                                   \
  ROW(kDropout, dropout, 2, 2, kElementwise)                                                   \
  /* scores, top-k and weights over rows x experts: scores, weights */                         \
  ROW(kRouter, router, 2, 2, kElementwise)                                                     \
  /* the k largest of each row: scores; zeros and the gradient of the k largest */             \
  ROW(kTopK, topk, 1, 2, kElementwise)                                                         \
  /* rows x cols are a token's k rows, gathered into expert order: those; its one row          \
     depends on k and is left out */                                                           \
  ROW(kPermute, permute, 1, 1, kElementwise)                                                   \
  /* a token's k rows weighted and summed: likewise */                                         \
  ROW(kUnpermute, unpermute, 1, 1, kElementwise)                                               \
  /* a token's k rows weighted and summed in fp32: likewise, `element` of 16 bits */           \
  ROW(kUnpermuteFp32, unpermute_fp32, 1, 1, kElementwise)                                      \
  /* rows in another order, by an index that is sorted first */                                \
  ROW(kSortRows, sort_rows, 2, 2, kElementwise)                                                \
  /* a token's row for each of its choices: those; its one row depends on k and is left out */ \
  ROW(kRowsTaken, rows_taken, 1, 1, kElementwise)                                              \
  /* rows joined with one of zeros and gathered by index: both read and written; gradients     \
     added up by index */                                                                      \
  ROW(kRowsGathered, rows_gathered, 4, 2, kElementwise)                                        \
  /* rows put where their index says */                                                        \
  ROW(kRowsPut, rows_put, 2, 2, kElementwise)                                                  \
  /* the same, and weighted and summed in fp32: rows; their gradients */                       \
  ROW(kRowsWeighted, rows_weighted, 1, 1, kElementwise)                                        \
  /* the gradients of a token's rows, in fp32, as an outer product of its gradient with        \
     the weights: that gradient */                                                             \
  ROW(kRowsOuter, rows_outer, 1, 1, kElementwise)                                              \
  /* a token's row for each of its choices, those of other ranks masked: as rows_taken */      \
  ROW(kMaskedRowsTaken, masked_rows_taken, 1, 1, kElementwise)                                 \
  /* rows cloned, and those of other ranks set to zero */                                      \
  ROW(kMaskedRows, masked_rows, 2, 2, kElementwise)                                            \
  /* the same, weighted, put back by index and summed: rows; their gradients */                \
  ROW(kMaskedRowsWeighted, masked_rows_weighted, 1, 1, kElementwise)                           \
  /* what routed rows need besides their order: counts, offsets, owners */                     \
  ROW(kRowIndex, row_index, 1, 1, kElementwise)                                                \
  /* rows by index */                                                                          \
  ROW(kGather, gather, 2, 2, kElementwise)                                                     \
  /* rows added by index, atomically: rows, sums read and written; gradient read and           \
     written */                                                                                \
  ROW(kIndexAdd, index_add, 3, 2, kElementwise)                                                \
  /* blocks of rows in another order */                                                        \
  ROW(kStridedCopy, strided_copy, 2, 2, kCopy)                                                 \
  /* rows put together of two parts each */                                                    \
  ROW(kJoin, join, 2, 2, kCopy)                                                                \
  /* two partial results of attention, the second of half the queries, into one; the           \
     first gradient and half of a second into fp32 */                                          \
  ROW(kMergePartials, merge_partials, 2.5, 3.5, kElementwise)                                  \
  /* gradients of keys and values that arrive in fp32 and those of the rank itself into        \
     one */                                                                                    \
  ROW(kSumPartials, sum_partials, 5, 5, kElementwise)                                          \
  /* a partial result and the sum of those before it: both, the sum */                         \
  ROW(kAddPartial, add_partial, 3, 3, kElementwise)                                            \
  /* keys and values repeated for the query heads that share them: those; what they are        \
     repeated of depends on how often and is left out */                                       \
  ROW(kRepeatHeads, repeat_heads, 1, 1, kCopy)                                                 \
  /* to 8 bits with one scale a tensor: 16 bits in, 8 out */                                   \
  ROW(kQuantize, quantize, 1.5, 1.5, kElementwise)                                             \
  /* one scale a row */                                                                        \
  ROW(kQuantizeRow, quantize_row, 1.5, 1.5, kElementwise)                                      \
  /* one scale for 128 values */                                                               \
  ROW(kQuantizeBlock, quantize_block, 1.5, 1.5, kElementwise)                                  \
  /* one scale for 16 or 32 values: 16 bits in, 4 out */                                       \
  ROW(kQuantizeFp4, quantize_fp4, 1.25, 1.25, kElementwise)                                    \
  /* 4 bits with a scale for 64 values to 16: 4.5 bits in, 16 out */                           \
  ROW(kDequantizeNf4, dequantize_nf4, 1.28, 1.28, kElementwise)                                \
  /* of 8 bits, with a scale a row: 8 bits in, 16 out */                                       \
  ROW(kDequantizeInt8, dequantize_int8, 1.5, 1.5, kElementwise)                                \
  /* the activation of a linear layer, as TensorRT-LLM finds and applies its scale */          \
  ROW(kServedQuantize, served_quantize, 1.5, 1.5, kElementwise)                                \
  /* the same by 128-element blocks */                                                         \
  ROW(kServedQuantizeBlock, served_quantize_block, 1.5, 1.5, kElementwise)                     \
  /* the same to fp4 */                                                                        \
  ROW(kServedQuantizeFp4, served_quantize_fp4, 1.25, 1.25, kElementwise)                       \
  /* a second result of the kernel before it */                                                \
  ROW(kTranspose, transpose, 1, 1, kCopy)                                                      \
  /* a further result of the backward of a norm, a byte at a time: one row's thread after the  \
     other writes its column */                                                                \
  ROW(kTransposeInNorm, transpose_in_norm, 1, 1, kCopy)                                        \
  /* rows, y; dy, gradient rows */                                                             \
  ROW(kEmbedding, embedding, 2, 2, kElementwise)                                               \
  /* logits; logits and their gradient */                                                      \
  ROW(kCrossEntropy, cross_entropy, 1, 2, kElementwise)                                        \
  /* over a shard of the vocabulary: likewise */                                               \
  ROW(kParallelCrossEntropy, parallel_cross_entropy, 1, 2, kElementwise)                       \
  /* fp32 to 16 bits: 32 in, 16 out, counted in `element`, that of the narrow side */          \
  ROW(kCast, cast, 3, 3, kCopy)                                                                \
  /* 16 bits to fp32: the converse */                                                          \
  ROW(kCastUp, cast_up, 3, 3, kCopy)                                                           \
  /* x, y */                                                                                   \
  ROW(kCopy, copy, 2, 2, kCopy)                                                                \
  /* fp32 to 16 bits, of a list of tensors in kernels of many (PyTorch's foreach): as cast */  \
  ROW(kListCast, list_cast, 3, 3, kCopy)                                                       \
  /* of a list of tensors likewise: x, y */                                                    \
  ROW(kListCopy, list_copy, 2, 2, kCopy)                                                       \
  /* of many tensors into fp32, what FSDP does to gradients: 16 bits in, 32 out;               \
     `element` is that of the inputs */                                                        \
  ROW(kConcatenate, concatenate, 3, 3, kCopy)                                                  \
  /* SGD: gradient, master; the last written */                                                \
  ROW(kSgd, sgd, 3, 3, kUpdate)                                                                \
  /* and with momentum */                                                                      \
  ROW(kSgdMomentum, sgd_momentum, 5, 5, kUpdate)                                               \
  /* Adafactor: gradient for sums of rows and columns, for the norm of the update and for      \
     the update, master; the last written */                                                   \
  ROW(kAdafactor, adafactor, 5, 5, kUpdate)                                                    \
  /* and with momentum */                                                                      \
  ROW(kAdafactorMomentum, adafactor_momentum, 7, 7, kUpdate)                                   \
  /* the gradient goes into a momentum: gradient, momentum; the last written */                \
  ROW(kMomentum, momentum, 3, 3, kUpdate)                                                      \
  /* a matrix over its norm, in 16 bits: fp32 read for the norm and for the quotient, 16       \
     bits written, counted in `element` of 4 bytes */                                          \
  ROW(kNormalizeMatrix, normalize_matrix, 2.5, 2.5, kUpdate)                                   \
  /* a matrix moves by its orthogonalised momentum: 16 bits read, master read and written,     \
     likewise */                                                                               \
  ROW(kMatrixUpdate, matrix_update, 2.5, 2.5, kUpdate)                                         \
  /* an Adam step over cols parameters with states of `element` each, on the mean where their  \
     formats differ: gradient, master, two moments; the last three written */                  \
  ROW(kOptimizer, optimizer, 7, 7, kUpdate)

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage, bugprone-macro-parentheses)
#define STEPCAST_ENUMERATOR(enumerator, name, forward, backward, family) enumerator,
enum class MemoryBoundKind { STEPCAST_MEMORY_BOUND_KINDS(STEPCAST_ENUMERATOR) };
#undef STEPCAST_ENUMERATOR

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_NAME(enumerator, name, forward, backward, family) std::string_view{#name},
template <>
inline constexpr std::array kNamesOf<MemoryBoundKind> = {
    STEPCAST_MEMORY_BOUND_KINDS(STEPCAST_NAME)};
#undef STEPCAST_NAME
inline constexpr std::size_t kMemoryBoundKinds = kNamesOf<MemoryBoundKind>.size();

KernelFamily family_of(MemoryBoundKind kind);

struct CompulsoryPasses {
  double forward;
  double backward;
};
CompulsoryPasses compulsory_passes(MemoryBoundKind kind);

}  // namespace stepcast
