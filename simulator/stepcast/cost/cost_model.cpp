// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/cost_model.hpp"

namespace stepcast {
namespace {

struct Price {
  const CostModel& model;
  const KernelContext& kernel;
  const ClusterSpec& cluster;

  OpCost operator()(const Gemm& op) const { return model.gemm->gemm(op, kernel); }
  OpCost operator()(const GroupedGemm& op) const { return model.gemm->grouped_gemm(op, kernel); }
  OpCost operator()(const Attention& op) const { return model.attention->attention(op, kernel); }
  OpCost operator()(const LinearAttention& op) const {
    return model.attention->linear_attention(op, kernel);
  }
  OpCost operator()(const SparseAttention& op) const {
    return model.attention->sparse_attention(op, kernel);
  }
  OpCost operator()(const IndexScores& op) const {
    return model.attention->index_scores(op, kernel);
  }
  OpCost operator()(const MemoryBound& op) const {
    return model.memory_bound->memory_bound(op, kernel);
  }
  OpCost operator()(const Collective& op) const {
    return model.collective->collective(op, FabricContext{cluster, kernel.detail});
  }
  OpCost operator()(const ExpertExchange& op) const {
    return model.collective->exchange(op, FabricContext{cluster, kernel.detail});
  }
};

}  // namespace

OpCost CostModel::cost(const Op& op, const KernelContext& kernel,
                       const ClusterSpec& cluster) const {
  return std::visit(Price{*this, kernel, cluster}, op.work);
}

}  // namespace stepcast
