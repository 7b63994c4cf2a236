// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/step_categories.hpp"

#include <algorithm>

#include "stepcast/model/op_purpose.hpp"

namespace stepcast {
namespace {

using Category = StepCategory;

struct Pattern {
  std::string_view part;   // of a kernel's name
  std::string_view other;  // that must be in it as well; empty: nothing
  Category category;
};

// The first that fits counts: PyTorch, cuBLAS, CUTLASS, cuDNN, FlashAttention, hipBLASLt, aiter, CK
// and Triton as they name their kernels.
constexpr std::array kPatterns = {
    Pattern{"AllGather", "", Category::kAllGather},
    Pattern{"ReduceScatter", "", Category::kReduceScatter},
    Pattern{"AllReduce", "", Category::kAllReduce},
    Pattern{"AllToAll", "", Category::kAllToAll},
    Pattern{"ncclDevKernel_SendRecv", "", Category::kSendRecv},
    Pattern{"ncclDevKernel", "", Category::kOther},
    Pattern{"FusedOptimizer", "", Category::kOptimizer},
    Pattern{"FusedAdam", "", Category::kOptimizer},
    Pattern{"multi_tensor_apply", "Adam", Category::kOptimizer},
    Pattern{"multi_tensor_apply", "Copy", Category::kCopies},
    Pattern{"multi_tensor_apply", "LpNorm", Category::kClipping},
    Pattern{"multi_tensor_apply", "BinaryOpScalarTensor", Category::kClipping},
    Pattern{"multi_tensor_apply", "L2Norm", Category::kClipping},
    Pattern{"multi_tensor_apply", "ScaleFunctor", Category::kClipping},
    Pattern{"flex_attention_backward", "triton_tem", Category::kAttentionBackward},
    Pattern{"flex_attention", "triton_tem", Category::kAttentionForward},
    Pattern{"flex_attention_backward", "norm", Category::kMemoryBound},
    Pattern{"flex_attention_backward", "triton_red", Category::kAttentionBackward},
    Pattern{"flex_attention_backward", "triton_per", Category::kAttentionBackward},
    Pattern{"triton_tem", "grouped_mm", Category::kGroupedGemm},
    Pattern{"triton_tem", "mm", Category::kGemm},
    Pattern{"flash_bprop", "", Category::kAttentionBackward},
    Pattern{"flash_fprop", "", Category::kAttentionForward},
    Pattern{"flash_bwd", "", Category::kAttentionBackward},
    Pattern{"flash_fwd", "", Category::kAttentionForward},
    Pattern{"fmha_bwd", "", Category::kAttentionBackward},
    Pattern{"FmhaBwd", "", Category::kAttentionBackward},
    Pattern{"fmha_fwd", "", Category::kAttentionForward},
    Pattern{"FmhaFwd", "", Category::kAttentionForward},
    Pattern{"attn_fwd", "", Category::kAttentionForward},
    Pattern{"attn_bwd", "", Category::kAttentionBackward},
    Pattern{"bwd_kernel_d", "", Category::kAttentionBackward},
    Pattern{"compute_dot_do_o", "", Category::kAttentionBackward},
    Pattern{"convert_dq_to_16bits", "", Category::kAttentionBackward},
    Pattern{"fmha_reduce_head", "", Category::kAttentionBackward},
    Pattern{"GroupProblemShape", "", Category::kGroupedGemm},
    Pattern{"prepare_grouped_gemm", "", Category::kGroupedGemm},
    Pattern{"GemmUniversal", "Grouped", Category::kGroupedGemm},
    Pattern{"grouped_gemm", "", Category::kGroupedGemm},
    Pattern{"nvjet_", "", Category::kGemm},
    Pattern{"splitKreduce", "", Category::kGemm},
    Pattern{"Cijk_", "", Category::kGemm},
    Pattern{"cutlass", "gemm", Category::kGemm},
    Pattern{"gemm", "", Category::kGemm},
    Pattern{"expert_rows", "", Category::kExpertRows},
    Pattern{"_permute_kernel", "", Category::kExpertRows},
    Pattern{"_unpermute_kernel", "", Category::kExpertRows},
    Pattern{"_sort_chunks_by_map", "", Category::kExpertRows},
    Pattern{"chunk_cat", "", Category::kFsdpCopies},
    Pattern{"split_with_sizes_copy", "", Category::kFsdpCopies},
    Pattern{"CatArrayBatchedCopy", "", Category::kMemoryBound},
    Pattern{"direct_copy_kernel", "", Category::kMemoryBound},
    Pattern{"bfloat16_copy_kernel", "", Category::kMemoryBound},
    Pattern{"float16_copy_kernel", "", Category::kMemoryBound},
    Pattern{"FillFunctor", "", Category::kMemoryBound},
    Pattern{"Memcpy", "", Category::kCopies},
    Pattern{"Memset", "", Category::kCopies},
    Pattern{"triton_", "", Category::kMemoryBound},
    Pattern{"elementwise", "", Category::kMemoryBound},
    Pattern{"reduce_kernel", "", Category::kMemoryBound},
    Pattern{"indexFunc", "", Category::kMemoryBound},
    Pattern{"indexing_backward", "", Category::kMemoryBound},
    Pattern{"indexSelect", "", Category::kMemoryBound},
    Pattern{"gather", "", Category::kMemoryBound},
    Pattern{"scatter", "", Category::kMemoryBound},
    Pattern{"norm", "", Category::kMemoryBound},
    Pattern{"softmax", "", Category::kMemoryBound},
    Pattern{"SoftMax", "", Category::kMemoryBound},
    Pattern{"embedding", "", Category::kMemoryBound},
    Pattern{"compute_grad_weight", "", Category::kMemoryBound},
    Pattern{"GammaBeta", "", Category::kMemoryBound},
    Pattern{"sort", "", Category::kMemoryBound},
    Pattern{"TopK", "", Category::kMemoryBound},
    Pattern{"scan", "", Category::kMemoryBound},
    Pattern{"histogram", "", Category::kMemoryBound},
    Pattern{"Histogram", "", Category::kMemoryBound},
    Pattern{"nll_loss", "", Category::kMemoryBound},
};

struct CollectiveName {
  std::string_view published;
  Category category;
};
constexpr std::array kCollectives = {CollectiveName{"allgather", Category::kAllGather},
                                     CollectiveName{"reduce_scatter", Category::kReduceScatter},
                                     CollectiveName{"allreduce", Category::kAllReduce},
                                     CollectiveName{"all_to_all", Category::kAllToAll}};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Copies that a compiler generated bear its name like all of its kernels; FSDP alone concatenates.
Category category_of_copy(const MemoryBound& work, Block block) {
  if (work.implementation == Implementation::kCompiled || is_of_model(block)) {
    return Category::kMemoryBound;
  }
  return work.kind == MemoryBoundKind::kConcatenate ? Category::kFsdpCopies : Category::kCopies;
}

Category category_by_family(const MemoryBound& work, Block block) {
  switch (family_of(work.kind)) {
    case KernelFamily::kUpdate:
      return Category::kOptimizer;
    case KernelFamily::kCopy:
      return category_of_copy(work, block);
    case KernelFamily::kElementwise:
      break;
  }
  return Category::kMemoryBound;
}

Category category_of_work(const MemoryBound& work, const Op& op) {
  switch (purpose_of(op.id)) {
    case OpPurpose::kClips:
      return Category::kClipping;
    case OpPurpose::kFsdpCopies:
      return Category::kFsdpCopies;
    case OpPurpose::kExpertRows:
      return Category::kExpertRows;
    case OpPurpose::kComputes:
      break;
  }
  return category_by_family(work, op.block);
}

template <typename Mixer>
Category of_attention(const Mixer& mixer) {
  return mixer.direction == Direction::kForward ? Category::kAttentionForward
                                                : Category::kAttentionBackward;
}

// In the order of CollectiveOp.
constexpr std::array kOfCollectives = {Category::kAllReduce,     Category::kAllGather,
                                       Category::kReduceScatter, Category::kAllToAll,
                                       Category::kSendRecv,      Category::kOther};
static_assert(kOfCollectives.size() == static_cast<std::size_t>(CollectiveOp::kBroadcast) + 1);

}  // namespace

StepCategory category_of_kernel(std::string_view kernel, std::string_view collective) {
  const auto* const named = std::ranges::find_if(
      kCollectives, [&](std::string_view part) { return has(collective, part); },
      &CollectiveName::published);
  if (named != kCollectives.end()) {
    return named->category;
  }
  const auto* const known = std::ranges::find_if(kPatterns, [&](const Pattern& pattern) {
    return has(kernel, pattern.part) && has(kernel, pattern.other);
  });
  return known == kPatterns.end() ? Category::kOther : known->category;
}

StepCategory category_of(const Op& op) {
  struct Visitor {
    const Op& op;
    Category operator()(const Gemm&) const { return Category::kGemm; }
    Category operator()(const GroupedGemm&) const { return Category::kGroupedGemm; }
    Category operator()(const Attention& attention) const { return of_attention(attention); }
    Category operator()(const LinearAttention& mixer) const { return of_attention(mixer); }
    Category operator()(const SparseAttention& mixer) const { return of_attention(mixer); }
    Category operator()(const IndexScores& scores) const { return of_attention(scores); }
    Category operator()(const MemoryBound& work) const { return category_of_work(work, op); }
    Category operator()(const Collective& work) const {
      return kOfCollectives[static_cast<std::size_t>(work.op)];
    }
    Category operator()(const ExpertExchange&) const { return Category::kAllToAll; }
  };
  return std::visit(Visitor{op}, op.work);
}

}  // namespace stepcast
