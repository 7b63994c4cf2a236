// SPDX-License-Identifier: Apache-2.0
#include "backends/memory_bound/memory_kernels.hpp"

namespace stepcast {
namespace {

// Words for the kernels of an implementation; below, what each kind runs.

// --- kernels ----------------------------------------------------------------------------------

constexpr MemoryKernel stream(double passes, double cached = 0.0) {
  return {.passes = passes, .cached = cached};
}
constexpr MemoryKernel gather(double passes) {
  return {.passes = passes, .path = MemoryPath::kGather};
}
constexpr MemoryKernel uncoalesced(double passes) {
  return {.passes = passes, .path = MemoryPath::kUncoalesced};
}
constexpr MemoryKernel indexed(double passes, KernelNumber values = 1.0) {
  return {.passes = passes, .path = MemoryPath::kIndexed, .values = values};
}
constexpr MemoryKernel arithmetic(double passes, KernelNumber values = 1.0, double cached = 0.0) {
  return {.passes = passes, .path = MemoryPath::kArithmetic, .values = values, .cached = cached};
}
constexpr MemoryKernel by_tap(KernelNumber tap_values, MemoryKernel kernel) {
  kernel.tap_values = tap_values;
  return kernel;
}
constexpr MemoryKernel atomic(double passes, KernelNumber values = 1.0) {
  return {.passes = passes, .path = MemoryPath::kAtomic, .values = values};
}
constexpr MemoryKernel update(double passes, KernelNumber values = 1.0) {
  return {.passes = passes, .path = MemoryPath::kUpdate, .values = values};
}
constexpr MemoryKernel convert(double passes, KernelNumber values = 1.0) {
  return {.passes = passes, .path = MemoryPath::kConvert, .values = values};
}
// One group of threads a row, of which a unit needs `rows` to be busy.
constexpr MemoryKernel along_rows(KernelNumber rows, MemoryKernel kernel) {
  kernel.full_rows = rows;
  return kernel;
}
// One group of threads a row, which it reduces before it writes.
constexpr MemoryKernel by_row(MemoryKernel kernel, KernelNumber work = 1.0) {
  kernel.row_work = work;
  kernel.ramps = 2.0;
  return kernel;
}
constexpr MemoryKernel times(int repeats, MemoryKernel kernel) {
  kernel.repeats = repeats;
  return kernel;
}
constexpr MemoryKernel merged(MemoryKernel kernel) {
  kernel.ramps = 0.0;
  kernel.launches = 0.0;
  kernel.calls = 0.0;
  return kernel;
}
// Over something much smaller than the tensor.
constexpr MemoryKernel tiny() { return {}; }
// Sums over rows of partial sums: too few groups of threads to hide latency.
constexpr MemoryKernel column_sums() { return {.passes = 0.1, .ramps = 8.0, .calls = 0.0}; }
// A radix sort of 64-bit indices: 21 short kernels, as PyTorch launches them, which wait for the
// counts of their neighbours.
constexpr MemoryKernel sort() {
  return {.ramps = &ListedKernelConstants::sort_ramps, .calls = 1.0 / 21.0, .repeats = 21};
}
// Launched by the call of the kernel before.
constexpr MemoryKernel same_call(MemoryKernel kernel) {
  kernel.calls = 0.0;
  return kernel;
}
// Writes without reads to alternate with.
constexpr MemoryKernel fill(double passes) {
  return {.passes = passes, .rate_share = &ListedKernelConstants::fill_share};
}

// --- lists ------------------------------------------------------------------------------------

template <typename... Kernels>
constexpr KernelList list(Kernels... kernels) {
  static_assert(sizeof...(Kernels) <= kMostKernels);
  return {{kernels...}, sizeof...(Kernels)};
}

using Kind = MemoryBoundKind;
using Fitted = ListedKernelConstants;

struct KernelPasses {
  KernelList forward;
  KernelList backward;
};

// The same kernels in both directions.
template <typename... Kernels>
constexpr KernelPasses both(Kernels... kernels) {
  return {list(kernels...), list(kernels...)};
}

struct KindKernels {
  Kind kind;
  KernelPasses fused;
  KernelPasses compiled;
  KernelPasses eager;
};

constexpr KindKernels any(Kind kind, KernelPasses passes) { return {kind, passes, passes, passes}; }

// dx from dy, x; the gain's gradient is summed over rows in two steps.
constexpr KernelList kNormGrad = list(by_row(stream(3, 3)), column_sums(), same_call(tiny()));
// PyTorch's own: the gain's gradient reads dy and x again.
constexpr KernelList kFusedNormGrad = list(by_row(stream(3, 3)), same_call(stream(2)));
constexpr KernelList kLayerNormGrad = list(by_row(arithmetic(3, 1, 2)), by_row(arithmetic(2)));

// RMSNorm as a model file writes it: two conversions to fp32, square, mean, + epsilon, rsqrt, two
// products and a conversion back, each a kernel.
constexpr KernelPasses kEagerNorm = {
    list(times(2, indexed(3)), stream(4), stream(2), times(2, tiny()), indexed(4), stream(3),
         indexed(2)),
    list(indexed(2), stream(3), stream(1), indexed(3), indexed(4), stream(6), stream(2), indexed(6),
         stream(6), times(3, stream(3)), times(3, tiny()))};

// flash-linear-attention's: backward sums the filter's gradients over a block's rows tap by tap in
// local memory (ncu: 89 % of its bandwidth, 15 % of HBM's); with SiLU it makes results again before
// and their sigmoid for each tap. Eager: cuDNN's.
constexpr KernelPasses kFilter = {
    list(stream(2)),
    list(by_tap(&Fitted::filter_gradient_taps, arithmetic(3, 0.0)), column_sums())};
constexpr KernelPasses kSiluFilter = {
    list(by_tap(&Fitted::silu_filter_taps, arithmetic(2, &Fitted::silu_filter_values))),
    list(stream(2), by_tap(&Fitted::silu_filter_gradient_taps, arithmetic(4, 0.0)), column_sums())};
constexpr KernelPasses kEagerFilter = {list(times(2, indexed(2)), stream(2)),
                                       list(times(3, indexed(2)), times(2, stream(2)))};
constexpr KernelPasses kEagerSiluFilter = {list(times(2, indexed(2)), times(2, stream(2))),
                                           list(times(3, indexed(2)), times(3, stream(7.0 / 3.0)))};

// Query and key one after the other, each in halves: to fp32, four products, difference and sum,
// concatenation, back to 16 bits. Backward also pads the halves' gradients.
constexpr KernelPasses kEagerRope = {
    list(times(2, indexed(1.5, 0.5)), times(8, indexed(1, 0.25)), times(4, stream(1.5)),
         times(2, stream(2)), times(2, stream(1.5))),
    list(times(2, indexed(1.5, 0.5)), times(8, indexed(1, 0.25)), times(4, stream(1.5)),
         times(2, stream(3.5)), times(2, stream(1.5)))};

// Query and key one after the other: to fp32, a product with the table, which Inductor leaves to
// PyTorch, and back to 16 bits.
constexpr KernelPasses kCompiledComplexRope =
    both(times(2, stream(1.5)), times(2, stream(2)), times(2, stream(1.5)));
// The first cast takes 4.3 to 5.7 ps a value where a plain pass over an index takes 2.8 (traces of
// Llama 3 8B on H100 and DeepSeek-V3 16B on H200).
constexpr KernelPasses kEagerComplexRope =
    both(times(2, indexed(1.5, 0.8)), times(2, stream(2)), times(2, stream(1.5)));
// The join that follows reads fp32.
constexpr KernelPasses kJoinedComplexRope =
    both(times(2, stream(1.5)), times(2, stream(2)), merged(stream(1)));

// Over fp32 values, so without conversions (transformers under autocast, a trace of PyTorch 2.11 on
// H100): square, mean, + epsilon, rsqrt, two products. Backward: the products' gradients, sums over
// rows and along them, and those of the square, whose input is cloned.
constexpr KernelPasses kWrittenNorm = {
    list(stream(2), stream(1), times(2, tiny()), times(2, indexed(2))),
    list(times(2, indexed(2)), times(2, stream(3)), times(2, stream(1)), indexed(1),
         times(2, stream(2)), times(2, stream(3)), times(3, tiny()))};

// Query and key one after the other: x cos; half of x negated, and joined with the other half;
// times sin; the sum. Backward two products, the negated half, both halves put into zeros and
// summed, the sum of both and a copy into the layout of the product. Joining two halves, and sums
// over the layout of heads, take longer than other indexed passes: 72 and 72 us where 53 are
// counted.
constexpr KernelPasses kRotateHalf = {
    list(times(2, indexed(1, 0.5)), times(2, indexed(0.5, 0.25)), times(2, indexed(1, 0.7)),
         times(2, indexed(1, 0.5)), times(2, indexed(1.5, 0.5))),
    list(times(4, indexed(1, 0.5)), times(2, indexed(0.5, 0.25)), times(4, fill(0.5)),
         times(4, indexed(0.5, 0.25)), times(2, stream(1.5)), times(2, indexed(1.5, 0.7)),
         times(2, indexed(1, 0.5)))};
// The products convert one operand on the way, at 97 and 80 us where 53 are counted; casts to 16
// bits before attention, from them in backward and around its halves.
constexpr KernelPasses kRotateHalfFp32 = {
    list(times(4, indexed(1.5, 0.83)), times(2, indexed(0.5, 0.25)), times(2, indexed(1, 0.7)),
         times(2, stream(3)), times(2, stream(1.5))),
    list(times(2, indexed(1.5, 0.5)), times(4, indexed(2, 0.6)), times(4, stream(1.5)),
         times(2, indexed(0.5, 0.25)), times(4, fill(0.5)), times(4, indexed(0.5, 0.25)),
         times(2, stream(1.5)), times(2, indexed(1.5, 0.7)), times(2, indexed(1, 0.5)))};

// Query and key one after the other, of 16-bit values by 16-bit tables: to fp32; x cos; half of x
// negated, and joined with the other half; times sin; the sum; back to 16 bits. Values of each are
// those of torchtitan's kernels on H200 (a trace of Qwen3 30B-A3B): 198 us to fp32, 348 a product,
// 100 the half, 278 the join of 67 M values, where a plain pass over an index takes 187.
constexpr KernelPasses kCastRotateHalf = {
    list(times(2, indexed(1.5, 0.53)), times(4, indexed(2, 0.93)), times(2, indexed(1, 0.27)),
         times(2, indexed(2, 0.74)), times(2, stream(3)), times(2, stream(1.5))),
    list(times(2, indexed(1.5, 0.53)), times(4, indexed(2, 0.93)), times(2, indexed(1, 0.27)),
         times(4, fill(1)), times(4, indexed(1, 0.27)), times(4, stream(3)),
         times(2, stream(1.5)))};

constexpr MemoryKernel kSelect = by_row(indexed(1, 9), 3.5);  // the k largest of a row

// To fp32, absolute values, their maximum, product with the scale, conversion to 8 bits.
constexpr KernelList kEagerQuantize =
    list(indexed(3), stream(2), stream(1), stream(4), indexed(2.5), times(2, tiny()));
constexpr KernelList kEagerBlockQuantize =
    list(indexed(3), stream(2), stream(1), indexed(4), indexed(2.5), times(2, tiny()));

constexpr KernelPasses kSortedEmbedding = {list(gather(2)),
                                           list(sort(), atomic(1.5, 0.9), atomic(1.5, 0.9))};

constexpr MemoryKernel kServedFp4 =
    along_rows(&Fitted::served_fp4_rows, convert(1.25, &Fitted::served_fp4_values));
constexpr MemoryKernel kTransposeInNorm = merged(atomic(1, &Fitted::transpose_in_norm_values));

// To fp32, maximum, difference, exp, sum, log-probabilities; backward fill, exp, product, sum,
// conversion.
constexpr KernelPasses kEagerParallelLoss = {
    list(indexed(3), stream(2), indexed(4), stream(4), stream(2), indexed(4), times(3, tiny())),
    list(fill(2), stream(4), indexed(4), stream(6), stream(3))};

// --- the table --------------------------------------------------------------------------------

// A row of each kind, in the order of memory_bound_kind.hpp.
constexpr std::array<KindKernels, kMemoryBoundKinds> kTable = {{
    // The row is read again to be scaled, and dy, x twice and their products in backward.
    {Kind::kNorm,
     {list(by_row(stream(2, 1))), kFusedNormGrad},
     {list(by_row(stream(2, 1))), kNormGrad},
     kEagerNorm},
    any(Kind::kWrittenNorm, kWrittenNorm),
    {Kind::kLayerNorm,
     {list(by_row(arithmetic(2, 1, 1))), kLayerNormGrad},
     {list(by_row(stream(2, 1))), kNormGrad},
     {list(by_row(arithmetic(2, 1, 1))), kLayerNormGrad}},
    // Generated kernels read the tables for every head, from the cache.
    {Kind::kRope,
     both(stream(2)),
     {list(times(2, stream(1, 0.5))), list(times(2, stream(1, 1)))},
     kEagerRope},
    {Kind::kComplexRope, both(stream(2)), kCompiledComplexRope, kEagerComplexRope},
    {Kind::kComplexRopeParts, both(stream(2)), kJoinedComplexRope, kEagerComplexRope},
    any(Kind::kRotateHalf, kRotateHalf),
    any(Kind::kRotateHalfFp32, kRotateHalfFp32),
    any(Kind::kCastRotateHalf, kCastRotateHalf),
    any(Kind::kActivation, {list(arithmetic(2)), list(arithmetic(3))}),
    {Kind::kGatedActivation,
     {list(stream(3)), list(stream(5))},
     {list(stream(3)), list(stream(5))},
     {list(stream(2), stream(3)), list(times(3, stream(3)))}},
    // Fused, as a gated one. Eager, all in fp32: both inputs converted; divided, tanh and scaled
    // each; the gate's sigmoid; two products; back to 16 bits. Backward the derivatives of each and
    // the sum of the gate's two gradients, then both halves joined. Source: AMD-AGI/Primus,
    // core/transformer/kimi_k3/situ_activation.py.
    {Kind::kSoftClampedActivation,
     {list(stream(3)), list(stream(5))},
     {list(stream(3)), list(stream(5))},
     {list(times(2, indexed(3)), times(7, stream(4)), times(2, stream(6)), indexed(3)),
      list(indexed(3), times(2, stream(12)), times(4, stream(4)), times(4, stream(6)),
           times(2, indexed(3)), indexed(4))}},
    // Eager, backward: a product for each of both.
    {Kind::kGate,
     {list(stream(3)), list(stream(5))},
     {list(stream(3)), list(stream(5))},
     {list(stream(3)), list(times(2, stream(3)))}},
    // Fused as flash-linear-attention's FusedRMSNormGated. Eager: a norm, SiLU in fp32, the
    // product.
    {Kind::kGatedNorm,
     {list(by_row(stream(3))), list(by_row(stream(5)), column_sums(), same_call(tiny()))},
     {list(by_row(stream(3, 1))), list(by_row(stream(5, 3)), column_sums(), same_call(tiny()))},
     {list(times(2, indexed(3)), stream(4), stream(2), times(2, tiny()), indexed(4), stream(3),
           times(2, stream(4)), stream(6)),
      list(times(4, stream(6)), indexed(4), stream(6), indexed(6), stream(6), times(3, stream(3)),
           times(3, tiny()))}},
    {Kind::kShortConvolution, kFilter, kFilter, kEagerFilter},
    {Kind::kActivatedConvolution, kSiluFilter, kSiluFilter, kEagerSiluFilter},
    {Kind::kLogitWeights,
     {list(arithmetic(2)), list(arithmetic(3))},
     {list(arithmetic(2)), list(arithmetic(3))},
     {list(times(4, stream(2))), list(times(4, stream(3)))}},
    // Eager: positions added, to fp32, softmax, back to 16 bits, product, sum.
    {Kind::kPool,
     {list(stream(2)), list(stream(4))},
     {list(stream(2)), list(stream(4))},
     {list(stream(2), times(2, indexed(3)), stream(4), stream(3), stream(1)),
      list(times(2, stream(3)), times(2, indexed(3)), stream(6), stream(1))}},
    // Eager: to fp32, product with the weights, sum.
    {Kind::kStreamSum,
     {list(stream(1)), list(stream(2))},
     {list(stream(1)), list(stream(2))},
     {list(indexed(3), stream(4), stream(2)), list(times(2, stream(4)), indexed(3))}},
    // Fused: read for the scores and again for the sum. Eager: joined, to fp32, square, mean, two
    // products, sum, product with the softmax. Backward: the gradients of both products with the
    // weights, of the scores' sum and both factors behind it with the gain's, of the norm, their
    // sums, back to 16 bits and apart again. Source: AMD-AGI/Primus,
    // core/transformer/kimi_k3/attn_res_kernels.
    {Kind::kResidualSum,
     {list(by_row(stream(1, 1))), list(by_row(stream(2, 1)))},
     {list(by_row(stream(1, 1))), list(by_row(stream(2, 1)))},
     {list(indexed(2), indexed(3), times(2, stream(4)), times(3, stream(2)), stream(4),
           times(3, tiny())),
      list(times(4, stream(2)), times(3, stream(4)), times(2, stream(2)), stream(6),
           times(2, stream(6)), times(2, stream(2)), indexed(3), indexed(2), times(4, tiny()))}},
    // Eager: to fp32, a small product for each token, the block's result weighted, the sum, back.
    {Kind::kStreamMix,
     {list(stream(2)), list(stream(3))},
     {list(stream(2)), list(stream(3))},
     {list(indexed(3), stream(4), stream(3), stream(6), indexed(3)),
      list(times(3, stream(4)), stream(6), times(2, indexed(3)))}},
    // Eager, as Megatron's grouped experts do expert by expert: bias * weight, the sum, the rows
    // joined; backward both products with the gradient, each summed, and the rows joined.
    {Kind::kExpertBias,
     {list(stream(2)), list(stream(1))},
     {list(stream(2)), list(stream(1))},
     {list(indexed(1), stream(3), stream(2)),
      list(times(2, indexed(2)), times(2, stream(1)), stream(2))}},
    // The same beside fp32 weights, whose products and sums convert their other operand; backward
    // also makes the rows' gradients 16 bits again. On an H100 2.05 ms of 65,536 x 2,880 values and
    // 2.55 backward, in kernels of 3.5 to 4.3 ps a value.
    {Kind::kExpertBiasFp32,
     {list(stream(2)), list(stream(1))},
     {list(stream(2)), list(stream(1))},
     {list(indexed(1, 1.36), indexed(2.5, 1.54), stream(2)),
      list(stream(1.5), indexed(2, 1.24), indexed(2, 1.36), times(2, stream(1)), stream(1))}},
    // Eager: both halves of a tensor that is not theirs alone, and joined; backward three
    // comparisons, both of one half together, a choice for each half, and joined. On an H100 1.62
    // and 3.2 ms of 65,536 x 5,760 values.
    {Kind::kClamp,
     {list(stream(2)), list(stream(3))},
     {list(stream(2)), list(stream(3))},
     {list(times(2, indexed(1, 0.5)), stream(2)),
      list(times(3, indexed(0.75, 0.45)), stream(0.375), times(2, indexed(1.25, 0.5)), stream(2))}},
    // Compiled: the sum before a norm is read by its kernel and not written, and recomputed in the
    // sum after; backward it is one more operand of the norm's kernel, which keeps less in flight.
    {Kind::kResidual,
     both(stream(3)),
     {list(stream(2.5)), list(merged(stream(2)))},
     both(stream(3))},
    // A mask of a byte is kept, or (compiled) the random bits are recomputed.
    {Kind::kDropout,
     {list(arithmetic(2.5, 1.25)), list(stream(2.5))},
     both(arithmetic(2, 2)),
     {list(arithmetic(2.5, 1.25)), list(stream(2.5))}},
    {Kind::kRouter,
     {list(by_row(stream(2))), list(by_row(stream(2)))},
     {list(by_row(stream(2)), kSelect, tiny()), list(stream(3), tiny())},
     {list(indexed(1.5), by_row(stream(2)), kSelect, times(5, tiny())),
      list(stream(1), by_row(stream(3)), stream(1.5), times(3, tiny()))}},
    any(Kind::kTopK, {list(kSelect), list(indexed(2))}),
    // Sources are read k times, partly from the cache. Backward of an index is an atomic sum into
    // zeros; a hand-written kernel gathers.
    {Kind::kPermute,
     {list(gather(2)), list(gather(1.75))},
     {list(sort(), gather(1.75)), list(fill(0.5), atomic(2.5))},
     {list(sort(), gather(1.75)), list(fill(0.5), atomic(2.5))}},
    {Kind::kUnpermute,
     {list(gather(1.75)), list(gather(2))},
     {list(sort(), gather(2), stream(1.5)), list(stream(2.5), stream(1.5), fill(1), atomic(3))},
     {list(sort(), gather(2), indexed(2), indexed(1.5, 0.6)),
      list(indexed(1.5), indexed(2.5), stream(1), fill(1), atomic(3))}},
    // Eager: to fp32, product with the weights, sum, back to 16 bits. Backward: to fp32, products
    // for the weights and for the rows, sum, back to 16 bits, zeros and an atomic sum.
    {Kind::kUnpermuteFp32,
     {list(gather(1.75)), list(gather(2))},
     {list(sort(), gather(2), stream(1.5)), list(stream(2.5), stream(1.5), fill(1), atomic(3))},
     {list(sort(), gather(2), indexed(3), indexed(4), stream(2.25), stream(0.5)),
      list(stream(0.5), indexed(4.25), indexed(2.25), stream(2), stream(3), fill(1), atomic(3))}},
    {Kind::kSortRows,
     both(gather(2)),
     {list(sort(), gather(2)), list(fill(1), atomic(3))},
     {list(sort(), gather(2)), list(fill(1), atomic(3))}},
    // torchtitan's, whatever is compiled around them. A sort of the choices and a gather from the
    // cache; backward a sort and a sum by sorted index.
    any(Kind::kRowsTaken,
        {list(sort(), gather(1.1)), list(sort(), indexed(1.2, &Fitted::token_sum_values))}),
    // vstack with a row of zeros and a gather; backward zeros and a copy for the row that is cut
    // off, zeros, a sort and a sum by sorted index, one warp a row.
    any(Kind::kRowsGathered,
        {list(stream(2), gather(2)),
         list(fill(1), stream(2), fill(1), sort(),
              by_row(indexed(2, &Fitted::row_sum_values), &Fitted::row_sum_rows))}),
    // index_put_ into an empty tensor; backward a gather.
    any(Kind::kRowsPut, {list(indexed(2, &Fitted::index_put_values)), list(gather(2))}),
    // Zeros, index_put_, to fp32, bmm, back to 16 bits and the sum with what else a token has.
    // Backward the weights' gradients, rows to 16 bits, a gather.
    any(Kind::kRowsWeighted,
        {list(fill(1), indexed(2, &Fitted::index_put_values), indexed(3), stream(2.5), stream(0.5)),
         list(stream(0.5), stream(2), stream(3), gather(2))}),
    // bmm of one column: tiles of 128 channels and 32 choices on CUDA cores.
    any(Kind::kRowsOuter, both(indexed(5, &Fitted::outer_product_values))),
    // transformers': a sort of the choices, a gather, masked_fill_; backward a clone, masked_fill_,
    // and the sum by sorted index of a gather. Times of a trace of PyTorch 2.11 on H100.
    any(Kind::kMaskedRowsTaken,
        {list(sort(), gather(1.75), indexed(2)),
         list(stream(2), indexed(2), sort(), indexed(1.2, &Fitted::token_sum_values))}),
    any(Kind::kMaskedRows, both(stream(2), indexed(2))),
    // A clone, masked_fill_, the product with broadcast weights, a gather by the inverse order and
    // the sum over a token's choices; backward zeros and a sum by sorted index, both products, the
    // sum for the weights, a clone and masked_fill_.
    any(Kind::kMaskedRowsWeighted,
        {list(stream(2), times(2, indexed(2)), gather(2), stream(1.125)),
         list(fill(1), sort(), by_row(indexed(2, &Fitted::row_sum_values), &Fitted::row_sum_rows),
              stream(3), times(2, indexed(2)), stream(1), stream(2))}),
    // Histogram, offsets of senders and experts, the owner of every row.
    {Kind::kRowIndex,
     both(stream(1)),
     {list(times(5, stream(1))), list(stream(1))},
     {list(times(14, stream(1))), list(stream(1))}},
    {Kind::kGather,
     both(gather(2)),
     {list(gather(2)), list(fill(1), atomic(3))},
     {list(gather(2)), list(fill(1), atomic(3))}},
    any(Kind::kIndexAdd, {list(atomic(3)), list(gather(2))}),
    {Kind::kStridedCopy, both(gather(2)), both(stream(2)), both(indexed(2))},
    {Kind::kJoin, both(stream(2)), both(stream(2)), both(indexed(2, 1.5))},
    // PyTorch's ring attention. Eager: to fp32, difference, product, difference, concatenation, to
    // 16 bits; backward zeros in fp32, a sum, concatenation.
    {Kind::kMergePartials,
     {list(stream(2.5)), list(stream(3.5))},
     {list(stream(2.5), stream(2)), list(stream(3.5), stream(3))},
     {list(indexed(3), indexed(1.5, 0.5), stream(3), stream(2), stream(3), stream(4), indexed(3)),
      list(fill(2), stream(2.5), stream(4), indexed(3))}},
    // Compiled: to fp32, the sum, and a copy into the buffer of the next message.
    {Kind::kSumPartials,
     both(stream(5)),
     {list(stream(3), stream(5), stream(4)), list(stream(3), stream(5), stream(4))},
     {list(fill(2), stream(5), stream(4), stream(5), stream(4)),
      list(fill(2), stream(5), stream(4), stream(5), stream(4))}},
    any(Kind::kAddPartial, both(stream(3))),
    {Kind::kRepeatHeads, both(stream(1)), both(stream(1)), both(indexed(1))},
    // Fused: the scale of the step before, or of a row that stays in registers.
    {Kind::kQuantize,
     both(stream(1.5)),
     {list(stream(1), tiny(), stream(1.5)), list(stream(1), tiny(), stream(1.5))},
     {kEagerQuantize, kEagerQuantize}},
    {Kind::kQuantizeRow,
     both(by_row(stream(1.5))),
     both(by_row(stream(1.5, 1))),
     {kEagerQuantize, kEagerQuantize}},
    {Kind::kQuantizeBlock,
     both(stream(1.5)),
     both(stream(1.5)),
     {kEagerBlockQuantize, kEagerBlockQuantize}},
    {Kind::kQuantizeFp4,
     both(arithmetic(1.3)),
     both(arithmetic(1.3)),
     {kEagerBlockQuantize, kEagerBlockQuantize}},
    // bitsandbytes, counted and not measured: scales of 8 bits to fp32 and their mean added, then
    // one kernel that reads half a byte and a scale and writes two bytes; of 8 bits a conversion,
    // the scales made, and a product in place.
    any(Kind::kDequantizeNf4, both(times(2, tiny()), stream(1.28))),
    any(Kind::kDequantizeInt8, both(stream(1.5), tiny(), stream(2))),
    // Cleared maximum, maximum, scale, its reciprocal, conversion; blocks find theirs on the way.
    any(Kind::kServedQuantize, {list(times(3, tiny()), convert(1), convert(1.5)),
                                list(times(3, tiny()), convert(1), convert(1.5))}),
    any(Kind::kServedQuantizeBlock, {list(tiny(), convert(1.5)), list(tiny(), convert(1.5))}),
    // A clearing kernel, and conversion: 6.7 us of 256 rows of 256 values and 1.9 more for each
    // further 1,000 of a row, with a product of 128 columns (AIC, B200).
    any(Kind::kServedQuantizeFp4, {list(tiny(), kServedFp4), list(tiny(), kServedFp4)}),
    // Fused: a second result of the kernel that quantises.
    {Kind::kTranspose, both(merged(stream(1))), both(gather(2)), both(uncoalesced(2))},
    // 16.6 ps a value, 1.67 ms for three results of 8192 x 4096, in traces of PyTorch 2.11 on H200.
    any(Kind::kTransposeInNorm, {list(kTransposeInNorm), list(kTransposeInNorm)}),
    any(Kind::kEmbedding, kSortedEmbedding),
    // Fused: a read, and the gradient written over the logits. Compiled: exp of a running maximum.
    {Kind::kCrossEntropy,
     {list(stream(1)), list(stream(2))},
     {list(by_row(arithmetic(1)), tiny()), list(arithmetic(2))},
     {list(indexed(3), by_row(stream(7)), tiny()), list(fill(2), stream(6), stream(3))}},
    {Kind::kParallelCrossEntropy,
     {list(stream(1), tiny()), list(stream(2))},
     {list(times(2, by_row(arithmetic(1))), tiny()), list(arithmetic(2))},
     kEagerParallelLoss},
    any(Kind::kCast, both(stream(3))),
    {Kind::kCastUp, both(stream(3)), both(stream(3)), both(indexed(3))},
    any(Kind::kCopy, both(stream(2))),
    // Alone on a GPU 1.77 and 1.45 ps a value, in traces of PyTorch 2.11 on H200.
    any(Kind::kListCast, both(arithmetic(3, &Fitted::list_cast_values))),
    any(Kind::kListCopy, both(arithmetic(2, &Fitted::list_copy_values))),
    any(Kind::kConcatenate, both(indexed(3, 1.1))),
    // Fused: less arithmetic than Adam's, fitted to two of four sizes on one H100. Eager, PyTorch's
    // foreach forms: the decay added to the gradient and the sum with the parameter; with momentum
    // also its product and its sum with the gradient.
    {Kind::kSgd, both(update(3, &Fitted::sgd_values)), both(stream(3)), both(times(2, stream(3)))},
    {Kind::kSgdMomentum, both(update(5, &Fitted::sgd_momentum_values)), both(stream(5)),
     both(times(4, stream(11.0 / 4.0)))},
    // Eager, torch.optim.Adafactor: norms of rows, of columns and of the parameter, the outer
    // product, its quotient, bound and root, the product with the gradient, its norm, decay and
    // sum. Compiled: sums, norm of the update, update.
    {Kind::kAdafactor,
     both(update(5)),
     {list(times(2, stream(1)), stream(3)), list(times(2, stream(1)), stream(3))},
     both(times(11, stream(19.0 / 11.0)))},
    {Kind::kAdafactorMomentum,
     both(update(7)),
     {list(times(2, stream(1)), stream(5)), list(times(2, stream(1)), stream(5))},
     both(times(12, stream(22.0 / 12.0)))},
    // lerp_ of a momentum with a gradient.
    any(Kind::kMomentum, both(stream(3))),
    // Eager: the norm, the quotient, the copy into 16 bits.
    {Kind::kNormalizeMatrix,
     both(stream(2.5)),
     {list(stream(1), stream(1.5)), list(stream(1), stream(1.5))},
     {list(stream(1), stream(2), stream(1.5)), list(stream(1), stream(2), stream(1.5))}},
    // Eager: back into fp32, scaled, the decay of the parameter, their sum.
    {Kind::kMatrixUpdate,
     both(stream(2.5)),
     both(stream(2.5)),
     {list(stream(1.5), stream(2), stream(2), stream(3)),
      list(stream(1.5), stream(2), stream(2), stream(3))}},
    // Gradient, parameter and two moments read, the last three written. Eager: PyTorch's foreach
    // form, 23 passes in 13 kernels; the loop over tensors makes 20 in 8 for each.
    {Kind::kOptimizer, both(update(7)), both(stream(7)), both(times(13, stream(23.0 / 13.0)))},
}};

constexpr bool kernels_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable.at(i).kind) != i) {
      return false;
    }
  }
  return true;
}
static_assert(kernels_in_order(), "a kind of memory-bound kernel needs its row, in its place");

}  // namespace

const KernelList& kernels_of(const MemoryBound& op) {
  const KindKernels& entry = kTable[static_cast<std::size_t>(op.kind)];
  const KernelPasses* passes = &entry.fused;
  switch (op.implementation) {
    case Implementation::kEager:
      passes = &entry.eager;
      break;
    case Implementation::kCompiled:
      passes = &entry.compiled;
      break;
    case Implementation::kFused:
      break;
  }
  return op.direction == Direction::kForward ? passes->forward : passes->backward;
}

}  // namespace stepcast
