// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/op.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 6> kCollectiveNames = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "broadcast"};
constexpr std::array<std::string_view, 8> kAlgorithmNames = {
    "auto", "ring", "tree", "recursive_doubling", "direct", "hierarchical", "in_switch", "pxn"};
constexpr std::array<std::string_view, 4> kProtocolNames = {"auto", "ll", "ll128", "simple"};
constexpr std::array<std::string_view, 3> kImplementationNames = {"eager", "compiled", "fused"};
constexpr std::array<std::string_view, kAxes> kAxisNames = {"tp", "ep", "cp", "dp", "pp"};

// A kind of memory-bound kernel: its name, and the tensors of rows x cols that must be read and
// written, whatever the implementation: what a generated kernel takes over from its neighbour or
// recomputes is left out.
struct MemoryBoundRow {
  MemoryBoundKind kind;
  std::string_view name;
  double forward;
  double backward;
};

using Kind = MemoryBoundKind;
constexpr std::size_t kMemoryBoundKinds = static_cast<std::size_t>(Kind::kOptimizer) + 1;
constexpr std::array<MemoryBoundRow, kMemoryBoundKinds> kMemoryBound = {{
    {Kind::kNorm, "norm", 2, 3},              // x, y; dy, x, dx
    {Kind::kLayerNorm, "layer_norm", 2, 3},   // likewise
    {Kind::kRope, "rope", 2, 2},              // x, y
    {Kind::kActivation, "activation", 2, 3},  // x, y; dy, x, dx
    // gate, up, product; those two, dy and two gradients
    {Kind::kGatedActivation, "gated_activation", 3, 5},
    // The sum's second operand may be the norm's that follows.
    {Kind::kResidual, "residual", 2.5, 2},
    {Kind::kDropout, "dropout", 2, 2},  // the mask can be recomputed
    {Kind::kRouter, "router", 2, 2},    // scores, weights
    {Kind::kTopK, "topk", 1, 2},        // scores; zeros and the gradient of the k largest
    // A token's k rows; its one row depends on k and is left out.
    {Kind::kPermute, "permute", 1, 1},
    {Kind::kUnpermute, "unpermute", 1, 1},  // likewise
    {Kind::kGather, "gather", 2, 2},
    {Kind::kIndexAdd, "index_add", 3, 2},  // rows, sums read and written; gradient read and written
    {Kind::kStridedCopy, "strided_copy", 2, 2},
    {Kind::kQuantize, "quantize", 1.5, 1.5},  // 16 bits in, 8 out
    {Kind::kQuantizeRow, "quantize_row", 1.5, 1.5},
    {Kind::kQuantizeBlock, "quantize_block", 1.5, 1.5},
    {Kind::kQuantizeFp4, "quantize_fp4", 1.25, 1.25},  // 16 bits in, 4 out
    {Kind::kServedQuantize, "served_quantize", 1.5, 1.5},
    {Kind::kServedQuantizeBlock, "served_quantize_block", 1.5, 1.5},
    {Kind::kServedQuantizeFp4, "served_quantize_fp4", 1.25, 1.25},
    {Kind::kTranspose, "transpose", 1, 1},         // a second result of the kernel before it
    {Kind::kEmbedding, "embedding", 2, 2},         // rows, y; dy, gradient rows
    {Kind::kCrossEntropy, "cross_entropy", 1, 2},  // logits; logits and their gradient
    {Kind::kParallelCrossEntropy, "parallel_cross_entropy", 1, 2},  // likewise
    {Kind::kCast, "cast", 3, 3},       // 32 bits in, 16 out, counted in 16
    {Kind::kCastUp, "cast_up", 3, 3},  // the converse
    {Kind::kCopy, "copy", 2, 2},
    {Kind::kConcatenate, "concatenate", 3, 3},  // 16 bits in, 32 out
    {Kind::kOptimizer, "optimizer", 7, 7},  // gradient, master, two moments; the last three written
}};

constexpr std::array<std::string_view, kMemoryBoundKinds> names_of_memory_bound() {
  std::array<std::string_view, kMemoryBoundKinds> names{};
  for (std::size_t i = 0; i < names.size(); ++i) {
    names.at(i) = kMemoryBound.at(i).name;
  }
  return names;
}
constexpr std::array kMemoryBoundNames = names_of_memory_bound();

constexpr bool memory_bound_in_order() {
  for (std::size_t i = 0; i < kMemoryBound.size(); ++i) {
    if (static_cast<std::size_t>(kMemoryBound.at(i).kind) != i) {
      return false;
    }
  }
  return true;
}
static_assert(memory_bound_in_order());

}  // namespace

Flops flops(const Gemm& op) {
  return Flops(2.0 * real(op.batch) * real(op.m) * real(op.n) * real(op.k));
}

Flops flops(const GroupedGemm& op) {
  return Flops(2.0 * real(op.m_total) * real(op.n) * real(op.k));
}

double attended_pairs(const Attention& op) {
  const double all = real(op.seq_q) * real(op.seq_kv);
  const double length = real(op.seq_kv);
  const double window = real(op.window);
  if (op.window > 0 && op.window < op.seq_kv) {
    // Position i sees min(i, window) keys when causal.
    const double causal = window * length - window * (window - 1.0) / 2.0;
    return (op.causal ? causal : 2.0 * causal - length) * real(op.seq_q) / length;
  }
  return op.causal ? all * (length + 1.0) / (2.0 * length) : all;
}

Flops flops(const Attention& op) {
  // Forward Q K^T and P V; backward recomputes Q K^T and adds dV, dP, dQ, dK.
  const double pairs = attended_pairs(op) * real(op.batch) * real(op.heads);
  const double d_qk = real(op.d_qk);
  const double d_v = real(op.d_v);
  const double each = op.direction == Direction::kForward ? d_qk + d_v : 3.0 * d_qk + 2.0 * d_v;
  return Flops(2.0 * pairs * each);
}

Flops flops(const Op& op) {
  return std::visit(
      [](const auto& work) {
        using Work = std::decay_t<decltype(work)>;
        if constexpr (std::is_same_v<Work, MemoryBound> || kIsCommunication<Work>) {
          return Flops{};
        } else {
          return flops(work);
        }
      },
      op.work);
}

Bytes compulsory_bytes(const Gemm& op) {
  const Bytes in = size_of(op.dtype);
  const double m = real(op.m);
  const double n = real(op.n);
  const double k = real(op.k);
  const double result_passes = op.accumulate ? 2.0 : 1.0;
  return real(op.batch) * ((m * k + k * n) * in + result_passes * m * n * op.result);
}

Bytes compulsory_bytes(const GroupedGemm& op) {
  const Bytes in = size_of(op.dtype);
  const double rows = real(op.m_total);
  const double n = real(op.n);
  const double k = real(op.k);
  const double result_passes = op.accumulate ? 2.0 : 1.0;
  // The weights of a group without rows stay where they are. Its gradient is zeros, which the
  // kernel of all groups writes.
  const auto idle = std::count(op.counts.begin(), op.counts.end(), 0);
  const double busy = real(op.groups - static_cast<std::int64_t>(idle));
  if (op.pass == GemmPass::kWgrad) {
    const double written = op.sequential ? busy : real(op.groups);
    return rows * (n + k) * in + result_passes * written * n * k * op.result;
  }
  return (rows * k + busy * n * k) * in + result_passes * rows * n * op.result;
}

Bytes compulsory_bytes(const Attention& op) {
  const Bytes element = size_of(op.dtype);
  const double queries = real(op.batch) * real(op.seq_q) * real(op.heads);
  const double keys = real(op.batch) * real(op.seq_kv) * real(op.kv_heads);
  const double q = queries * real(op.d_qk);
  const double o = queries * real(op.d_v);
  const double kv = keys * real(op.d_qk + op.d_v);
  // Backward reads q, k, v, o, do and writes dq, dk, dv.
  return (op.direction == Direction::kForward ? q + kv + o : 2.0 * q + 2.0 * kv + 2.0 * o) *
         element;
}

Bytes compulsory_bytes(const MemoryBound& op) {
  const MemoryBoundRow& passes = kMemoryBound[static_cast<std::size_t>(op.kind)];
  const double count = op.direction == Direction::kForward ? passes.forward : passes.backward;
  return count * real(op.rows) * real(op.cols) * op.element;
}

Bytes compulsory_bytes(const Op& op) {
  return std::visit(
      [](const auto& work) {
        if constexpr (kIsCommunication<std::decay_t<decltype(work)>>) {
          return Bytes{};
        } else {
          return compulsory_bytes(work);
        }
      },
      op.work);
}

std::optional<Axis> communication_axis(const Op& op) {
  if (const auto* collective = std::get_if<Collective>(&op.work)) {
    return collective->axis;
  }
  return std::holds_alternative<ExpertExchange>(op.work) ? std::optional(Axis::kExpert)
                                                         : std::nullopt;
}

bool prints_alike(const Op& a, const Op& b) { return a.id == b.id && a.work == b.work; }

bool runs_on_gather_stream(const Op& op) { return op.id == OpId::kFsdpCopyIn; }

std::string_view name(CollectiveOp op) { return entry(kCollectiveNames, op); }
std::string_view name(CollectiveAlgorithm algorithm) { return entry(kAlgorithmNames, algorithm); }
std::string_view name(Protocol protocol) { return entry(kProtocolNames, protocol); }
std::string_view name(MemoryBoundKind kind) { return entry(kMemoryBoundNames, kind); }
std::string_view name(Implementation implementation) {
  return entry(kImplementationNames, implementation);
}
std::string_view name(Axis axis) { return entry(kAxisNames, axis); }

template <>
std::span<const std::string_view> names_of<CollectiveOp>() {
  return kCollectiveNames;
}
template <>
std::span<const std::string_view> names_of<CollectiveAlgorithm>() {
  return kAlgorithmNames;
}
template <>
std::span<const std::string_view> names_of<Protocol>() {
  return kProtocolNames;
}
template <>
std::span<const std::string_view> names_of<MemoryBoundKind>() {
  return kMemoryBoundNames;
}
template <>
std::span<const std::string_view> names_of<Implementation>() {
  return kImplementationNames;
}
}  // namespace stepcast
