// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/price_cache.hpp"

#include <bit>
#include <unordered_map>
#include <utility>

#include "stepcast/cost/power_level.hpp"

namespace stepcast {
namespace {

// Mixes values into a hash (the finaliser of splitmix64 after each).
class Mixer {
 public:
  Mixer& operator<<(std::int64_t value) { return mix(static_cast<std::uint64_t>(value)); }
  Mixer& operator<<(double value) { return mix(std::bit_cast<std::uint64_t>(value)); }
  Mixer& operator<<(Bytes value) { return *this << value.value(); }
  Mixer& operator<<(const std::vector<std::int64_t>& values) {
    for (const std::int64_t value : values) {
      *this << value;
    }
    return *this;
  }
  Mixer& operator<<(ProcessGroup group) { return *this << group.size << group.stride; }
  template <typename Enum>
  requires std::is_enum_v<Enum> Mixer& operator<<(Enum value) {
    return *this << static_cast<std::int64_t>(value);
  }
  [[nodiscard]] std::size_t hash() const { return state_; }

 private:
  Mixer& mix(std::uint64_t value) {
    state_ += 0x9e3779b97f4a7c15U + value;
    state_ = (state_ ^ (state_ >> 30U)) * 0xbf58476d1ce4e5b9U;
    state_ = (state_ ^ (state_ >> 27U)) * 0x94d049bb133111ebU;
    state_ ^= state_ >> 31U;
    return *this;
  }
  std::uint64_t state_ = 0;
};

void mix(Mixer& into, const Gemm& op) {
  into << op.m << op.n << op.k << op.batch << op.dtype << op.pass << op.result
       << std::int64_t{op.accumulate};
}
void mix(Mixer& into, const GroupedGemm& op) {
  into << op.groups << op.m_total << op.n << op.k << op.dtype << op.pass << op.counts << op.result
       << std::int64_t{op.accumulate} << std::int64_t{op.sequential};
}
void mix(Mixer& into, const Attention& op) {
  into << op.batch << op.seq_q << op.seq_kv << op.heads << op.kv_heads << op.d_qk << op.d_v
       << op.window << op.dtype << op.direction << op.kernel << std::int64_t{op.causal};
}
void mix(Mixer& into, const MemoryBound& op) {
  into << op.kind << op.rows << op.cols << op.element << op.direction << op.implementation
       << std::int64_t{op.resident};
}
void mix(Mixer& into, const Collective& op) {
  into << op.op << op.bytes << op.group << op.axis << op.algorithm << op.protocol << op.imbalance;
}
void mix(Mixer& into, const ExpertExchange& op) {
  into << op.phase << op.dispatcher << op.primitive << op.tokens << op.hidden << op.experts
       << op.topk << op.group << op.dtype << op.compute_units << op.capacity_factor
       << op.routing.kind << op.routing.groups << op.routing.groups_per_token
       << op.routing.zipf_exponent << op.routing.counts;
}

// What of a context sets a kernel's price on one device.
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
      Mixer into;
      mix(into, key.op);
      into << key.conditions.clock.value() << key.conditions.compute_units
           << key.conditions.launch.value();
      return into.hash();
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

 private:
  std::shared_ptr<const AttentionModel> model_;
  mutable KeptPrices<Attention> kept_;
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
