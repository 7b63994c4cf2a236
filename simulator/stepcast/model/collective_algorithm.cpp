// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/collective_algorithm.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

using By = CollectiveAlgorithm;

constexpr std::string_view kNccl = "NCCL's tuning model and kernels";
constexpr std::string_view kThakur =
    "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH";
constexpr std::string_view kRails = "NCCL 2.12 notes on PXN; DeepSeek-V3 on rails";

constexpr auto kTable = std::to_array<AlgorithmInfo>(
    {{CollectiveOp::kAllReduce, By::kRing,
      "base + hops of 2 (n - 1) steps, 2 k of them H, partly hidden behind "
      "2 (n - 1)/n S / min(B, g O) + own part",
      kNccl},
     {CollectiveOp::kAllReduce, By::kTree,
      "base + 2 ((g - 1) h + ceil(log2 k) H) + S / (tree share min(B, g O))", kNccl},
     {CollectiveOp::kAllReduce, By::kRecursiveDoubling,
      "base + 2 (ceil(log2 g) h + ceil(log2 k) H) + 2 (g - 1)/g S / B + "
      "2 (k - 1)/k S / (g O): halving, then doubling",
      kThakur},
     {CollectiveOp::kAllReduce, By::kDirect,
      "base + 2 (h + H) + messages + max(2 (n - 1)/n S / B, 2 (n - g)/n S / O): every "
      "rank reduces one part",
      kThakur},
     {CollectiveOp::kAllReduce, By::kHierarchical,
      "reduce-scatter inside + ring over the k ranks of each rail + all-gather inside", kRails},
     {CollectiveOp::kAllReduce, By::kInSwitch,
      "base + ramp min(1, S / ramp bytes) + max(S / (share wire rate), "
      "2 (k - 1)/k S / (g O))",
      "NCCL's NVLS and NVLSTree"},
     {CollectiveOp::kAllGather, By::kRing,
      "base + hops of n - 1 steps, k - 1 of them H, partly hidden behind "
      "(n - 1)/n S / min(B, g O) + own part",
      kNccl},
     {CollectiveOp::kAllGather, By::kRecursiveDoubling,
      "base + ceil(log2 g) h + ceil(log2 k) H + (g - 1)/g S / B + (k - 1)/k S / (g O)", kThakur},
     {CollectiveOp::kAllGather, By::kDirect,
      "base + h + H + messages + max((n - 1)/n S / B, (n - g)/n S / O)", kThakur},
     {CollectiveOp::kAllGather, By::kHierarchical,
      "ring over the k ranks of each rail + ring inside", kRails},
     {CollectiveOp::kReduceScatter, By::kRing, "as all-gather", kNccl},
     {CollectiveOp::kReduceScatter, By::kRecursiveDoubling, "as all-gather", kThakur},
     {CollectiveOp::kReduceScatter, By::kDirect, "as all-gather", kThakur},
     {CollectiveOp::kReduceScatter, By::kHierarchical, "as all-gather", kRails},
     {CollectiveOp::kAllToAll, By::kDirect,
      "base + hop + ramp + max((g - 1)/n S / B + own part, (n - g)/n S / O, "
      "(n - g) messages): single-shot",
      "NCCL's point-to-point kernels; message rate assumed"},
     {CollectiveOp::kAllToAll, By::kHierarchical,
      "base + h + H + [(g - 1)/n S + (g - 1)/g (n - g)/n S] / B, then max((n - g)/n S "
      "/ O, (k - 1) messages)",
      kRails},
     {CollectiveOp::kAllToAll, By::kPxn,
      "as hierarchical with both phases at once, after the first node's message is "
      "gathered: + (g - 1)/n S / B",
      kRails},
     {CollectiveOp::kSendRecv, By::kDirect, "base + h + S / B, or base + H + S / O", kNccl},
     {CollectiveOp::kBroadcast, By::kRing,
      "base + hops of n - 1 steps, partly hidden behind S / min(B, g O)", kNccl},
     {CollectiveOp::kBroadcast, By::kTree,
      "base + ceil(log2 g) h + ceil(log2 k) H + S / min(B, O): binary tree", kThakur}});

}  // namespace

std::span<const AlgorithmInfo> algorithm_table() { return kTable; }

bool has_algorithm(CollectiveOp op, CollectiveAlgorithm algorithm) {
  return algorithm == CollectiveAlgorithm::kAuto ||
         std::ranges::any_of(kTable, [&](const AlgorithmInfo& info) {
           return info.op == op && info.algorithm == algorithm;
         });
}

std::string algorithm_names(CollectiveOp op) {
  std::string names;
  for (const AlgorithmInfo& info : kTable) {
    if (info.op == op) {
      names += (names.empty() ? "" : ", ") + std::string(name(info.algorithm));
    }
  }
  return names;
}

}  // namespace stepcast
