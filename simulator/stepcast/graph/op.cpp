// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/op.hpp"

#include <array>

namespace stepcast {
namespace {

double number(std::int64_t count) { return static_cast<double>(count); }

constexpr std::array<std::string_view, 5> kCollectiveNames = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"};
constexpr std::array<std::string_view, 30> kMemoryBoundNames = {"norm",
                                                                "layer_norm",
                                                                "rope",
                                                                "activation",
                                                                "gated_activation",
                                                                "residual",
                                                                "dropout",
                                                                "router",
                                                                "topk",
                                                                "permute",
                                                                "unpermute",
                                                                "gather",
                                                                "index_add",
                                                                "strided_copy",
                                                                "quantize",
                                                                "quantize_row",
                                                                "quantize_block",
                                                                "quantize_fp4",
                                                                "served_quantize",
                                                                "served_quantize_block",
                                                                "served_quantize_fp4",
                                                                "transpose",
                                                                "embedding",
                                                                "cross_entropy",
                                                                "parallel_cross_entropy",
                                                                "cast",
                                                                "cast_up",
                                                                "copy",
                                                                "concatenate",
                                                                "optimizer"};
constexpr std::array<std::string_view, 3> kImplementationNames = {"eager", "compiled", "fused"};
constexpr std::array<std::string_view, kAxes> kAxisNames = {"tp", "ep", "cp", "dp", "pp"};
constexpr std::array<std::string_view, 8> kKernelNames = {
    "unfused", "flash2", "flash3", "flash4", "cudnn", "aiter", "aiter_a16", "trtllm"};

// Tensors of rows x cols that a kernel must read and write, whatever its implementation.
struct TensorPasses {
  double forward;
  double backward;
};

// In the order of MemoryBoundKind.
constexpr std::array<TensorPasses, 15> kCompulsoryPasses = {{
    {2, 3},      // norm: x, y; dy, x, dx
    {2, 2},      // rope
    {2, 3},      // activation: x, y; dy, x, dx
    {3, 5},      // gated activation: gate, up, product; those two, dy and two gradients
    {3, 3},      // residual
    {2.5, 2.5},  // dropout: a mask of a byte for 2-byte elements
    {2, 2},      // router
    {2, 2},      // permute
    {1, 1},      // unpermute: a token's k rows; its one row depends on k and is left out
    {2, 2},      // quantize: 16 bits in, two 8-bit copies out
    {2, 3},      // embedding: rows, y; dy, gradient rows read and written
    {1, 2},      // cross entropy: logits; logits and their gradient
    {1.5, 1.5},  // cast
    {2, 2},      // copy
    {7.5, 7.5},  // optimizer: gradient, master, two moments; the last three and a 16-bit copy out
}};

template <typename E, std::size_t N>
std::string_view entry(const std::array<std::string_view, N>& names, E value) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

Flops flops(const Gemm& op) {
  return Flops(2.0 * number(op.batch) * number(op.m) * number(op.n) * number(op.k));
}

Flops flops(const GroupedGemm& op) {
  return Flops(2.0 * number(op.m_total) * number(op.n) * number(op.k));
}

double attended_pairs(const Attention& op) {
  const double all = number(op.seq_q) * number(op.seq_kv);
  const double length = number(op.seq_kv);
  const double window = number(op.window);
  if (op.window > 0 && op.window < op.seq_kv) {
    // Position i sees min(i, window) keys when causal.
    const double causal = window * length - window * (window - 1.0) / 2.0;
    return (op.causal ? causal : 2.0 * causal - length) * number(op.seq_q) / length;
  }
  return op.causal ? all * (length + 1.0) / (2.0 * length) : all;
}

Flops flops(const Attention& op) {
  // Forward Q K^T and P V; backward recomputes Q K^T and adds dV, dP, dQ, dK.
  const double pairs = attended_pairs(op) * number(op.batch) * number(op.heads);
  const double d_qk = number(op.d_qk);
  const double d_v = number(op.d_v);
  const double each = op.direction == Direction::kForward ? d_qk + d_v : 3.0 * d_qk + 2.0 * d_v;
  return Flops(2.0 * pairs * each);
}

Flops flops(const Op& op) {
  return std::visit(
      [](const auto& work) {
        using Work = std::decay_t<decltype(work)>;
        if constexpr (std::is_same_v<Work, MemoryBound> || std::is_same_v<Work, Collective>) {
          return Flops{};
        } else {
          return flops(work);
        }
      },
      op.work);
}

Bytes compulsory_bytes(const Gemm& op) {
  const Bytes in = size_of(op.dtype);
  const double m = number(op.m);
  const double n = number(op.n);
  const double k = number(op.k);
  constexpr Bytes kOut{2};  // results leave in 16 bits whatever the inputs are
  const double result_passes = op.accumulate ? 2.0 : 1.0;
  return number(op.batch) * ((m * k + k * n) * in + result_passes * m * n * kOut);
}

Bytes compulsory_bytes(const GroupedGemm& op) {
  const Bytes in = size_of(op.dtype);
  const double rows = number(op.m_total);
  const double n = number(op.n);
  const double k = number(op.k);
  const double groups = number(op.groups);
  constexpr Bytes kOut{2};
  if (op.pass == GemmPass::kWgrad) {
    return rows * (n + k) * in + groups * n * k * kOut;
  }
  return (rows * k + groups * n * k) * in + rows * n * kOut;
}

Bytes compulsory_bytes(const Attention& op) {
  const Bytes element = size_of(op.dtype);
  const double queries = number(op.batch) * number(op.seq_q) * number(op.heads);
  const double keys = number(op.batch) * number(op.seq_kv) * number(op.kv_heads);
  const double q = queries * number(op.d_qk);
  const double o = queries * number(op.d_v);
  const double kv = keys * number(op.d_qk + op.d_v);
  // Backward reads q, k, v, o, do and writes dq, dk, dv.
  return (op.direction == Direction::kForward ? q + kv + o : 2.0 * q + 2.0 * kv + 2.0 * o) *
         element;
}

Bytes compulsory_bytes(const MemoryBound& op) {
  const TensorPasses& passes = kCompulsoryPasses[static_cast<std::size_t>(op.kind)];
  const double count = op.direction == Direction::kForward ? passes.forward : passes.backward;
  return count * number(op.rows) * number(op.cols) * op.element;
}

Bytes compulsory_bytes(const Op& op) {
  return std::visit(
      [](const auto& work) {
        if constexpr (std::is_same_v<std::decay_t<decltype(work)>, Collective>) {
          return Bytes{};
        } else {
          return compulsory_bytes(work);
        }
      },
      op.work);
}

std::string_view name(CollectiveOp op) { return entry(kCollectiveNames, op); }
std::string_view name(MemoryBoundKind kind) { return entry(kMemoryBoundNames, kind); }
std::string_view name(Implementation implementation) {
  return entry(kImplementationNames, implementation);
}
std::string_view name(Axis axis) { return entry(kAxisNames, axis); }
std::string_view name(AttentionKernel kernel) { return entry(kKernelNames, kernel); }

template <>
std::span<const std::string_view> names_of<CollectiveOp>() {
  return kCollectiveNames;
}
template <>
std::span<const std::string_view> names_of<MemoryBoundKind>() {
  return kMemoryBoundNames;
}
template <>
std::span<const std::string_view> names_of<Implementation>() {
  return kImplementationNames;
}
template <>
std::span<const std::string_view> names_of<AttentionKernel>() {
  return kKernelNames;
}

}  // namespace stepcast
