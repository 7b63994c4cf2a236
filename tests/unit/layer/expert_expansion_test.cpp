// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/expert_expansion.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::expert_expansion_test {
namespace {

using test::exchanging_sample;
using test::Sample;
using Names = std::vector<std::string>;

BlockOps expanded(const Sample& sample) {
  const ExpansionContext context = sample.context();
  BlockBuilder build(context);
  expand_routed_experts(context, build);
  return build.finish();
}

// Names of what is no product and no activation, equal neighbours once.
Names names_of_exchange(const OpList& ops) {
  Names names;
  for (const Op& op : ops) {
    const std::string text(name(op.id).starts_with("experts.") ? "experts" : name(op.id));
    if (names.empty() || names.back() != text) {
      names.push_back(text);
    }
  }
  return names;
}

const ExpertExchange& exchange_of(const OpList& ops, OpId id) {
  for (const Op& op : ops) {
    if (const auto* work = std::get_if<ExpertExchange>(&op.work); work && op.id == id) {
      return *work;
    }
  }
  throw std::runtime_error("no such exchange");
}

std::int64_t grouped_rows(const OpList& ops) {
  for (const Op& op : ops) {
    if (const auto* work = std::get_if<GroupedGemm>(&op.work)) {
      return work->m_total;
    }
  }
  return 0;
}

TEST_CASE("each dispatcher runs its own kernels around the experts", "[unit]") {
  const auto forward = [](Dispatcher dispatcher) {
    return names_of_exchange(expanded(exchanging_sample(dispatcher)).forward);
  };
  CHECK(forward(Dispatcher::kAllToAll) == Names{"moe.permute", "moe.dispatch", "moe.sort",
                                                "experts", "moe.unsort", "moe.combine",
                                                "moe.unpermute"});
  CHECK(forward(Dispatcher::kAllGather) == Names{"moe.dispatch", "moe.dispatch_map", "moe.permute",
                                                 "experts", "moe.unpermute", "moe.combine"});
  CHECK(forward(Dispatcher::kDeepEp) ==
        Names{"moe.dispatch", "moe.permute", "experts", "moe.local_sum", "moe.combine"});
  for (const Dispatcher fused :
       {Dispatcher::kDeepEpV2, Dispatcher::kHybridEp, Dispatcher::kDeepEpLowLatency}) {
    CHECK(forward(fused) == Names{"moe.dispatch", "experts", "moe.combine"});
  }
  CHECK(forward(Dispatcher::kSonic) == Names{"moe.symmetric_copy", "moe.gather_choices",
                                             "moe.index", "moe.dispatch", "experts",
                                             "moe.gather_scores", "moe.combine"});
  CHECK(forward(Dispatcher::kMinimalAsyncEp) ==
        Names{"moe.index", "moe.dispatch", "experts", "moe.combine", "moe.weighted_sum"});
}

TEST_CASE("the gradient of dispatch is a combine and that of combine a dispatch", "[unit]") {
  for (const Dispatcher dispatcher :
       {Dispatcher::kDeepEp, Dispatcher::kDeepEpV2, Dispatcher::kDeepEpLowLatency,
        Dispatcher::kHybridEp, Dispatcher::kSonic, Dispatcher::kMinimalAsyncEp}) {
    CAPTURE(name(dispatcher));
    const BlockOps ops = expanded(exchanging_sample(dispatcher));
    CHECK(exchange_of(ops.forward, OpId::kMoeDispatch).phase == ExchangePhase::kDispatch);
    CHECK(exchange_of(ops.forward, OpId::kMoeCombine).phase == ExchangePhase::kCombine);
    CHECK(exchange_of(ops.backward, OpId::kMoeCombine).phase == ExchangePhase::kDispatch);
    CHECK(exchange_of(ops.backward, OpId::kMoeDispatch).phase == ExchangePhase::kCombine);
  }
}

template <typename Work>
std::vector<Work> works(const OpList& ops, OpId id) {
  std::vector<Work> found;
  for (const Op& op : ops) {
    if (const auto* work = std::get_if<Work>(&op.work); work != nullptr && op.id == id) {
      found.push_back(*work);
    }
  }
  return found;
}

// Four ranks with 1024 tokens each, two choices a token: 8,192 rows at worst, 2,048 on average.
TEST_CASE("products take the rows that arrived, other kernels the whole buffer", "[unit]") {
  for (const Dispatcher dispatcher : {Dispatcher::kAllToAll, Dispatcher::kDeepEp}) {
    Sample sample = exchanging_sample(dispatcher);
    sample.software.expert_buffer = ExpertBuffer::kWorstCase;
    const BlockOps ops = expanded(sample);
    CHECK(grouped_rows(ops.forward) == 2048);
    CHECK(works<MemoryBound>(ops.forward, OpId::kExpertsActivation).at(0).rows == 8192);
    const OpId sorted = dispatcher == Dispatcher::kAllToAll ? OpId::kMoeSort : OpId::kMoePermute;
    CHECK(works<MemoryBound>(ops.forward, sorted).at(0).rows == 8192);
  }
}

TEST_CASE("MinimalAsyncEP sums and activates rows by its own kernels where the model runs eagerly",
          "[unit]") {
  const auto implementations = [](Dispatcher dispatcher) {
    Sample sample = exchanging_sample(dispatcher);
    sample.software.permute = Implementation::kEager;
    sample.software.activation = Implementation::kEager;
    const OpList ops = expanded(sample).forward;
    const OpId sum =
        dispatcher == Dispatcher::kAllToAll ? OpId::kMoeUnpermute : OpId::kMoeWeightedSum;
    return std::pair{works<MemoryBound>(ops, sum).at(0).implementation,
                     works<MemoryBound>(ops, OpId::kExpertsActivation).at(0).implementation};
  };
  CHECK(implementations(Dispatcher::kMinimalAsyncEp) ==
        std::pair{Implementation::kFused, Implementation::kFused});
  CHECK(implementations(Dispatcher::kAllToAll) ==
        std::pair{Implementation::kEager, Implementation::kEager});
}

TEST_CASE("MinimalAsyncEP sums the rows of a token's gradient once they are back", "[unit]") {
  const OpList ops = expanded(exchanging_sample(Dispatcher::kMinimalAsyncEp)).backward;
  REQUIRE(ops.size() > 2);
  CHECK(ops.back().id == OpId::kMoeLocalSum);
  const auto sums = works<MemoryBound>(ops, OpId::kMoeLocalSum);
  REQUIRE(sums.size() == 1);
  CHECK((sums[0].rows == 2048 && sums[0].cols == 1024));  // 1024 tokens, 2 choices each
  CHECK(sums[0].kind == MemoryBoundKind::kUnpermute);
}

TEST_CASE("biases of experts are added in the format of the weights of their rows", "[unit]") {
  const auto biases = [](Dispatcher dispatcher, Implementation implementation) {
    Sample sample = exchanging_sample(dispatcher);
    sample.model.moe->expert_bias = true;
    sample.software.expert_bias = implementation;
    return works<MemoryBound>(expanded(sample).forward, OpId::kExpertsBias);
  };
  CHECK(biases(Dispatcher::kAllToAll, Implementation::kFused).empty());
  const auto narrow = biases(Dispatcher::kAllToAll, Implementation::kEager);
  REQUIRE(narrow.size() == 1);
  CHECK((narrow[0].kind == MemoryBoundKind::kExpertBias && narrow[0].element == Bytes(2)));
  CHECK((narrow[0].rows == 2048 && narrow[0].cols == 1024));
  const auto wide = biases(Dispatcher::kHybridEp, Implementation::kEager);
  REQUIRE(wide.size() == 2);
  CHECK((wide[0].kind == MemoryBoundKind::kExpertBiasFp32 && wide[0].element == Bytes(4)));
  CHECK(wide[1].kind == MemoryBoundKind::kCast);
  CHECK(works<MemoryBound>(expanded(exchanging_sample(Dispatcher::kHybridEp)).forward,
                           OpId::kExpertsBias)
            .empty());
}

TEST_CASE("a limit on what the activation reads is a pass of its own unless it is fused",
          "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kAllToAll);
  sample.model.moe->clamped_activation = true;
  CHECK(works<MemoryBound>(expanded(sample).forward, OpId::kExpertsClamp).empty());
  sample.software.activation_clamp = Implementation::kEager;
  const auto clamps = works<MemoryBound>(expanded(sample).forward, OpId::kExpertsClamp);
  const auto activations = works<MemoryBound>(expanded(sample).forward, OpId::kExpertsActivation);
  REQUIRE((clamps.size() == 1 && activations.size() == 1));
  CHECK(clamps[0].cols == 2 * activations[0].cols);  // gate and up
}

TEST_CASE("an activation inside the experts' products is no kernel, and keeps its result",
          "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kAllToAll);
  const BlockOps apart = expanded(sample);
  sample.software.activation_in_product = true;
  const BlockOps inside = expanded(sample);
  CHECK(works<MemoryBound>(apart.forward, OpId::kExpertsActivation).size() == 1);
  CHECK(works<MemoryBound>(inside.forward, OpId::kExpertsActivation).empty());
  CHECK(works<MemoryBound>(inside.backward, OpId::kExpertsActivation).empty());
  REQUIRE(inside.saved.size() == apart.saved.size());
  for (std::size_t i = 0; i < inside.saved.size(); ++i) {
    CHECK(inside.saved[i].bytes == apart.saved[i].bytes);
  }
}

// Of 16-bit values: gate and up and a half of that forward; backward both inputs read, both of
// their gradients written, and the activation's output once more where it was not kept.
TEST_CASE("an activation inside the experts' products passes their epilogues", "[case]") {
  const auto bytes = [](const Sample& sample) {
    const BlockOps ops = expanded(sample);
    const auto down = works<GroupedGemm>(ops.backward, OpId::kExpertsDown);
    REQUIRE(down.size() == 2);
    const auto dgrad = std::find_if(down.begin(), down.end(), [](const GroupedGemm& product) {
      return product.pass == GemmPass::kDgrad;
    });
    const OpId first = sample.model.mlp.gated && sample.software.fused_gate_up
                           ? OpId::kExpertsGateUp
                           : OpId::kExpertsUp;
    return std::pair(works<GroupedGemm>(ops.forward, first).front().result, dgrad->result);
  };
  Sample sample = exchanging_sample(Dispatcher::kAllToAll);
  CHECK(bytes(sample) == std::pair(Bytes(2), Bytes(2)));
  sample.software.activation_in_product = true;
  CHECK(bytes(sample) == std::pair(Bytes(3), Bytes(8)));
  sample.software.keeps_activation_product = false;
  CHECK(bytes(sample) == std::pair(Bytes(3), Bytes(10)));
  sample.software.fused_gate_up = false;
  CHECK(bytes(sample) == std::pair(Bytes(6), Bytes(10)));
  sample.model.mlp.gated = false;
  CHECK(bytes(sample) == std::pair(Bytes(4), Bytes(6)));
  Sample sonic = exchanging_sample(Dispatcher::kSonic);
  sonic.software.activation_in_product = true;
  CHECK(bytes(sonic) == std::pair(Bytes(3), Bytes(10)));
}

// 16 experts on 4 ranks, of which the first has twice the load of the others: 5 of 17 rows where
// 4.25 are the mean, so that three quarters of a row go to a copy on another rank.
TEST_CASE("copies of experts bring their weights forward and backward, and send gradients home",
          "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kAllToAll);
  sample.plan.ep = 4;
  Routing routing;
  routing.kind = RoutingKind::kCounts;
  routing.counts.assign(16, 1);
  routing.counts.front() = 2;
  sample.plan.exchange.routing = routing;
  const double before = exchange_shape(sample.context()).imbalance;
  CHECK(before == Approx(4.0 * 5.0 / 17.0).epsilon(1e-6));
  sample.plan.exchange.redundant_experts = 4;
  CHECK(exchange_shape(sample.context()).imbalance < 1.0 + 0.06);
  const BlockOps ops = expanded(sample);
  // Three matrices of 1,024 x 512 in 16 bits, of which an all-to-all among four keeps a quarter.
  const double expert = 3.0 * 1024.0 * 512.0;
  const auto bytes = [](const OpList& list, OpId id) {
    const std::vector<Collective> found = works<Collective>(list, id);
    REQUIRE(found.size() == 1);
    return found.front().bytes;
  };
  CHECK(bytes(ops.forward, OpId::kExpertsFetchCopies) == Bytes(4.0 / 3.0 * expert * 2.0));
  CHECK(bytes(ops.backward, OpId::kExpertsFetchCopies) == Bytes(4.0 / 3.0 * expert * 2.0));
  CHECK(bytes(ops.backward, OpId::kExpertsReturnGradients) ==
        4.0 / 3.0 * expert * sample.software.gradient_reduce);
  CHECK(works<GroupedGemm>(ops.forward, OpId::kExpertsDown).front().groups == 5);
  const auto place = [&](OpId id) {
    return std::find_if(ops.backward.begin(), ops.backward.end(),
                        [&](const Op& op) { return op.id == id; });
  };
  CHECK(place(OpId::kExpertsFetchCopies) < place(OpId::kExpertsDown));
  CHECK(place(OpId::kExpertsDown) < place(OpId::kExpertsReturnGradients));
}

// 1024 tokens x 2 arrive; the buffer holds 4 x 1024 x min(2, 4) rows.
TEST_CASE("an activation that does not know its rows runs over the whole buffer", "[unit]") {
  const auto activated = [](const Sample& sample) {
    return works<MemoryBound>(expanded(sample).forward, OpId::kExpertsActivation).front().rows;
  };
  for (const Dispatcher dispatcher : {Dispatcher::kSonic, Dispatcher::kMinimalAsyncEp}) {
    Sample sample = exchanging_sample(dispatcher);
    CHECK(activated(sample) == 2048);
    sample.plan.exchange.offset_aware_activation = false;
    CHECK(activated(sample) == 8192);
    sample.plan.exchange.offset_aware_activation = true;
    CHECK(activated(sample) == 2048);
  }
  Sample worst = exchanging_sample(Dispatcher::kAllToAll);
  worst.software.expert_buffer = ExpertBuffer::kWorstCase;
  CHECK(activated(worst) == 8192);
  worst.plan.exchange.offset_aware_activation = true;
  CHECK(activated(worst) == 2048);
}

// 1024 tokens x 2 x 1.25 in 16 experts of 160 rows: 2,560 rows, times 1024 tokens, times 1024
// values.
TEST_CASE("rows of a capacity are gathered by products with masks where the software has it so",
          "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kAllToAll);
  sample.software.row_gather = RowGather::kProduct;
  CHECK(names_of_exchange(expanded(sample).forward).front() == "moe.permute");  // no capacity
  sample.plan.exchange.capacity_factor = 1.25;
  sample.plan.exchange.receive_buffer = ReceiveBuffer::kCapacity;
  const BlockOps ops = expanded(sample);
  CHECK(names_of_exchange(ops.forward) == Names{"moe.masks", "moe.dispatch_product", "moe.dispatch",
                                                "moe.sort", "experts", "moe.unsort", "moe.combine",
                                                "moe.combine_product"});
  const std::int64_t sequences = sample.training.micro_batch_size;
  const auto spread = works<Gemm>(ops.forward, OpId::kMoeDispatchProduct);
  REQUIRE(spread.size() == 1);
  CHECK(flops(spread[0]).value() ==
        2.0 * 2560.0 * 1024.0 * 1024.0 / static_cast<double>(sequences));
  CHECK(works<Gemm>(ops.backward, OpId::kMoeDispatchProduct).size() == 1);
  CHECK(works<Gemm>(ops.backward, OpId::kMoeCombineProduct).size() == 2);  // rows and weights
}

TEST_CASE("only the forward dispatch sends fp8 rows, quantised before", "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kDeepEp);
  sample.plan.exchange.dispatch_dtype = Dtype::kFp8;
  const BlockOps ops = expanded(sample);
  CHECK(names_of_exchange(ops.forward).front() == "moe.dispatch_quantize");
  CHECK(names_of_exchange(ops.backward).back() == "moe.dispatch");
  CHECK(exchange_of(ops.forward, OpId::kMoeDispatch).dtype == Dtype::kFp8);
  CHECK(exchange_of(ops.forward, OpId::kMoeCombine).dtype == Dtype::kBf16);
  CHECK(exchange_of(ops.backward, OpId::kMoeCombine).dtype == Dtype::kBf16);
  CHECK(exchange_of(ops.backward, OpId::kMoeDispatch).dtype == Dtype::kBf16);
}

TEST_CASE("an exchange says what it moves, where and how", "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kDeepEp);
  sample.model.moe->router.groups = 4;
  sample.model.moe->router.topk_groups = 2;
  sample.plan.exchange.compute_units = 20;
  const ExpertExchange op = exchange_of(expanded(sample).forward, OpId::kMoeDispatch);
  CHECK(op.tokens == 1024);
  CHECK(op.hidden == 1024);
  CHECK(op.experts == 16);
  CHECK(op.topk == 2);
  CHECK(op.group == ProcessGroup{4, 1});
  CHECK(op.compute_units == 20);
  CHECK(op.routing.kind == RoutingKind::kGroupLimited);
  CHECK(op.routing.groups == 4);
  CHECK(op.routing.groups_per_token == 2);
}

TEST_CASE("expert tensor parallelism widens the group, the experts and the choices", "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kDeepEp);
  sample.plan.etp = 2;
  const OpList forward = expanded(sample).forward;
  const ExpertExchange op = exchange_of(forward, OpId::kMoeDispatch);
  CHECK(op.group == ProcessGroup{8, 1});
  CHECK(op.experts == 32);
  CHECK(op.topk == 4);
  CHECK(grouped_rows(forward) == 4096);  // as with alltoall, which gathers them
  sample.plan.exchange.dispatcher = Dispatcher::kAllToAll;
  CHECK(grouped_rows(expanded(sample).forward) == 4096);
}

TEST_CASE("the most loaded rank sets the rows of the experts", "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kAllToAll);
  Routing counts;
  counts.kind = RoutingKind::kCounts;
  counts.counts.assign(16, 100);
  counts.counts[0] = 500;  // the first rank has 800 of 2000 rows, 1.6 times the mean
  sample.plan.exchange.routing = counts;
  const OpList forward = expanded(sample).forward;
  CHECK(grouped_rows(forward) == 3277);  // 2048 * 1.6
  for (const Op& op : forward) {
    if (const auto* collective = std::get_if<Collective>(&op.work)) {
      CHECK(collective->imbalance == Approx(1.6));
    }
  }
}

TEST_CASE("redispatch gathers the input once more in backward", "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kSonic);
  sample.plan.exchange.redispatch_in_backward = true;
  const Names backward = names_of_exchange(expanded(sample).backward);
  CHECK(std::count(backward.begin(), backward.end(), "moe.redispatch") == 1);
}

TEST_CASE("one rank exchanges nothing", "[unit]") {
  for (const Dispatcher dispatcher : {Dispatcher::kDeepEp, Dispatcher::kSonic}) {
    Sample sample = exchanging_sample(dispatcher);
    sample.plan.ep = 1;
    for (const Op& op : expanded(sample).forward) {
      CHECK_FALSE(communication_axis(op).has_value());
    }
  }
}

TEST_CASE("an all-to-all that stands for deepep goes by rail between nodes", "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kDeepEp);
  sample.plan.exchange.collective_only = true;
  const auto algorithm = [&] {
    for (const Op& op : expanded(sample).forward) {
      if (const auto* collective = std::get_if<Collective>(&op.work)) {
        return collective->algorithm;
      }
    }
    return CollectiveAlgorithm::kRing;
  };
  CHECK(algorithm() == CollectiveAlgorithm::kAuto);
  sample.plan.ep_in_domain = 2;
  CHECK(algorithm() == CollectiveAlgorithm::kPxn);
  sample.plan.exchange.all_to_all = CollectiveAlgorithm::kHierarchical;
  CHECK(algorithm() == CollectiveAlgorithm::kHierarchical);
}

}  // namespace
}  // namespace stepcast::expert_expansion_test
