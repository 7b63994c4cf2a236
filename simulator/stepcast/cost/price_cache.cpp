// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/price_cache.hpp"

#include <tuple>
#include <unordered_map>

#include "stepcast/base/hash.hpp"
#include "stepcast/cost/model_around.hpp"
#include "stepcast/cost/power_state.hpp"

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
               kernel, sinks, dropout, documents, mask_tensor, scores] = op;
  const auto& [length, lengths, packed] = documents;
  return std::tie(batch, seq_q, seq_kv, heads, kv_heads, d_qk, d_v, causal, window, dtype,
                  direction, kernel, sinks, dropout, length, lengths, packed, mask_tensor, scores);
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
  const auto& [kind, bytes, group, axis, algorithm, protocol, imbalance, joined] = op;
  return std::tuple_cat(std::tie(kind, bytes, axis, algorithm, protocol, imbalance, joined),
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

// Prices of work on one cluster.
class Keeper {
 public:
  explicit Keeper(const ClusterSpec& cluster) : cluster_(&cluster) {}

  template <typename Work, typename Context, typename Price>
  OpCost operator()(const Work& op, const Context& context, const Price& price) const {
    if (!keeps(context)) {
      return price(context);
    }
    return std::get<KeptPrices<Work>>(kept_).get(op, conditions_of(context),
                                                 [&] { return price(context); });
  }

 private:
  [[nodiscard]] bool keeps(const KernelContext& context) const {
    return &context.device == &cluster_->device && context.detail == Detail::kDuration;
  }
  [[nodiscard]] bool keeps(const FabricContext& context) const {
    return &context.cluster == cluster_ && context.detail == Detail::kDuration;
  }
  static Conditions conditions_of(const KernelContext& context) {
    return {context.clock, context.compute_units, context.launch};
  }
  static Conditions conditions_of(const FabricContext& /*context*/) { return {}; }

  const ClusterSpec* cluster_;
  mutable std::tuple<KeptPrices<Gemm>, KeptPrices<GroupedGemm>, KeptPrices<Attention>,
                     KeptPrices<LinearAttention>, KeptPrices<SparseAttention>,
                     KeptPrices<IndexScores>, KeptPrices<MemoryBound>, KeptPrices<Collective>,
                     KeptPrices<ExpertExchange>>
      kept_;
};

CostModel kept(const CostModel& model, const ClusterSpec& cluster) {
  return cost_model_around(model, Keeper(cluster));
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
