// SPDX-License-Identifier: Apache-2.0
// Random operators, from tiny to beyond any model.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string_view>

#include "stepcast/model/op.hpp"

namespace stepcast::test {

class RandomOps {
 public:
  explicit RandomOps(unsigned seed) : random_(seed) {}

  // Between 1 and 2^bits, evenly in the logarithm, often no power of two.
  std::int64_t size(int bits) {
    std::uniform_real_distribution<double> exponent(0.0, bits);
    return static_cast<std::int64_t>(std::exp2(exponent(random_)));
  }
  // The same, half of the time a multiple of 16 to 256 as sizes of models are.
  std::int64_t length(int bits) {
    const std::int64_t multiple = one_of<std::int64_t>({1, 1, 1, 16, 128, 256});
    return (size(bits) + multiple - 1) / multiple * multiple;
  }
  // A larger one, up to four times, that the same powers of two divide.
  std::int64_t larger(std::int64_t value) {
    const std::int64_t step = 2 * (value & -value);
    std::uniform_real_distribution<double> factor(1.0, 4.0);
    const double more = (factor(random_) - 1.0) * static_cast<double>(value);
    return value + step * std::max<std::int64_t>(1, static_cast<std::int64_t>(more) / step);
  }
  double share(double lowest, double highest) {
    return std::uniform_real_distribution<double>(lowest, highest)(random_);
  }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    std::uniform_int_distribution<std::size_t> index(0, values.size() - 1);
    return *(values.begin() + index(random_));
  }

  Op op(std::string_view role) {
    if (role == "attention") {
      return mixing();
    }
    if (role == "memory_bound") {
      return {.work = memory_bound()};
    }
    if (role == "collective") {
      return one_of({true, false}) ? Op{.work = collective()} : Op{.work = exchange()};
    }
    return one_of({true, false}) ? Op{.work = gemm()} : Op{.work = grouped_gemm()};
  }

  Gemm gemm() {
    return {length(17), length(17), length(17), size(4), dtype(), pass(), one_of({true, false})};
  }

  // Rows shared equally, or by counts of which some are zero.
  GroupedGemm grouped_gemm() {
    GroupedGemm op{size(8), size(18), length(14), length(14), dtype(), pass()};
    op.sequential = one_of({true, false, false});
    if (one_of({true, false})) {
      const double mean = static_cast<double>(op.m_total) / static_cast<double>(op.groups);
      const int bits = static_cast<int>(std::log2(1.0 + mean));
      op.m_total = 0;
      for (std::int64_t group = 0; group < op.groups; ++group) {
        op.counts.push_back(one_of<std::int64_t>({0, 1, 1, 1}) * size(bits + 1));
        op.m_total += op.counts.back();
      }
      op.counts.back() += op.m_total == 0 ? 1 : 0;
      op.m_total = std::max<std::int64_t>(1, op.m_total);
    }
    return op;
  }

  Attention attention() {
    Attention op;
    op.batch = size(5);
    op.seq_kv = length(17);
    op.seq_q = std::max<std::int64_t>(1, op.seq_kv / one_of<std::int64_t>({1, 1, 2, 8}));
    op.kv_heads = size(4);
    op.heads = op.kv_heads * size(4);
    op.d_qk = length(8);
    op.d_v = one_of({op.d_qk, length(8)});
    op.causal = one_of({true, false});
    op.window = one_of<std::int64_t>({0, 0, 0, 1, 128, 4096});
    op.dtype = one_of({Dtype::kBf16, Dtype::kBf16, Dtype::kFp16, Dtype::kFp8});
    op.direction = one_of({Direction::kForward, Direction::kBackward});
    op.kernel =
        one_of({AttentionKernel::kUnfused, AttentionKernel::kFlash2, AttentionKernel::kFlash3,
                AttentionKernel::kFlash4, AttentionKernel::kCudnn, AttentionKernel::kAiter,
                AttentionKernel::kAiterA16, AttentionKernel::kTrtllm, AttentionKernel::kFlex});
    op.sinks = one_of({false, false, true});
    op.dropout = one_of({false, false, true});
    op.documents.length = one_of<std::int64_t>({0, 0, 1, 100, 5000});
    op.documents.lengths = one_of({DocumentLengths::kFixed, DocumentLengths::kGeometric});
    op.documents.packed = one_of({true, false});
    return op;
  }

  // What else mixes positions, with heads and states as models have them.
  LinearAttention linear_attention() {
    LinearAttention op;
    op.batch = size(5);
    op.seq = length(17);
    op.qk_heads = size(4);
    op.heads = op.qk_heads * one_of<std::int64_t>({1, 2, 4});
    op.d_k = one_of<std::int64_t>({64, 128, 256});
    op.d_v = one_of<std::int64_t>({64, 128, 256});
    op.chunk = one_of<std::int64_t>({16, 64, 128});
    op.rule = one_of({DeltaRule::kGatedDelta, DeltaRule::kKimiDelta});
    op.direction = one_of({Direction::kForward, Direction::kBackward});
    return op;
  }
  SparseAttention sparse_attention() {
    SparseAttention op;
    op.batch = size(5);
    op.seq_kv = 256 * size(9);
    op.seq_q = std::max<std::int64_t>(1, op.seq_kv / one_of<std::int64_t>({1, 1, 2, 8}));
    op.heads = size(8);
    op.d_qk = one_of<std::int64_t>({192, 512, 576});
    op.d_v = std::min<std::int64_t>(op.d_qk, 512);
    op.chosen = size(12);
    op.window = one_of<std::int64_t>({0, 0, 128});
    op.ratio = one_of<std::int64_t>({1, 1, 4, 128});
    op.sinks = one_of({false, true});
    op.direction = one_of({Direction::kForward, Direction::kBackward});
    return op;
  }
  IndexScores index_scores() {
    IndexScores op;
    op.batch = size(5);
    op.seq_kv = 256 * size(9);
    op.seq_q = std::max<std::int64_t>(1, op.seq_kv / one_of<std::int64_t>({1, 1, 2, 8}));
    op.heads = size(6);
    op.d = one_of<std::int64_t>({64, 128});
    op.chosen = size(12);
    op.ratio = one_of<std::int64_t>({1, 1, 4});
    op.teacher_heads = one_of<std::int64_t>({0, 64});
    op.teacher_d = 576;
    op.direction = one_of({Direction::kForward, Direction::kBackward});
    return op;
  }
  Op mixing() {
    switch (one_of({0, 0, 0, 1, 2, 3})) {
      case 1:
        return {.work = linear_attention()};
      case 2:
        return {.work = sparse_attention()};
      case 3:
        return {.work = index_scores()};
      default:
        return {.work = attention()};
    }
  }

  MemoryBound memory_bound() {
    std::uniform_int_distribution<int> kind(0, static_cast<int>(kMemoryBoundKinds) - 1);
    return {static_cast<MemoryBoundKind>(kind(random_)),
            size(20),
            size(20),
            one_of({Bytes(1), Bytes(2), Bytes(4)}),
            one_of({Direction::kForward, Direction::kBackward}),
            one_of({Implementation::kEager, Implementation::kCompiled, Implementation::kFused}),
            one_of({true, false, false}),
            one_of<std::int64_t>({1, 3, 4})};
  }

  Routing routing(std::int64_t experts, std::int64_t topk) {
    Routing routing;
    routing.kind =
        one_of({RoutingKind::kUniform, RoutingKind::kRoundRobinForced, RoutingKind::kGroupLimited,
                RoutingKind::kZipf, RoutingKind::kCounts, RoutingKind::kIndependent});
    routing.zipf_exponent = share(0.0, 2.0);
    if (routing.kind == RoutingKind::kGroupLimited) {
      routing.groups = one_of<std::int64_t>({1, 2, 4});
      const std::int64_t of_group = std::max<std::int64_t>(1, experts / routing.groups);
      routing.groups_per_token = std::min(routing.groups, (topk + of_group - 1) / of_group);
    }
    if (routing.kind == RoutingKind::kCounts) {
      for (std::int64_t expert = 0; expert < experts; ++expert) {
        routing.counts.push_back(one_of<std::int64_t>({0, 1, 1, 1}) * size(10));
      }
      ++routing.counts.front();
    }
    return routing;
  }

  // Of 2 to 131,072 ranks.
  ExpertExchange exchange() {
    std::uniform_int_distribution<int> kind(0, static_cast<int>(kDispatchers) - 1);
    ExpertExchange op;
    op.phase = one_of({ExchangePhase::kDispatch, ExchangePhase::kCombine});
    op.dispatcher = static_cast<Dispatcher>(kind(random_));
    op.tokens = size(17);
    op.hidden = length(14);
    op.topk = size(4);
    op.experts = 4 * op.topk * size(5);
    op.group = {one_of<std::int64_t>({2, 3, 8, 16, 64, 131'072, 1 + size(12)}),
                one_of<std::int64_t>({1, 1, 1, 2, 8, 64})};
    op.dtype = dtype();
    op.compute_units = one_of<std::int64_t>({0, 0, 4, 24});
    op.routing = routing(op.experts, op.topk);
    op.capacity_factor = one_of({0.0, 0.0, 1.0, 1.5});
    return op;
  }

  Collective collective() {
    return {
        one_of({CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter,
                CollectiveOp::kAllToAll, CollectiveOp::kSendRecv}),
        Bytes(static_cast<double>(size(36))),
        {size(9), size(6)},
        Axis::kData};
  }

 private:
  Dtype dtype() {
    return one_of({Dtype::kBf16, Dtype::kBf16, Dtype::kFp16, Dtype::kFp8, Dtype::kFp8Block,
                   Dtype::kFp4, Dtype::kFp32});
  }
  GemmPass pass() { return one_of({GemmPass::kForward, GemmPass::kDgrad, GemmPass::kWgrad}); }

  std::mt19937_64 random_;
};

}  // namespace stepcast::test
