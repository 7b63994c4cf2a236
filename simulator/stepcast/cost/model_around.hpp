// SPDX-License-Identifier: Apache-2.0
// A cost model around another one, for whoever keeps, corrects or clocks the prices of any model.
#pragma once

#include <memory>
#include <utility>

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

// The price of `op` is around(op, context, price), where price(context) asks the model within.
template <typename Around>
class ModelAround final : public GemmModel,
                          public AttentionModel,
                          public MemoryBoundModel,
                          public CollectiveModel {
 public:
  ModelAround(CostModel within, Around around)
      : within_(std::move(within)), around_(std::move(around)) {}

  [[nodiscard]] OpCost gemm(const Gemm& op, const KernelContext& context) const override {
    return around_(op, context,
                   [&](const KernelContext& at) { return within_.gemm->gemm(op, at); });
  }
  [[nodiscard]] OpCost grouped_gemm(const GroupedGemm& op,
                                    const KernelContext& context) const override {
    return around_(op, context,
                   [&](const KernelContext& at) { return within_.gemm->grouped_gemm(op, at); });
  }
  [[nodiscard]] OpCost attention(const Attention& op, const KernelContext& context) const override {
    return around_(op, context,
                   [&](const KernelContext& at) { return within_.attention->attention(op, at); });
  }
  [[nodiscard]] OpCost linear_attention(const LinearAttention& op,
                                        const KernelContext& context) const override {
    return around_(op, context, [&](const KernelContext& at) {
      return within_.attention->linear_attention(op, at);
    });
  }
  [[nodiscard]] OpCost sparse_attention(const SparseAttention& op,
                                        const KernelContext& context) const override {
    return around_(op, context, [&](const KernelContext& at) {
      return within_.attention->sparse_attention(op, at);
    });
  }
  [[nodiscard]] OpCost index_scores(const IndexScores& op,
                                    const KernelContext& context) const override {
    return around_(op, context, [&](const KernelContext& at) {
      return within_.attention->index_scores(op, at);
    });
  }
  [[nodiscard]] OpCost memory_bound(const MemoryBound& op,
                                    const KernelContext& context) const override {
    return around_(op, context, [&](const KernelContext& at) {
      return within_.memory_bound->memory_bound(op, at);
    });
  }
  [[nodiscard]] OpCost collective(const Collective& op,
                                  const FabricContext& context) const override {
    return around_(op, context,
                   [&](const FabricContext& at) { return within_.collective->collective(op, at); });
  }
  [[nodiscard]] OpCost exchange(const ExpertExchange& op,
                                const FabricContext& context) const override {
    return around_(op, context,
                   [&](const FabricContext& at) { return within_.collective->exchange(op, at); });
  }

 private:
  CostModel within_;
  Around around_;
};

// All four roles by the one around `within`.
template <typename Around>
CostModel cost_model_around(CostModel within, Around around) {
  const auto model =
      std::make_shared<const ModelAround<Around>>(std::move(within), std::move(around));
  return {model, model, model, model};
}

}  // namespace stepcast
