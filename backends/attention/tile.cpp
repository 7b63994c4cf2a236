// SPDX-License-Identifier: Apache-2.0
// Fused attention as workgroups that walk over tiles of the queries x keys scores, at a fixed
// clock.
//
//   tile     = max(products, softmax) + (1 - overlap) min(products, softmax) + waits of its groups
//              of threads for each other, at least what its operands take through the local memory,
//              + sums of query gradients (AMD, backward)
//     products = 2 scores (d_qk + d_v) / (matrix rate * efficiency); backward 3 d_qk + 2 d_v, or
//                4 d_qk + 3 d_v where a workgroup makes its gradients by halves of a wide head
//     softmax  = scores (1 / exponential rate + operations / vector lanes)
//     mask     = scores * operations / vector lanes, nothing beside it, where the mask is a tensor
//   workgroup = start and end + tiles of its row (column, backward) of blocks that the mask leaves
//   span     = workgroups over units, whole waves where they are equal, a tail where they are not
//   time     = launches + max(span / clock, HBM bytes / rate, cache bytes / rate) + extra kernels
//
// Backward adds kernels: dO . O and zeros before, conversion of dQ after, sums of dK and dV over
// the query heads that share them. Blocks that the mask cuts are computed whole. Keys and values
// reach HBM once and the units out of the cache.
//
// Assumes one workgroup at a time on a unit at the unit's full rate (a second one shows only in the
// overlap), and one code path a kernel: libraries pick others for very few workgroups, which this
// overrates by up to a factor of 2. Wrong for decoding (one query), for dropout, and where the host
// cannot launch fast enough.
#include <algorithm>
#include <cmath>

#include "backends/attention/flash_kernel.hpp"
#include "backends/attention/kernel_sequence.hpp"
#include "backends/attention/unfused.hpp"
#include "backends/builtin_backends.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast {
namespace {

// Vector operations a score in fp32, besides the exponential; a fused multiply-add is one. Forward:
// scale less maximum, maximum, sum. Backward: scale less log-sum-exp, dP less dO . O, their
// product, two conversions to 16 bits, one more for the mask and addresses. Forward fitted (3.1).
constexpr double kForwardOperations = 3.0;
constexpr double kBackwardOperations = 6.0;

bool forward(const Attention& op) { return op.direction == Direction::kForward; }

// How a kernel cuts an operator.
struct Cut {
  ScoreTile tile;
  double d_qk = 0.0;  // padded
  double d_v = 0.0;
};

Cut cut_of(const Attention& op, const FlashKernel& kernel) {
  std::int64_t d_qk = padded_head(kernel, op.d_qk);
  std::int64_t d_v = padded_head(kernel, op.d_v);
  if (kernel.pads_unequal_heads && !forward(op) && !op.causal && op.d_qk != op.d_v) {
    constexpr std::int64_t kGeneric = 256;
    d_qk = std::max(d_qk, kGeneric);
    d_v = std::max(d_v, kGeneric);
  }
  const HeadTiles& tiles = head_tiles(kernel, std::max(d_qk, d_v));
  const ScoreTile& ahead = op.causal ? tiles.causal : tiles.full;
  return {forward(op) ? ahead : tiles.backward, static_cast<double>(d_qk),
          static_cast<double>(d_v)};
}

// Clock cycles of one tile on one unit. All but the first and the last add up.
struct TileCycles {
  double matrix = 0.0;        // the pipes busy, at their peak rate
  double products = 0.0;      // what the products take
  double exposed = 0.0;       // softmax that they do not hide, and waits
  double local_memory = 0.0;  // by which operands outlast both
  double reduction = 0.0;     // of gradients of queries
  double softmax = 0.0;       // hidden or not
  [[nodiscard]] double sum() const { return products + exposed + local_memory + reduction; }
};

// Bytes of a tile through the local memory where the matrix instructions read it: an operand that
// gives the rows is read once, the other one once for each instruction over the rows.
double local_bytes(const Attention& op, const Cut& cut, const FlashKernel& kernel) {
  const double element = size_of(op.dtype).value();
  const auto m = static_cast<double>(cut.tile.queries);
  const auto n = static_cast<double>(cut.tile.keys);
  const auto rows = static_cast<double>(kernel.instruction_rows);
  const double both = cut.d_qk + cut.d_v;
  if (forward(op)) {  // Q K^T; P V with P in registers
    return element * (m * cut.d_qk + m / rows * n * both);
  }
  const double again = std::max(1.0, n / rows);
  const double scores = (n + again * m) * both;                      // K Q^T, V dO^T
  const double gradients = again * m * both + m * n + n * cut.d_qk;  // P^T dO, dS^T Q, dS K
  constexpr double kQueryGradient = 2.0 * 4.0;                       // out and on, in fp32
  return element * (scores + gradients + m * n) + kQueryGradient * m * cut.d_qk;
}

// Vector operations a score.
double operations_of(const Attention& op, const DirectionTraits& traits) {
  const double in_16_bits = forward(op) ? kForwardOperations : kBackwardOperations;
  switch (op.dtype) {
    case Dtype::kFp8:
      return in_16_bits + traits.eight_bit_operations;
    case Dtype::kFp8Block:
      return in_16_bits + traits.block_operations;
    default:
      return in_16_bits;
  }
}

// Of the products' efficiency.
double share_of_format(const Attention& op, const DirectionTraits& traits) {
  if (is_quantized(op.dtype)) {
    return traits.eight_bit_share;
  }
  return op.d_qk == op.d_v ? 1.0 : traits.unequal_share;
}

TileCycles tile_cycles(const Attention& op, const Cut& cut, const FlashKernel& kernel,
                       const KernelContext& context) {
  const DeviceSpec& device = context.device;
  const AttentionConstants& constants = device.kernels.attention;
  const DirectionTraits& traits = direction_traits(kernel, op.direction);
  const double scores = static_cast<double>(cut.tile.queries) * static_cast<double>(cut.tile.keys);
  const bool halves = traits.single_pass_head > 0.0 && real(op.d_qk) > traits.single_pass_head;
  const double passes = halves ? 2.0 : 1.0;  // of scores and their gradients
  const double again = passes * (cut.d_qk + cut.d_v);
  const double products = forward(op) ? again : again + 2.0 * cut.d_qk + cut.d_v;
  const FlopsPerCycle rate = device.matrix_rate_of(op.dtype);
  const double efficiency =
      forward(op) ? constants.forward_efficiency : constants.backward_efficiency;
  constexpr double kFlopsPerLane = 2.0;
  const double lanes = device.vector_rate.value() / kFlopsPerLane;
  const double operations = operations_of(op, traits);
  TileCycles cycles;
  cycles.matrix = 2.0 * scores * products / rate.value();
  cycles.products =
      cycles.matrix / (traits.matrix_share * share_of_format(op, traits) * efficiency);
  cycles.softmax = traits.softmax_share * passes * scores *
                   (1.0 / device.transcendental_rate + operations / lanes);
  cycles.exposed = std::max(0.0, cycles.softmax - cycles.products) +
                   (1.0 - traits.overlap) * std::min(cycles.products, cycles.softmax) +
                   traits.tile_cycles;
  if (op.mask_tensor) {
    const MaskOperations& mask = device.libraries.mask_tensor;
    cycles.exposed += scores * (forward(op) ? mask.forward : mask.backward) / lanes;
  }
  if (kernel.instruction_rows > 0) {
    const double local = local_bytes(op, cut, kernel) / device.local_memory.bandwidth.value();
    cycles.local_memory = std::max(0.0, local - cycles.products - cycles.exposed);
  }
  if (!forward(op) && constants.reduction_rate) {
    const Bytes added = static_cast<double>(cut.tile.queries) * cut.d_qk * kernel.reduction_element;
    const auto units = real(device.compute_units);
    cycles.reduction = units * added / *constants.reduction_rate * context.clock;
  }
  return cycles;
}

// Clock cycles of a workgroup outside its loop: a fixed latency, and its own block read and its
// results written at the unit's share of the cache's rate.
double start_cycles(const Attention& op, const Cut& cut, const DirectionTraits& traits,
                    const KernelContext& context) {
  const DeviceSpec& device = context.device;
  const auto own = static_cast<double>(forward(op) ? cut.tile.queries : 2 * cut.tile.keys);
  const Bytes moved = own * (cut.d_qk + cut.d_v) * size_of(op.dtype);
  const BytesPerSecond rate = device.l2.bandwidth.value_or(device.hbm.achieved);
  const Seconds move = real(device.compute_units) * moved / rate;
  return traits.start_share * (device.kernels.attention.group_cycles + move * context.clock);
}

// Clock cycles from the first workgroup's start to the last one's end. No schedule beats the mean
// load, the waves of the longest workgroups, nor waves of workgroups that are all as short as the
// shortest; none is worse than waves of workgroups that are all as long as the longest.
double span_cycles(const TileCount& count, double start, double tile, double tail, double units) {
  const double mean = count.groups * (start + count.mean * tile) / units;
  const double longest = start + count.longest * tile;
  const double waves = std::ceil(count.groups / units);
  const double least = std::max({mean, std::ceil(count.longest_groups / units) * longest,
                                 waves * (start + count.shortest * tile)});
  const double most = std::max(least, waves * longest);
  return std::clamp(mean + tail * longest, least, most);
}

// Kernels before and after the main one, each a pass over memory.
struct ExtraKernels {
  double launches = 0.0;
  Bytes bytes;
};

ExtraKernels extra_kernels(const Attention& op, const FlashKernel& kernel) {
  const Bytes element = size_of(op.dtype);
  const auto d_qk = real(op.d_qk);
  const auto d_v = real(op.d_v);
  const auto batch = real(op.batch);
  const auto heads = real(op.heads);
  const double queries = batch * real(op.seq_q);
  const double keys = batch * real(op.seq_kv);
  if (forward(op)) {
    if (kernel.context_passes <= 0.0) {
      return {};
    }
    // Its work items are the heads of queries, and pairs of a key and a value head.
    const double items = queries * heads + keys * real(op.kv_heads);
    return {1.0, kernel.context_passes * 2.0 * items * 0.5 * (d_qk + d_v) * element};
  }
  // dO . O, and zeros for the gradients of queries
  ExtraKernels extra{1.0,
                     queries * heads * (2.0 * d_v * element + d_qk * kernel.reduction_element)};
  if (kernel.reduction_element > element) {  // to be converted
    extra.launches += 1.0;
    extra.bytes += queries * heads * d_qk * (kernel.reduction_element + element);
  }
  const bool sums =
      kernel.sums_shared_keys || (kernel.sums_shared_keys_in_8_bits && is_quantized(op.dtype));
  if (sums && op.heads > op.kv_heads) {
    extra.launches += 1.0;
    extra.bytes += 2.0 * keys * heads * (d_qk + d_v) * element;
  }
  return extra;
}

// Bytes that workgroups take from the cache: their own block once, the other side's for each tile.
Bytes cache_bytes(const Attention& op, const Cut& cut, const TileCount& count) {
  const auto queries = static_cast<double>(cut.tile.queries);
  const auto keys = static_cast<double>(cut.tile.keys);
  const double own = forward(op) ? queries : keys;
  const double other = forward(op) ? keys : queries;
  return count.groups * (own + count.mean * other) * (cut.d_qk + cut.d_v) * size_of(op.dtype);
}

// All of a price before it is written down.
struct Parts {
  TileCount count;
  TileCycles tile;
  double start = 0.0;  // clock cycles
  Seconds span;
  Seconds hbm;
  Seconds cache;
  Seconds extra;
  Seconds launches;
};

Bound bound_of(const Parts& parts) {
  const Seconds memory = max(parts.hbm, parts.cache);
  if (parts.launches > max(parts.span, memory)) {
    return Bound::kLatency;
  }
  if (memory > parts.span) {
    return parts.hbm < parts.cache ? Bound::kCache : Bound::kMemory;
  }
  if (parts.tile.local_memory > 0.0) {
    return Bound::kLocalMemory;
  }
  return parts.tile.softmax > parts.tile.products ? Bound::kExponential : Bound::kCompute;
}

// The operator of the tiles that the kernel computes.
Attention walked(Attention op, const FlashKernel& kernel) {
  if (kernel.whole_window_in_8_bits && !forward(op) && is_quantized(op.dtype)) {
    op.window = 0;
  }
  return op;
}

std::vector<CostTerm> terms_of(const Parts& parts, const KernelContext& context) {
  const double tiles = parts.count.groups * parts.count.mean;
  const auto spread = [&](double cycles) {
    return cycles / real(context.compute_units) / context.clock;
  };
  std::vector<CostTerm> terms = {
      {"products", spread(tiles * parts.tile.products)},
      {"softmax", spread(tiles * parts.tile.exposed)},
      {"local_memory", spread(tiles * parts.tile.local_memory)},
      {"query_gradients", spread(tiles * parts.tile.reduction)},
      {"workgroups", spread(parts.count.groups * parts.start)},
  };
  const Seconds busy = sum_over(terms, &CostTerm::duration);
  const Seconds memory = max(parts.hbm, parts.cache);
  terms.push_back({"idle_units", max(Seconds{}, parts.span - busy)});
  terms.push_back({"memory", max(Seconds{}, memory - parts.span)});
  terms.push_back({"extra_kernels", parts.extra});
  terms.push_back({"launch", parts.launches});
  return terms;
}

OpCost fused_attention(const Attention& op, const KernelContext& context) {
  const DeviceSpec& device = context.device;
  const FlashKernel& kernel = flash_kernel(op, device);
  const DirectionTraits& traits = direction_traits(kernel, op.direction);
  const Cut cut = cut_of(op, kernel);
  const ExtraKernels extra = extra_kernels(op, kernel);
  const Bytes bytes = compulsory_bytes(op);
  const auto units = real(context.compute_units);
  Parts parts;
  parts.count = tile_count(walked(op, kernel), cut.tile);
  parts.tile = tile_cycles(op, cut, kernel, context);
  parts.start = start_cycles(op, cut, traits, context);
  parts.span =
      span_cycles(parts.count, parts.start, parts.tile.sum(), traits.tail, units) / context.clock;
  parts.hbm = bytes / device.hbm.achieved;
  parts.cache =
      cache_bytes(op, cut, parts.count) / device.l2.bandwidth.value_or(device.hbm.achieved);
  parts.extra = extra.bytes / device.hbm.achieved;
  parts.launches = (1.0 + extra.launches) * context.launch;
  OpCost cost;
  cost.duration = parts.launches + parts.extra + max(parts.span, max(parts.hbm, parts.cache));
  cost.bound = bound_of(parts);
  cost.launches = context.launch > Seconds{} ? parts.launches / context.launch : 1.0;
  const double tiles = parts.count.groups * parts.count.mean;
  cost.hbm = bytes + extra.bytes;
  const double charged = kernel.energy_share * tiles * parts.tile.matrix;
  cost.energy = kernel_energy({charged, op.dtype, cost.hbm}, context);
  if (context.detail == Detail::kTerms) {
    cost.terms = terms_of(parts, context);
    cost.tiling = {cut.tile.queries, cut.tile.keys, 1, 1, parts.count.groups / units};
  }
  return cost;
}

class TileAttention final : public AttentionModel {
 public:
  [[nodiscard]] OpCost attention(const Attention& op, const KernelContext& context) const override {
    return is_fused(op, context.device) ? fused_attention(op, context)
                                        : unfused_attention(op, context);
  }
  [[nodiscard]] OpCost linear_attention(const LinearAttention& op,
                                        const KernelContext& context) const override {
    return linear_attention_cost(op, context);
  }
  [[nodiscard]] OpCost sparse_attention(const SparseAttention& op,
                                        const KernelContext& context) const override {
    return sparse_attention_cost(op, context);
  }
  [[nodiscard]] OpCost index_scores(const IndexScores& op,
                                    const KernelContext& context) const override {
    return index_scores_cost(op, context);
  }
};

}  // namespace

std::shared_ptr<const AttentionModel> make_tile_attention() {
  return std::make_shared<TileAttention>();
}

}  // namespace stepcast
