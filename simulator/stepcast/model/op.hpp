// SPDX-License-Identifier: Apache-2.0
// The operators that one rank runs: a closed set, so that a new one fails to compile until every
// visitor handles it.
//
// Shapes are those of one rank. T tokens of a micro-batch on the rank, H hidden size.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/hardware/attention_kernel.hpp"
#include "stepcast/hardware/process_group.hpp"
#include "stepcast/model/direction.hpp"
#include "stepcast/model/document_mask.hpp"
#include "stepcast/model/expert_exchange.hpp"
#include "stepcast/model/linear_attention.hpp"
#include "stepcast/model/memory_bound_kind.hpp"
#include "stepcast/model/op_id.hpp"
#include "stepcast/model/sparse_attention.hpp"

namespace stepcast {

// fwd: y = x W^T (m tokens, n outputs, k inputs); dgrad: dx = dy W; wgrad: dW = dy^T x.
enum class GemmPass { kForward, kDgrad, kWgrad };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<GemmPass> = {"fwd", "dgrad", "wgrad"};

// How matrix units add up products of 8 bits: as they are built, or with sums that are kept in full
// precision outside them (Transformer Engine's split accumulator, use_fast_accum=False of PyTorch).
enum class Accumulation { kFast, kPrecise };

struct Gemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  Dtype dtype = Dtype::kBf16;
  GemmPass pass = GemmPass::kForward;
  bool accumulate = false;  // adds to the result, which is read as well
  Bytes result{2};          // an element of the result, whatever the inputs are; 4: fp32 gradients
  Accumulation accumulation = Accumulation::kFast;
  bool operator==(const Gemm&) const = default;
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
  bool accumulate = false;             // as of Gemm
  Bytes result{2};
  Accumulation accumulation = Accumulation::kFast;
  bool operator==(const GroupedGemm&) const = default;
};

// Eager: one kernel an elementary operation. Compiled: generated, by torch.compile. Fused: written
// by hand, or one vectorised kernel of the framework.
enum class Implementation { kEager, kCompiled, kFused };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<Implementation> = {"eager", "compiled",
                                                                             "fused"};

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
  bool sinks = false;     // one learned logit a head beside the scores
  bool dropout = false;   // of the probabilities
  Documents documents{};  // that the kernel's mask keeps apart, under a causal mask
  // The mask is a tensor of batch x seq_q x seq_kv values that are added to the scores, of which
  // none is left out.
  bool mask_tensor = false;
  // How scores become probabilities where no kernel fuses attention. Fused: one kernel scales,
  // masks and takes the softmax. Eager: each of these is one, the softmax in fp32 between casts.
  Implementation scores = Implementation::kFused;
  bool operator==(const Attention&) const = default;
};

// A kernel bound by memory over a rows x cols tensor of `element` bytes a value.
struct MemoryBound {
  MemoryBoundKind kind = MemoryBoundKind::kCopy;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Bytes element{2};
  Direction direction = Direction::kForward;
  Implementation implementation = Implementation::kFused;
  bool resident = false;  // the kernel before left the operands in the cache, if they fit
  std::int64_t taps = 1;  // rows that a value is of: the width of a convolution
  bool operator==(const MemoryBound&) const = default;
};

enum class CollectiveOp {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSendRecv,
  kBroadcast,
};
template <>
inline constexpr std::array<std::string_view, 6> kNamesOf<CollectiveOp> = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "broadcast"};

// How the members exchange. Direct: every rank with every other at once, which for all-to-all is
// called single-shot. PXN: gathered on the GPU of the destination's rail, then one message a node.
enum class CollectiveAlgorithm {
  kAuto,  // the library's choice
  kRing,
  kTree,
  kRecursiveDoubling,
  kDirect,
  kHierarchical,
  kInSwitch,
  kPxn,
};
template <>
inline constexpr std::array<std::string_view, 8> kNamesOf<CollectiveAlgorithm> = {
    "auto", "ring", "tree", "recursive_doubling", "direct", "hierarchical", "in_switch", "pxn"};

// NCCL's wire protocols: LL carries 4 bytes of data and a flag of 4, LL128 120 and 8, Simple data
// alone with synchronisation of whole chunks.
enum class Protocol { kAuto, kLl, kLl128, kSimple };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<Protocol> = {"auto", "ll", "ll128",
                                                                       "simple"};

// Why a rank communicates: the axis that reports and overlap rules speak of.
enum class Axis { kTensor, kExpert, kContext, kData, kPipeline };
inline constexpr std::size_t kAxes = 5;
template <>
inline constexpr std::array<std::string_view, kAxes> kNamesOf<Axis> = {"tp", "ep", "cp", "dp",
                                                                       "pp"};

// `bytes` is the full tensor: the output of an all-gather, the input of a reduce-scatter, and what
// one rank puts in for all-reduce, all-to-all (its own share included), broadcast and send/receive.
struct Collective {
  CollectiveOp op = CollectiveOp::kAllReduce;
  Bytes bytes;
  ProcessGroup group;
  Axis axis = Axis::kData;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto;
  Protocol protocol = Protocol::kAuto;
  double imbalance = 1.0;  // of an all-to-all: bytes of the most loaded rank over the mean
  // So many tensors of `bytes` travel in one call, as layers do in a bucket; the price is that of
  // one of them.
  double joined = 1.0;
  bool operator==(const Collective&) const = default;
};

// What a step runs. Attention, linear and sparse attention and index scores mix a sequence's
// tokens.
using OpWork = std::variant<Gemm, GroupedGemm, Attention, MemoryBound, Collective, ExpertExchange,
                            LinearAttention, SparseAttention, IndexScores>;

struct Op {
  OpId id = OpId::kStandalone;
  OpWork work;
  Block block = Block::kNone;
  bool operator==(const Op&) const = default;
};
// Whether reports count both as one operator: what it is called and its work, of whatever block.
bool prints_alike(const Op& a, const Op& b);

using OpList = std::vector<Op>;

// Whether the fabric carries it, and if so, why the rank communicates.
template <typename Work>
inline constexpr bool kIsCommunication =
    std::is_same_v<Work, Collective> || std::is_same_v<Work, ExpertExchange>;
std::optional<Axis> communication_axis(const Op& op);
bool is_matrix_product(const Op& op);  // a GEMM or several at once
// FSDP's copy of its shard into 16 bits runs on the stream of its gathers and counts with them.
bool runs_on_gather_stream(const Op& op);

// Work of an operator. FLOPs count an FMA as 2 and only what the mask leaves.
Flops flops(const Gemm& op);
Flops flops(const GroupedGemm& op);
Flops flops(const Attention& op);
Flops flops(const Op& op);

// Bytes that must move at least: operands read and results written once.
Bytes compulsory_bytes(const Gemm& op);
Bytes compulsory_bytes(const GroupedGemm& op);
Bytes compulsory_bytes(const Attention& op);
Bytes compulsory_bytes(const MemoryBound& op);
Bytes compulsory_bytes(const Op& op);  // none for what the fabric carries

// Query-key pairs that the mask leaves, of one head and one sequence. With causal masking and fewer
// queries than keys (context parallelism with balanced chunks) it is the same share of all pairs.
double attended_pairs(const Attention& op);

}  // namespace stepcast
