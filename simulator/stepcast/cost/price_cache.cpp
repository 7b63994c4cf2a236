// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/price_cache.hpp"

#include <tuple>
#include <unordered_map>
#include <utility>

#include "stepcast/base/hash.hpp"
#include "stepcast/cost/power_level.hpp"

namespace stepcast {
namespace {

// All members of an operator, for its hash.
auto members_of(const Gemm& op) {
  const auto& [m, n, k, batch, dtype, pass, accumulate, result, accumulation] = op;
  return std::tie(m, n, k, batch, dtype, pass, accumulate, result, accumulation);
}
auto members_of(const GroupedGemm& op) {
  const auto& [groups, m_total, n, k, dtype, pass, sequential, counts, accumulate, result,
               accumulation] = op;
  return std::tie(groups, m_total, n, k, dtype, pass, sequential, counts, accumulate, result,
                  accumulation);
}
auto members_of(const Attention& op) {
  const auto& [batch, seq_q, seq_kv, heads, kv_heads, d_qk, d_v, causal, window, dtype, direction,
               kernel, sinks, dropout, documents] = op;
  const auto& [length, lengths, packed] = documents;
  return std::tie(batch, seq_q, seq_kv, heads, kv_heads, d_qk, d_v, causal, window, dtype,
                  direction, kernel, sinks, dropout, length, lengths, packed);
}
auto members_of(const LinearAttention& op) {
  const auto& [batch, seq, heads, qk_heads, d_k, d_v, chunk, rule, dtype, direction] = op;
  return std::tie(batch, seq, heads, qk_heads, d_k, d_v, chunk, rule, dtype, direction);
}
auto members_of(const SparseAttention& op) {
  const auto& [batch, seq_q, seq_kv, heads, kv_heads, d_qk, d_v, chosen, ratio, window, sinks,
               kernel, dtype, direction] = op;
  return std::tie(batch, seq_q, seq_kv, heads, kv_heads, d_qk, d_v, chosen, ratio, window, sinks,
                  kernel, dtype, direction);
}
auto members_of(const IndexScores& op) {
  const auto& [batch, seq_q, seq_kv, heads, d, chosen, ratio, teacher_heads, teacher_d, dtype,
               direction] = op;
  return std::tie(batch, seq_q, seq_kv, heads, d, chosen, ratio, teacher_heads, teacher_d, dtype,
                  direction);
}
auto members_of(const MemoryBound& op) {
  const auto& [kind, rows, cols, element, direction, implementation, resident, taps] = op;
  return std::tie(kind, rows, cols, element, direction, implementation, resident, taps);
}
auto members_of(const ProcessGroup& group) {
  const auto& [size, stride, run, jump] = group;
  return std::tie(size, stride, run, jump);
}
auto members_of(const Collective& op) {
  const auto& [kind, bytes, group, axis, algorithm, protocol, imbalance] = op;
  return std::tuple_cat(std::tie(kind, bytes, axis, algorithm, protocol, imbalance),
                        members_of(group));
}
auto members_of(const Routing& routing) {
  const auto& [kind, groups, groups_per_token, zipf_exponent, counts, max_violation, shared] =
      routing;
  return std::tie(kind, groups, groups_per_token, zipf_exponent, counts, max_violation);
}
auto members_of(const ExpertExchange& op) {
  const auto& [phase, dispatcher, primitive, tokens, hidden, experts, topk, group, dtype,
               compute_units, routing, capacity_factor] = op;
  return std::tuple_cat(std::tie(phase, dispatcher, primitive, tokens, hidden, experts, topk, dtype,
                                 compute_units, capacity_factor),
                        members_of(group), members_of(routing));
}

// The part of a context that a kernel's price on one device depends on.
struct Conditions {
  Hertz clock;
  std::int64_t compute_units = 0;
  Seconds launch;
  bool operator==(const Conditions&) const = default;
};

template <typename Work>
class KeptPrices {
 public:
  template <typename Price>
  const OpCost& get(const Work& op, const Conditions& conditions, const Price& price) {
    const auto known = costs_.find({op, conditions});
    if (known != costs_.end()) {
      return known->second;
    }
    return costs_.emplace(Key{op, conditions}, price()).first->second;
  }

 private:
  struct Key {
    Work op;
    Conditions conditions;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const auto& [clock, compute_units, launch] = key.conditions;
      return hash_of_values(members_of(key.op), clock, compute_units, launch);
    }
  };
  std::unordered_map<Key, OpCost, Hash> costs_;
};

Conditions conditions_of(const KernelContext& context) {
  return {context.clock, context.compute_units, context.launch};
}

// Kernels on one device.
class Keeper {
 public:
  explicit Keeper(const ClusterSpec& cluster) : cluster_(cluster) {}

 protected:
  [[nodiscard]] bool keeps(const KernelContext& context) const {
    return &context.device == &cluster_.device && context.detail == Detail::kDuration;
  }
  [[nodiscard]] bool keeps(const FabricContext& context) const {
    return &context.cluster == &cluster_ && context.detail == Detail::kDuration;
  }

 private:
  const ClusterSpec& cluster_;
};

class KeptGemm : public GemmModel, private Keeper {
 public:
  KeptGemm(std::shared_ptr<const GemmModel> model, const ClusterSpec& cluster)
      : Keeper(cluster), model_(std::move(model)) {}
  [[nodiscard]] OpCost gemm(const Gemm& op, const KernelContext& context) const override {
    const auto price = [&] { return model_->gemm(op, context); };
    return keeps(context) ? products_.get(op, conditions_of(context), price) : price();
  }
  [[nodiscard]] OpCost grouped_gemm(const GroupedGemm& op,
                                    const KernelContext& context) const override {
    const auto price = [&] { return model_->grouped_gemm(op, context); };
    return keeps(context) ? grouped_.get(op, conditions_of(context), price) : price();
  }

 private:
  std::shared_ptr<const GemmModel> model_;
  mutable KeptPrices<Gemm> products_;
  mutable KeptPrices<GroupedGemm> grouped_;
};

class KeptAttention : public AttentionModel, private Keeper {
 public:
  KeptAttention(std::shared_ptr<const AttentionModel> model, const ClusterSpec& cluster)
      : Keeper(cluster), model_(std::move(model)) {}
  [[nodiscard]] OpCost attention(const Attention& op, const KernelContext& context) const override {
    const auto price = [&] { return model_->attention(op, context); };
    return keeps(context) ? kept_.get(op, conditions_of(context), price) : price();
  }
  [[nodiscard]] OpCost linear_attention(const LinearAttention& op,
                                        const KernelContext& context) const override {
    const auto price = [&] { return model_->linear_attention(op, context); };
    return keeps(context) ? linear_.get(op, conditions_of(context), price) : price();
  }
  [[nodiscard]] OpCost sparse_attention(const SparseAttention& op,
                                        const KernelContext& context) const override {
    const auto price = [&] { return model_->sparse_attention(op, context); };
    return keeps(context) ? sparse_.get(op, conditions_of(context), price) : price();
  }
  [[nodiscard]] OpCost index_scores(const IndexScores& op,
                                    const KernelContext& context) const override {
    const auto price = [&] { return model_->index_scores(op, context); };
    return keeps(context) ? scores_.get(op, conditions_of(context), price) : price();
  }

 private:
  std::shared_ptr<const AttentionModel> model_;
  mutable KeptPrices<Attention> kept_;
  mutable KeptPrices<LinearAttention> linear_;
  mutable KeptPrices<SparseAttention> sparse_;
  mutable KeptPrices<IndexScores> scores_;
};

class KeptMemoryBound : public MemoryBoundModel, private Keeper {
 public:
  KeptMemoryBound(std::shared_ptr<const MemoryBoundModel> model, const ClusterSpec& cluster)
      : Keeper(cluster), model_(std::move(model)) {}
  [[nodiscard]] OpCost memory_bound(const MemoryBound& op,
                                    const KernelContext& context) const override {
    const auto price = [&] { return model_->memory_bound(op, context); };
    return keeps(context) ? kept_.get(op, conditions_of(context), price) : price();
  }

 private:
  std::shared_ptr<const MemoryBoundModel> model_;
  mutable KeptPrices<MemoryBound> kept_;
};

class KeptCollective : public CollectiveModel, private Keeper {
 public:
  KeptCollective(std::shared_ptr<const CollectiveModel> model, const ClusterSpec& cluster)
      : Keeper(cluster), model_(std::move(model)) {}
  [[nodiscard]] OpCost collective(const Collective& op,
                                  const FabricContext& context) const override {
    const auto price = [&] { return model_->collective(op, context); };
    return keeps(context) ? collectives_.get(op, {}, price) : price();
  }
  [[nodiscard]] OpCost exchange(const ExpertExchange& op,
                                const FabricContext& context) const override {
    const auto price = [&] { return model_->exchange(op, context); };
    return keeps(context) ? exchanges_.get(op, {}, price) : price();
  }

 private:
  std::shared_ptr<const CollectiveModel> model_;
  mutable KeptPrices<Collective> collectives_;
  mutable KeptPrices<ExpertExchange> exchanges_;
};

CostModel kept(const CostModel& model, const ClusterSpec& cluster) {
  return {std::make_shared<KeptGemm>(model.gemm, cluster),
          std::make_shared<KeptAttention>(model.attention, cluster),
          std::make_shared<KeptMemoryBound>(model.memory_bound, cluster),
          std::make_shared<KeptCollective>(model.collective, cluster)};
}

}  // namespace

// Prices at the clocks that kernels are given are kept by the level as well, so that their own
// clocks are found once.
CostModel with_kept_prices(const CostModel& model, const ClusterSpec& cluster) {
  CostModel result = kept(model, cluster);
  result.paced = std::make_shared<CostModel>(kept(within_level(result), cluster));
  return result;
}

}  // namespace stepcast
