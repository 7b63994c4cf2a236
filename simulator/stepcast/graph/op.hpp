// SPDX-License-Identifier: Apache-2.0
// The operators that one rank runs: a closed set, so that a new one fails to compile until every
// visitor handles it.
//
// Shapes are those of one rank. T tokens of a micro-batch on the rank, H hidden size.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/hardware/process_group.hpp"

namespace stepcast {

// fwd: y = x W^T (m tokens, n outputs, k inputs); dgrad: dx = dy W; wgrad: dW = dy^T x.
enum class GemmPass { kForward, kDgrad, kWgrad };
enum class Direction { kForward, kBackward };

struct Gemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  Dtype dtype = Dtype::kBf16;
  GemmPass pass = GemmPass::kForward;
  bool accumulate = false;  // adds to the result, which is read as well
};

// Products of `groups` experts with m_total rows in all, shared as `counts` says or equally without
// it. In the wgrad pass the rows are the inner dimension: each group is an n x k result over its
// rows.
struct GroupedGemm {
  std::int64_t groups = 1;
  std::int64_t m_total = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Dtype dtype = Dtype::kBf16;
  GemmPass pass = GemmPass::kForward;
  bool sequential = false;             // one kernel an expert instead of one for all
  std::vector<std::int64_t> counts{};  // rows of each group, in all m_total; empty: equal
};

enum class AttentionKernel { kUnfused, kFlash2, kFlash3, kFlash4, kCudnn, kAiter };

struct Attention {
  std::int64_t batch = 0;
  std::int64_t seq_q = 0;
  std::int64_t seq_kv = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t d_qk = 0;
  std::int64_t d_v = 0;
  bool causal = true;
  std::int64_t window = 0;  // 0: none
  Dtype dtype = Dtype::kBf16;
  Direction direction = Direction::kForward;
  AttentionKernel kernel = AttentionKernel::kFlash2;
};

enum class MemoryBoundKind {
  kNorm,
  kRope,
  kActivation,       // of one input tensor (GELU, squared ReLU)
  kGatedActivation,  // silu(gate) * up
  kResidual,
  kDropout,
  kRouter,     // scores, top-k and weights over rows x experts
  kPermute,    // rows gathered into expert order
  kUnpermute,  // weighted sum of a token's k rows
  kQuantize,   // to fp8 with its scale, and the transpose that backward needs
  kEmbedding,
  kCrossEntropy,
  kCast,  // fp32 to bf16
  kCopy,
  kOptimizer,  // one Adam step over cols parameters with fp32 states
};

enum class Implementation { kEager, kCompiled, kFused };

// A kernel bound by memory over a rows x cols tensor of `element` bytes a value.
struct MemoryBound {
  MemoryBoundKind kind = MemoryBoundKind::kCopy;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Bytes element{2};
  Direction direction = Direction::kForward;
  Implementation implementation = Implementation::kFused;
};

enum class CollectiveOp { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kSendRecv };

// Why a rank communicates: the axis that reports and overlap rules speak of.
enum class Axis { kTensor, kExpert, kContext, kData, kPipeline };
inline constexpr std::size_t kAxes = 5;

// `bytes` is the full tensor: the output of an all-gather, the input of a reduce-scatter, and what
// one rank puts in for all-reduce, all-to-all (its own share included) and send/receive.
struct Collective {
  CollectiveOp op = CollectiveOp::kAllReduce;
  Bytes bytes;
  ProcessGroup group;
  Axis axis = Axis::kData;
};

using OpWork = std::variant<Gemm, GroupedGemm, Attention, MemoryBound, Collective>;

struct Op {
  std::string_view name;  // "attention.q", with static lifetime
  OpWork work;
};

using OpList = std::vector<Op>;

// Work of an operator. FLOPs count an FMA as 2 and only what the mask leaves.
Flops flops(const Gemm& op);
Flops flops(const GroupedGemm& op);
Flops flops(const Attention& op);
Flops flops(const Op& op);

// Bytes that must move at least: operands read and results written once.
Bytes compulsory_bytes(const Gemm& op);
Bytes compulsory_bytes(const GroupedGemm& op);
Bytes compulsory_bytes(const Attention& op);

// Query-key pairs that the mask leaves, of one head and one sequence. With causal masking and fewer
// queries than keys (context parallelism with balanced chunks) it is the same share of all pairs.
double attended_pairs(const Attention& op);

std::string_view name(CollectiveOp op);
std::string_view name(MemoryBoundKind kind);
std::string_view name(Implementation implementation);
std::string_view name(Axis axis);
std::string_view name(AttentionKernel kernel);

// The names of every value, in the order of the enumeration.
template <typename E>
std::span<const std::string_view> names_of();
template <>
std::span<const std::string_view> names_of<CollectiveOp>();
template <>
std::span<const std::string_view> names_of<MemoryBoundKind>();
template <>
std::span<const std::string_view> names_of<Implementation>();
template <>
std::span<const std::string_view> names_of<AttentionKernel>();

}  // namespace stepcast
