// SPDX-License-Identifier: Apache-2.0
#include "stepcast/settle/settle_plan.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::feasibility_test {
namespace {

using test::contains_text;
using test::Sample;

struct Asked {
  Sample sample = test::dense_sample();
  ClusterSpec cluster = test::round_cluster(2);
  PlanRequest request;

  Asked() {
    cluster.device.matrix_rate[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerCycle(2048);
    request.given = true;
  }
  [[nodiscard]] ResolvedPlan resolve() const {
    return settle_plan(request, sample.model, sample.training, cluster, sample.software);
  }
  [[nodiscard]] std::string reasons() const {
    std::string text;
    for (const Reason& reason : resolve().reasons) {
      text += reason.text() + "\n";
    }
    return text;
  }
};

TEST_CASE("what a plan leaves out follows from the cluster and the batch", "[unit]") {
  Asked asked;
  asked.request.tp = 2;
  asked.request.pp = 2;
  asked.sample.training.micro_batch_size = 1;
  const ResolvedPlan resolved = asked.resolve();
  REQUIRE(resolved.reasons.empty());
  CHECK(resolved.plan.dp == 4);  // 16 / (2 * 2)
  CHECK(resolved.plan.world() == 16);
  CHECK(resolved.plan.micro_batches == 4);  // 16 / (1 * 4)
  CHECK(resolved.plan.sequence_parallel);
  CHECK(resolved.plan.zero == 1);
  CHECK(resolved.plan.stages.size() == 2);
}

TEST_CASE("every reason against a plan is given at once", "[unit]") {
  Asked asked;
  asked.request.tp = 3;  // neither GPUs, heads, key heads, ffn_hidden nor sequence
  asked.request.pp = 5;  // nor layers
  asked.request.ep = 2;  // no experts
  asked.request.layout = "even";
  asked.request.dp = 7;
  asked.sample.training.dtype = Dtype::kFp8;
  asked.sample.training.micro_batch_size = 3;
  const std::string reasons = asked.reasons();
  CHECK_THAT(reasons, contains_text("tp * cp * pp = 15 does not divide the number of GPUs = 16"));
  CHECK_THAT(reasons, contains_text("tp = 3 does not divide the number of attention heads = 16"));
  CHECK_THAT(reasons, contains_text("key/value heads"));
  CHECK_THAT(reasons, contains_text("tp = 3 does not divide ffn_hidden = 4096"));
  CHECK_THAT(reasons, contains_text("sequence_length = 512"));
  CHECK_THAT(reasons, contains_text("8 layers do not divide"));
  CHECK_THAT(reasons, contains_text("the model has no experts"));
  CHECK_THAT(reasons, contains_text("dp = 7"));
  CHECK_THAT(reasons, contains_text("no matrix products in fp8"));
  CHECK_THAT(reasons, contains_text("global_batch_size = 16"));
}

TEST_CASE("of layers that differ the first heads and width are told that tp does not divide",
          "[unit]") {
  Asked asked;
  asked.request.tp = 4;
  const std::int64_t layers = asked.sample.model.layers;
  asked.sample.model.attention.heads = LayerCounts({16, 12, 10, 6}, layers);
  asked.sample.model.attention.kv_heads = LayerCounts({4, 6, 5, 3}, layers);
  asked.sample.model.mlp.ffn_hidden = LayerCounts({4096, 0, 510, 30}, layers);
  const std::string reasons = asked.reasons();
  CHECK_THAT(reasons, contains_text("tp = 4 does not divide the number of attention heads = 10"));
  CHECK_THAT(reasons, contains_text("tp = 4 neither divides the 6 key/value heads"));
  CHECK_THAT(reasons, contains_text("tp = 4 does not divide ffn_hidden = 510"));
  CHECK_THAT(reasons, !contains_text("= 30"));
}

TEST_CASE("Triton's attention to chosen keys is refused on a GPU without its constants", "[unit]") {
  Asked asked;
  asked.sample.software.sparse_attention = SparseKernel::kTriton;
  CHECK_THAT(asked.reasons(), !contains_text("sparse_attention"));
  asked.sample.model.attention.indexer = IndexerSpec{2, 16, 64};
  CHECK_THAT(asked.reasons(), contains_text("sparse_attention: triton has no constants"));
  asked.cluster.device.kernels.sparse_attention_triton = SparseAttentionConstants{};
  CHECK_THAT(asked.reasons(), !contains_text("sparse_attention"));
}

TEST_CASE("a global batch that is no whole number of micro-batches is refused", "[unit]") {
  Asked asked;
  asked.sample.training.global_batch_size = 24;  // micro_batch_size * dp = 2 * 16
  CHECK_THAT(asked.reasons(),
             contains_text("micro_batch_size * dp = 32 does not divide global_batch_size = 24"));
}

TEST_CASE("expert degrees must divide experts, widths and ranks", "[unit]") {
  Asked asked;
  asked.sample = test::moe_sample();
  asked.sample.training.global_batch_size = 32;
  asked.request.ep = 3;
  asked.request.etp = 5;
  const std::string reasons = asked.reasons();
  CHECK_THAT(reasons, contains_text("ep = 3 does not divide the number of experts = 16"));
  CHECK_THAT(reasons, contains_text("etp = 5 does not divide the experts' ffn_hidden = 512"));
  CHECK_THAT(reasons, contains_text("etp * ep = 15 does not divide tp * cp * dp = 16"));
}

TEST_CASE("expert data parallelism is what expert parallelism leaves", "[unit]") {
  Asked asked;
  asked.sample = test::moe_sample();
  asked.sample.training.global_batch_size = 32;
  asked.request.tp = 2;
  asked.request.ep = 4;
  const ResolvedPlan resolved = asked.resolve();
  REQUIRE(resolved.reasons.empty());
  CHECK(resolved.plan.edp == 4);  // 16 / (1 * 4)
}

TEST_CASE("zero 3 follows from fsdp, and contradictions are refused", "[unit]") {
  Asked asked;
  asked.sample.training.global_batch_size = 32;
  asked.request.fsdp = 8;
  const ResolvedPlan hybrid = asked.resolve();
  REQUIRE(hybrid.reasons.empty());
  CHECK(hybrid.plan.zero == 3);
  CHECK(hybrid.plan.fsdp == 8);
  CHECK(hybrid.plan.replicate_group() == ProcessGroup{2, 8});
  asked.request.zero = 1;
  CHECK_THAT(asked.reasons(), contains_text("zero = 1 contradicts fsdp"));
  asked.request.zero = 3;
  asked.request.fsdp = 5;
  CHECK_THAT(asked.reasons(), contains_text("fsdp = 5 does not divide dp * cp = 16"));
}

TEST_CASE("an order of ranks must cut experts and the rest into the same pipelines", "[unit]") {
  Asked asked;
  asked.sample = test::moe_sample();
  asked.cluster = test::round_cluster(2);
  asked.cluster.device.matrix_rate[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerCycle(2048);
  asked.request.pp = 2;
  asked.request.cp = 2;
  asked.request.ep = 4;
  asked.request.order = parse_axis_order("tp-cp-ep-pp-dp").value();
  CHECK_THAT(asked.reasons(),
             contains_text("order = tp-cp-ep-pp-dp makes pipelines of every 2th rank") &&
                 contains_text("of every 4th; put pp last or first"));
  asked.request.order = parse_axis_order("tp-cp-dp-ep-pp").value();
  const ResolvedPlan last = asked.resolve();
  CHECK_THAT(asked.reasons(), !contains_text("order"));
  CHECK(last.plan.edp == 2);  // 16 / (pp 2 * ep 4)
  CHECK(last.plan.ep_group() == ProcessGroup{4, 2});
  CHECK(last.plan.edp_group() == ProcessGroup{2, 1});
}

TEST_CASE("zero 1 within groups keeps its stage, and the groups must divide the replicas",
          "[unit]") {
  Asked asked;
  asked.sample.training.global_batch_size = 32;
  asked.request.zero = 1;
  asked.request.hsdp = 4;
  const ResolvedPlan groups = asked.resolve();
  REQUIRE(groups.reasons.empty());
  CHECK(groups.plan.zero == 1);
  CHECK(groups.plan.fsdp == 4);  // ranks that share one optimizer
  CHECK(groups.plan.replicate_group() == ProcessGroup{4, 4});
  asked.request.hsdp = 5;
  CHECK_THAT(asked.reasons(), contains_text("hsdp = 5 does not divide dp * cp = 16"));
  asked.request.hsdp = 1;  // everybody a whole optimizer
  CHECK(asked.resolve().plan.zero == 0);
  asked.request.hsdp = 4;
  asked.request.fsdp = 16;
  CHECK_THAT(asked.reasons(), contains_text("zero = 1 contradicts fsdp and hsdp"));
}

TEST_CASE("one replica has nothing to shard", "[unit]") {
  Asked asked;
  asked.cluster.nodes = 1;
  asked.request.tp = 4;
  asked.request.pp = 2;
  const ResolvedPlan resolved = asked.resolve();
  REQUIRE(resolved.reasons.empty());
  CHECK(resolved.plan.zero == 0);
}

TEST_CASE("experts have replicas to share an optimizer where the rest has none", "[unit]") {
  Asked asked;
  asked.sample = test::moe_sample();
  asked.cluster.nodes = 1;
  asked.request.tp = 8;
  const ResolvedPlan resolved = asked.resolve();
  REQUIRE(resolved.reasons.empty());
  CHECK(resolved.plan.replicas() == 1);
  CHECK(resolved.plan.edp == 8);
  CHECK(resolved.plan.zero == 1);
}

TEST_CASE("virtual stages need a pipeline and its interleaved schedule", "[unit]") {
  Asked asked;
  asked.request.vpp = 2;
  CHECK_THAT(asked.reasons(), contains_text("vpp = 2 needs pp > 1"));
  asked.request.pp = 2;
  asked.request.schedule = Schedule::kOneFOneB;
  CHECK_THAT(asked.reasons(), contains_text("needs interleaved_1f1b"));
  asked.request.vpp = 1;
  asked.request.schedule = Schedule::kInterleaved;
  CHECK_THAT(asked.reasons(), contains_text("interleaved_1f1b needs vpp > 1"));
}

TEST_CASE("a V-shaped schedule brings its two virtual stages along", "[unit]") {
  Asked asked;
  asked.request.pp = 2;
  asked.request.schedule = Schedule::kZbV;
  const ResolvedPlan resolved = asked.resolve();
  REQUIRE(resolved.reasons.empty());
  CHECK(resolved.plan.vpp == 2);
  CHECK(resolved.plan.stages.size() == 4);
  CHECK_THAT(resolved.notes.at(0), contains_text("vpp 2 follows from schedule zbv"));
  asked.request.vpp = 4;
  CHECK_THAT(asked.reasons(), contains_text("zbv has two stages a rank: vpp = 4 must be 2"));
}

TEST_CASE("virtual stages follow from a layout that has more stages than ranks", "[unit]") {
  Asked asked;
  asked.request.pp = 2;
  asked.request.layout = "Ett|tt|tt|ttL";
  const ResolvedPlan resolved = asked.resolve();
  REQUIRE(resolved.reasons.empty());
  CHECK(resolved.plan.vpp == 2);
  CHECK(resolved.plan.schedule == Schedule::kInterleaved);
  REQUIRE(resolved.notes.size() == 1);
  CHECK_THAT(resolved.notes[0], contains_text("vpp 2 follows from stage_layout"));
}

TEST_CASE("context parallelism needs two chunks a rank, or heads to split", "[unit]") {
  Asked asked;
  asked.sample.training.sequence_length = 510;
  asked.request.cp = 4;
  CHECK_THAT(asked.reasons(), contains_text("2 * cp = 8 does not divide sequence_length = 510"));
  asked.sample.training.sequence_length = 512;
  asked.request.cp = 16;
  asked.request.tp = 2;
  asked.cluster.nodes = 4;
  asked.request.cp_algorithm = CpAlgorithm::kAllToAll;
  CHECK_THAT(asked.reasons(), contains_text("splits heads) = 32 does not divide"));
}

TEST_CASE("an exchange of heads divides those of keys and values too", "[unit]") {
  Asked asked;  // 16 query, 4 key/value heads
  asked.request.cp = 8;
  asked.request.cp_algorithm = CpAlgorithm::kAllToAll;
  CHECK_THAT(asked.reasons(), contains_text("divides key/value heads) = 8 does not divide"));
  asked.request.cp_algorithm = CpAlgorithm::kAllToAllRing;
  // 4 heads of keys are left, of 8 neighbours.
  ResolvedPlan resolved = asked.resolve();
  CHECK(resolved.reasons.empty());
  CHECK(resolved.plan.cp_heads_group() == ProcessGroup{4, 1});
  CHECK(resolved.plan.cp_sequence_group() == ProcessGroup{2, 4});
  asked.request.cp_all_to_all = 2;
  CHECK(asked.resolve().plan.cp_sequence() == 4);
  asked.request.cp_all_to_all = 3;
  CHECK_THAT(asked.reasons(), contains_text("cp_all_to_all = 3 does not divide cp = 8"));
  asked.request.cp_algorithm = CpAlgorithm::kRing;
  CHECK_THAT(asked.reasons(), contains_text("cp_all_to_all = 3, but cp_algorithm ring makes it 1"));
}

TEST_CASE("context parallelism is as its software has it", "[unit]") {
  Asked asked;
  asked.request.cp = 2;
  CHECK(asked.resolve().plan.cp_algorithm == CpAlgorithm::kRing);
  asked.sample.model.attention.sliding_window = 128;
  CHECK_THAT(asked.reasons(), contains_text("ring has no sliding window, which sample needs"));
  asked.request.cp_algorithm = CpAlgorithm::kAllGather;
  CHECK(asked.reasons() == "");
  asked.sample.model.attention.sinks = true;
  CHECK_THAT(asked.reasons(), contains_text("all_gather has no attention sinks"));
  asked.request.cp_algorithm = CpAlgorithm::kAllToAll;
  CHECK(asked.reasons() == "");
  asked.sample.software.attention = AttentionKernel::kUnfused;
  CHECK_THAT(asked.reasons(), contains_text("cp must be 1: without a fused kernel"));
  asked = Asked();
  asked.request.cp = 2;
  asked.sample.software.ring_attention = Implementation::kCompiled;
  CHECK(asked.resolve().plan.cp_algorithm == CpAlgorithm::kAllGather);
  asked.request.cp_algorithm = CpAlgorithm::kAllToAll;
  CHECK_THAT(asked.reasons(), contains_text("which exchanges no heads"));
}

TEST_CASE("passes in pairs need chunks, an exchange, and layers that are not recomputed whole",
          "[unit]") {
  Asked asked;
  asked.sample = test::moe_sample();
  asked.sample.training.micro_batch_size = 1;  // the batch of 16 divides by dp, and by pp * dp
  asked.sample.software.ep_overlap = true;
  CHECK_THAT(asked.reasons(), contains_text("ep_overlap needs ep > 1"));
  asked.request.ep = 2;
  CHECK(asked.reasons() == "");
  asked.request.pp = 2;
  CHECK_THAT(asked.reasons(), contains_text("pairs no passes under schedule 1f1b; set vpp > 1"));
  asked.request.vpp = 2;
  CHECK(asked.reasons() == "");
  asked.sample.training.recompute.kind = RecomputeKind::kFull;
  CHECK_THAT(asked.reasons(), contains_text("needs recompute other than full"));
  asked.sample.training.recompute.kind = RecomputeKind::kSelective;
  asked.sample.training.recompute.modules = {RecomputeModule::kMoe};
  CHECK_THAT(asked.reasons(), contains_text("leave it out of recompute_modules"));
  asked.sample.training.recompute = {};
  asked.sample.software.shared_expert_overlap = true;
  CHECK_THAT(asked.reasons(), contains_text("exclude each other"));
}

TEST_CASE("without a plan everything is sharded, and a note says so", "[unit]") {
  Asked asked;
  asked.request.given = false;
  const ResolvedPlan resolved = asked.resolve();
  REQUIRE(resolved.reasons.empty());
  CHECK(resolved.plan.zero == 3);
  CHECK(resolved.plan.tp == 2);  // the smallest for which 2 * 16 / tp divides the batch of 16
  CHECK(resolved.plan.fsdp == 8);
  REQUIRE_FALSE(resolved.notes.empty());
  CHECK_THAT(resolved.notes[0], contains_text("no plan given"));
}

TEST_CASE("degrees beyond any cluster are refused and crash nothing", "[property]") {
  constexpr std::int64_t kHuge = 1 << 20;
  Asked asked;
  asked.sample = test::moe_sample();
  asked.request.tp = kHuge;
  asked.request.pp = kHuge;
  asked.request.vpp = kHuge;
  asked.request.cp = kHuge;
  asked.request.ep = kHuge;
  asked.request.etp = kHuge;
  asked.request.dp = kHuge;
  asked.request.fsdp = kHuge;
  CHECK(asked.resolve().reasons.size() > 5);
}

// 16 GPUs in nodes of 8, 48 experts.
Asked exchanging(Dispatcher dispatcher, std::int64_t ep) {
  Asked asked;
  asked.sample.model.moe = test::experts(48, 2, 512);
  asked.sample.training.micro_batch_size = 1;
  asked.request.ep = ep;
  asked.request.dispatcher = dispatcher;
  return asked;
}

TEST_CASE("the plan's dispatcher goes before the software's", "[unit]") {
  Asked asked = exchanging(Dispatcher::kHybridEp, 8);
  asked.sample.software.exchange.dispatcher = Dispatcher::kDeepEp;
  asked.sample.software.exchange.compute_units = 20;
  ParallelPlan plan = asked.resolve().plan;
  CHECK(plan.exchange.dispatcher == Dispatcher::kHybridEp);
  CHECK(plan.exchange.compute_units == 20);
  CHECK(plan.ep_in_domain == 8);
  CHECK(plan.exchange_units == 20);
  asked.sample.software.exchange.compute_units = 0;
  asked.cluster.device.exchange.of(Dispatcher::kHybridEp).units = 16;
  CHECK(asked.resolve().plan.exchange_units == 16);
  asked.request.dispatcher.reset();
  CHECK(asked.resolve().plan.exchange.dispatcher == Dispatcher::kDeepEp);
}

TEST_CASE("a dispatcher is refused where it cannot reach or keep what it needs", "[unit]") {
  CHECK(exchanging(Dispatcher::kDeepEp, 16).reasons().empty());
  Asked deepep = exchanging(Dispatcher::kDeepEp, 12);
  deepep.cluster = test::round_cluster(3);
  deepep.cluster.device.matrix_rate[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerCycle(2048);
  deepep.sample.training.global_batch_size = 48;
  CHECK_THAT(deepep.reasons(), contains_text("at most 8 ranks or a multiple of 8"));
  deepep.request.dispatcher = Dispatcher::kHybridEp;
  CHECK(deepep.reasons().empty());
  Asked fixed = exchanging(Dispatcher::kDeepEp, 16);
  fixed.sample.software.exchange.receive_buffer = ReceiveBuffer::kWorstCase;
  CHECK_THAT(fixed.reasons(), contains_text("only within one scale-up domain"));

  Asked sonic = exchanging(Dispatcher::kSonic, 16);
  CHECK(sonic.reasons().empty());
  sonic.sample.software.exchange.dispatch_primitive = ExchangePrimitive::kRankDedup;
  CHECK_THAT(sonic.reasons(), contains_text("node_dedup only"));

  Asked minimal = exchanging(Dispatcher::kMinimalAsyncEp, 16);
  CHECK_THAT(minimal.reasons(), contains_text("must fit one scale-up domain"));
  CHECK_THAT(minimal.reasons(), contains_text("needs recompute full"));
  minimal.request.ep = 8;
  minimal.sample.training.recompute.kind = RecomputeKind::kFull;
  CHECK(minimal.reasons().empty());
}

// 8 ranks of 100 GB/s: rs gathers 7 T rows, a2a 7/8 x 2 T and what goes to one rank twice is sent
// once by rank_dedup, but only a2a needs no pass over HBM.
TEST_CASE("auto of sonic is settled with the plan, for its time and its memory", "[unit]") {
  Asked sonic = exchanging(Dispatcher::kSonic, 8);
  DispatcherConstants& constants = sonic.cluster.device.exchange.of(Dispatcher::kSonic);
  sonic.cluster.device.hbm.achieved = BytesPerSecond(1e12);
  CHECK(sonic.resolve().plan.exchange.dispatch_primitive ==
        ExchangePrimitive::kAuto);  // no section
  constants.local_share = 1.0;
  const ExchangeSpec fast = sonic.resolve().plan.exchange;
  CHECK(fast.dispatch_primitive == ExchangePrimitive::kRankDedup);
  constants.local_share = 0.01;  // of HBM, for the sums of the other ways to combine
  const ExchangeSpec slow = sonic.resolve().plan.exchange;
  CHECK(slow.dispatch_primitive == ExchangePrimitive::kRankDedup);
  CHECK(slow.combine_primitive == ExchangePrimitive::kAllToAll);
  sonic.request.ep = 16;
  CHECK(sonic.resolve().plan.exchange.combine_primitive == ExchangePrimitive::kNodeDedup);
  sonic.sample.software.exchange.combine_primitive = ExchangePrimitive::kNodeDedup;
  CHECK(sonic.reasons().empty());
}

TEST_CASE("a model without experts has no dispatcher", "[unit]") {
  Asked asked;
  asked.request.dispatcher = Dispatcher::kDeepEp;
  CHECK_THAT(asked.reasons(), contains_text("the model has no experts"));
}

}  // namespace
}  // namespace stepcast::feasibility_test
