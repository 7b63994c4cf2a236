// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/op.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define STEPCAST_PASSES(enumerator, name, forward, backward, family) \
  CompulsoryPasses{forward, backward},
#define STEPCAST_FAMILY(enumerator, name, forward, backward, family) KernelFamily::family,
// NOLINTEND(cppcoreguidelines-macro-usage)
constexpr std::array kCompulsory = {STEPCAST_MEMORY_BOUND_KINDS(STEPCAST_PASSES)};
constexpr std::array kFamilies = {STEPCAST_MEMORY_BOUND_KINDS(STEPCAST_FAMILY)};
#undef STEPCAST_PASSES
#undef STEPCAST_FAMILY

}  // namespace

KernelFamily family_of(MemoryBoundKind kind) {
  return kFamilies.at(static_cast<std::size_t>(kind));
}
CompulsoryPasses compulsory_passes(MemoryBoundKind kind) {
  return kCompulsory.at(static_cast<std::size_t>(kind));
}

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
  if (op.causal && shortens(op.documents, op.seq_kv)) {
    return causal_pairs(op.documents, op.seq_kv, op.window) * real(op.seq_q) / length;
  }
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
  const double mask = op.mask_tensor ? real(op.batch) * real(op.seq_q) * real(op.seq_kv) : 0.0;
  return (op.direction == Direction::kForward ? q + kv + o : 2.0 * q + 2.0 * kv + 2.0 * o) *
             element +
         mask * size_of(Dtype::kBf16);
}

Bytes compulsory_bytes(const MemoryBound& op) {
  const CompulsoryPasses passes = compulsory_passes(op.kind);
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

bool is_matrix_product(const Op& op) {
  return std::holds_alternative<Gemm>(op.work) || std::holds_alternative<GroupedGemm>(op.work);
}

bool runs_on_gather_stream(const Op& op) {
  return op.id == OpId::kFsdpCast || op.id == OpId::kFsdpCopyIn;
}

}  // namespace stepcast
