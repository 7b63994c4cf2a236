// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/expert_expansion.hpp"

#include "stepcast/parallel/exchange_buffers.hpp"

namespace stepcast {
namespace {

using Kind = MemoryBoundKind;

OpId exchange_id(ExchangePhase phase) {
  return phase == ExchangePhase::kDispatch ? OpId::kMoeDispatch : OpId::kMoeCombine;
}

class ExpertExpander {
 public:
  ExpertExpander(const ExpansionContext& context, BlockBuilder& build)
      : context_(context),
        build_(build),
        shape_(exchange_shape(context)),
        rows_(expert_rows(context)) {}

  void expand() {
    build_.begin(Block::kRoutedExperts);
    switch (dispatcher_in_use(plan())) {
      case Dispatcher::kAllToAll:
        return by_all_to_all();
      case Dispatcher::kAllGather:
        return by_all_gather();
      case Dispatcher::kDeepEp:
        return by_deepep();
      case Dispatcher::kDeepEpV2:
      case Dispatcher::kHybridEp:
      case Dispatcher::kDeepEpLowLatency:
        return by_exchange_alone();
      case Dispatcher::kSonic:
        return by_sonic();
      case Dispatcher::kMinimalAsyncEp:
        return by_minimal_async();
    }
  }

 private:
  [[nodiscard]] const ParallelPlan& plan() const { return context_.plan; }
  [[nodiscard]] const ExchangeSpec& spec() const { return context_.plan.exchange; }
  [[nodiscard]] const MoeSpec& moe() const { return *context_.model.moe; }
  [[nodiscard]] std::int64_t hidden() const { return context_.model.hidden; }
  [[nodiscard]] ProcessGroup group() const {
    // Ranks of one expert tensor group are neighbours, so both together are a run of ranks.
    const bool wide = shape_.ranks > plan().ep;
    return wide ? ProcessGroup{shape_.ranks, 1} : plan().ep_group();
  }

  void permuting(OpId id, Kind kind, std::int64_t rows) {
    build_.memory_bound(id, kind, rows, hidden(), context_.software.permute);
  }

  // Each rank sends its own tokens (S / tp of them under sequence parallelism), k copies each.
  void by_all_to_all() {
    const std::int64_t rows = sent_rows(spec(), shape_);
    const bool sorted = plan().ep > 1 && shape_.local_experts() > 1;
    permuting(OpId::kMoePermute, Kind::kPermute, rows);
    all_to_all(ExchangePhase::kDispatch, rows);
    if (sorted) {
      // Arrivals come sorted by sender and are sorted again by expert.
      permuting(OpId::kMoeSort, Kind::kStridedCopy, rows_);
    }
    experts();
    if (sorted) {
      permuting(OpId::kMoeUnsort, Kind::kStridedCopy, rows_);
    }
    all_to_all(ExchangePhase::kCombine, rows);
    permuting(OpId::kMoeUnpermute, Kind::kUnpermute, rows);
  }

  // Dispatch and combine are each other's mirror, forward and backward. With expert tensor
  // parallelism the etp ranks gather each other's rows before and scatter the sums after.
  void all_to_all(ExchangePhase phase, std::int64_t rows) {
    const Bytes bytes = static_cast<double>(rows * hidden()) * Bytes(2);
    Collective exchange{CollectiveOp::kAllToAll, bytes, plan().ep_group(), Axis::kExpert};
    exchange.algorithm = all_to_all_of(spec(), shape_.domains());
    exchange.imbalance =
        receive_buffer_of(spec()) == ReceiveBuffer::kCapacity ? 1.0 : shape_.imbalance;
    const Bytes gathered = static_cast<double>(plan().etp) * bytes;
    const OpId id = exchange_id(phase);
    const Collective gather{CollectiveOp::kAllGather, gathered, plan().etp_group(), Axis::kTensor};
    const Collective scatter{CollectiveOp::kReduceScatter, gathered, plan().etp_group(),
                             Axis::kTensor};
    if (phase == ExchangePhase::kCombine) {
      build_.forward_collective(id, scatter);
      build_.backward_collective(id, gather);
    }
    build_.forward_collective(id, exchange);
    build_.backward_collective(id, exchange);
    if (phase == ExchangePhase::kDispatch) {
      build_.forward_collective(id, gather);
      build_.backward_collective(id, scatter);
    }
  }

  // A collective over the ranks of the experts, of `values` values of `element` bytes in all.
  [[nodiscard]] Collective over_ranks(CollectiveOp op, std::int64_t values, Bytes element) const {
    return {op, static_cast<double>(values) * element, group(), Axis::kExpert};
  }

  void by_all_gather() {
    const std::int64_t everyone = shape_.ranks * shape_.tokens;
    const Collective tokens = over_ranks(CollectiveOp::kAllGather, everyone * hidden(), Bytes(2));
    const Collective sums = over_ranks(CollectiveOp::kReduceScatter, everyone * hidden(), Bytes(2));
    build_.forward_collective(OpId::kMoeDispatch, tokens);
    build_.backward_collective(OpId::kMoeDispatch, sums);
    // The map has a byte an entry and the probabilities four.
    const std::int64_t choices = everyone * moe().experts;
    build_.forward_collective(OpId::kMoeDispatchMap,
                              over_ranks(CollectiveOp::kAllGather, choices, Bytes(5)));
    build_.backward_collective(OpId::kMoeDispatchMap,
                               over_ranks(CollectiveOp::kReduceScatter, choices, Bytes(4)));
    permuting(OpId::kMoePermute, Kind::kPermute, rows_);
    experts();
    permuting(OpId::kMoeUnpermute, Kind::kUnpermute, rows_);
    build_.forward_collective(OpId::kMoeCombine, sums);
    build_.backward_collective(OpId::kMoeCombine, tokens);
  }

  void by_deepep() {
    dispatch();
    permuting(OpId::kMoePermute, Kind::kPermute, rows_);
    experts();
    permuting(OpId::kMoeLocalSum, Kind::kUnpermute, rows_);
    exchange(ExchangePhase::kCombine);
  }

  void by_exchange_alone() {
    dispatch();
    experts();
    exchange(ExchangePhase::kCombine);
  }

  void by_sonic() {
    const std::int64_t choices = shape_.ranks * shape_.tokens * shape_.topk;
    const ExchangePrimitive combine = sonic_combine(spec(), shape_);
    if (plan().ep > 1) {
      permuting(OpId::kMoeSymmetricCopy, Kind::kCopy, shape_.tokens);
      build_.forward_collective(OpId::kMoeGatherChoices,
                                over_ranks(CollectiveOp::kAllGather, choices, Bytes(4)));
    }
    index(choices);
    redispatch();
    dispatch();
    experts();
    if (combine != ExchangePrimitive::kAllToAll) {
      build_.forward_collective(OpId::kMoeGatherScores,
                                over_ranks(CollectiveOp::kAllGather, choices, Bytes(4)));
    }
    build_.backward_collective(OpId::kMoeScatterScores,
                               over_ranks(CollectiveOp::kReduceScatter, choices, Bytes(4)));
    if (plan().ep == 1) {
      permuting(OpId::kMoeUnpermute, Kind::kUnpermute, rows_);
    }
    exchange(ExchangePhase::kCombine);
  }

  // x is gathered a second time for the gradient of the first product's weights.
  void redispatch() {
    if (spec().redispatch_in_backward) {
      const std::int64_t everyone = shape_.ranks * shape_.tokens;
      build_.backward_collective(OpId::kMoeRedispatch, over_ranks(CollectiveOp::kAllGather,
                                                                  everyone * hidden(), Bytes(2)));
    }
  }

  void by_minimal_async() {
    index(shape_.tokens * shape_.topk);
    dispatch();
    experts();
    exchange(ExchangePhase::kCombine);
    permuting(OpId::kMoeWeightedSum, Kind::kUnpermute, shape_.tokens * shape_.topk);
  }

  // Counting, summing up and inverting the choices are a pass each.
  void index(std::int64_t choices) {
    constexpr int kPasses = 3;
    for (int pass = 0; pass < kPasses; ++pass) {
      build_.forward_memory_bound(OpId::kMoeIndex, Kind::kCopy, choices, 1,
                                  context_.software.permute, Bytes(4));
    }
  }

  void dispatch() {
    if (spec().dispatch_dtype != Dtype::kBf16) {
      build_.forward_memory_bound(OpId::kMoeDispatchQuantize, Kind::kQuantizeBlock, shape_.tokens,
                                  hidden(), context_.software.permute, Bytes(2));
    }
    exchange(ExchangePhase::kDispatch);
  }

  void exchange(ExchangePhase phase) {
    const bool there = phase == ExchangePhase::kDispatch;
    const ExchangePhase mirrored = there ? ExchangePhase::kCombine : ExchangePhase::kDispatch;
    build_.forward_exchange(exchange_id(phase),
                            work(phase, there ? spec().dispatch_dtype : Dtype::kBf16));
    build_.backward_exchange(exchange_id(phase), work(mirrored, Dtype::kBf16));
  }

  [[nodiscard]] ExpertExchange work(ExchangePhase phase, Dtype dtype) const {
    ExpertExchange op;
    op.phase = phase;
    op.dispatcher = dispatcher_in_use(plan());
    op.primitive =
        phase == ExchangePhase::kDispatch ? spec().dispatch_primitive : spec().combine_primitive;
    op.tokens = shape_.tokens;
    op.hidden = shape_.hidden;
    op.experts = shape_.experts;
    op.topk = shape_.topk;
    op.group = group();
    op.dtype = dtype;
    op.compute_units = spec().compute_units;
    op.routing = routing_of(spec(), moe());
    if (op.experts > moe().experts) {
      repeat_counts(op.routing);
    }
    return op;
  }

  // Every rank of an expert tensor group gets the tokens of the group's experts.
  void repeat_counts(Routing& routing) const {
    const auto local = static_cast<std::size_t>(moe().experts / plan().ep);
    std::vector<std::int64_t> repeated;
    for (std::size_t first = 0; first < routing.counts.size(); first += local) {
      for (std::int64_t copy = 0; copy < plan().etp; ++copy) {
        for (std::size_t i = first; i < first + local; ++i) {
          repeated.push_back(routing.counts[i]);
        }
      }
    }
    routing.counts = std::move(repeated);
  }

  void experts() {
    const std::int64_t width = moe().expert_ffn_hidden / plan().etp;
    const std::int64_t local = moe().experts / plan().ep;
    const bool gated = context_.model.mlp.gated;
    const bool apart = gated && !context_.software.fused_gate_up;
    cast_weights(local, (gated ? 3 : 2) * width);
    build_.gradient_sum(OpId::kExpertsGradientSum, rows_, apart ? 2 : 1, context_.software.permute);
    if (!gated) {
      build_.grouped(OpId::kExpertsUp, local, rows_, width, hidden());
    } else if (!apart) {
      build_.grouped(OpId::kExpertsGateUp, local, rows_, 2 * width, hidden());
    } else {
      build_.grouped(OpId::kExpertsGate, local, rows_, width, hidden());
      build_.grouped(OpId::kExpertsUp, local, rows_, width, hidden());
    }
    build_.activation(OpId::kExpertsActivation, rows_, width);
    build_.grouped(OpId::kExpertsDown, local, rows_, hidden(), width);
  }

  void cast_weights(std::int64_t experts, std::int64_t width) {
    if (context_.software.casts_expert_weights) {
      build_.cast(OpId::kExpertsCast, experts * width, hidden());
    }
  }

  const ExpansionContext& context_;
  BlockBuilder& build_;
  ExchangeShape shape_;
  std::int64_t rows_;  // of the experts of the most loaded rank
};

}  // namespace

void expand_routed_experts(const ExpansionContext& context, BlockBuilder& build) {
  ExpertExpander(context, build).expand();
}

}  // namespace stepcast
