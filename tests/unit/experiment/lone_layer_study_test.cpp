// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/lone_layer_study.hpp"

#include <algorithm>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::lone_layer_study_test {
namespace {

using test::contains_text;
using test::nearly;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// sonic-moe pull request 54: T = 131072 over W = 4 ranks, H = 4096, I = 1536, E = 128, k = 8.
Experiment sonic(const std::vector<Override>& overrides = {}) {
  return load_experiment(test::data_root().folder / "tests/cli/layer/sonic_moe.yaml", overrides,
                         test::data_root());
}

LayerStudy studied(const Experiment& experiment, const LayerQuestion& question = {}) {
  return study_layer(experiment, question, default_cost_model());
}

const ExchangeWay& way(const LayerStudy& report, ExchangePhase phase, ExchangePrimitive primitive) {
  const auto found = std::find_if(
      report.exchanges.begin(), report.exchanges.end(),
      [&](const ExchangeWay& w) { return w.phase == phase && w.primitive == primitive; });
  REQUIRE(found != report.exchanges.end());
  return *found;
}

Bytes kept(const LayerStudy& report, TensorId id) {
  Bytes sum;
  for (const SavedTensor& tensor : report.saved) {
    sum += tensor.id == id ? tensor.bytes : Bytes{};
  }
  return sum;
}

// (W - 1) T H b; (W - 1) / W T k H b; (W - 1) T (1 - (1 - 1 / W)^k) H b, T = 32768 of a rank.
TEST_CASE("a rank receives the bytes that SonicMoE's profiler divides by its times", "[case]") {
  using Primitive = ExchangePrimitive;
  const LayerStudy report = studied(sonic({"software.expert_exchange.routing=independent"}));
  const auto received = [&](ExchangePhase phase, Primitive primitive) {
    return way(report, phase, primitive).received;
  };
  CHECK(received(ExchangePhase::kDispatch, Primitive::kAllGather) == Bytes(805'306'368));
  CHECK(received(ExchangePhase::kDispatch, Primitive::kAllToAll) == Bytes(1'610'612'736));
  CHECK(received(ExchangePhase::kDispatch, Primitive::kRankDedup) == Bytes(724'684'800));
  CHECK(received(ExchangePhase::kCombine, Primitive::kReduceScatter) == Bytes(805'306'368));
  CHECK(received(ExchangePhase::kCombine, Primitive::kAllToAll) == Bytes(1'610'612'736));
  CHECK(received(ExchangePhase::kCombine, Primitive::kRankDedup) == Bytes(724'684'800));
}

TEST_CASE("the primitive that runs is the fastest of those that serve the ranks", "[unit]") {
  const LayerStudy report = studied(sonic());
  for (const ExchangePhase phase : {ExchangePhase::kDispatch, ExchangePhase::kCombine}) {
    const ExchangeWay& winner = way(report, phase, ExchangePrimitive::kRankDedup);
    CHECK(winner.runs);
    for (const ExchangeWay& other : report.exchanges) {
      CHECK((other.phase != phase || !other.skipped.empty() || other.time >= winner.time));
      CHECK(other.runs == (other.primitive == ExchangePrimitive::kRankDedup));
    }
    CHECK_THAT(way(report, phase, ExchangePrimitive::kNodeDedup).skipped,
               contains_text("share one scale-up domain"));
  }
}

TEST_CASE("SonicMoE's audit of what a layer saves is exact, with either flag", "[case]") {
  const LayerStudy plain = studied(sonic());
  CHECK(kept(plain, TensorId::kExpertsInput) == Bytes(1.0 * kGiB));
  CHECK(kept(plain, TensorId::kMlpActivationInput) == Bytes(6.0 * kGiB));
  CHECK(plain.saved_by_experts() == Bytes(7.0 * kGiB));
  CHECK(
      studied(sonic({"software.expert_exchange.redispatch_in_backward=true"})).saved_by_experts() ==
      Bytes(6.25 * kGiB));
  CHECK(studied(sonic({"software.expert_exchange.cpu_sync=blocking"})).saved_by_experts() ==
        Bytes(2.5 * kGiB));
}

TEST_CASE("gathering tokens again and reading their rows on the host take time", "[unit]") {
  const LayerPasses plain = studied(sonic()).passes;
  const LayerPasses again =
      studied(sonic({"software.expert_exchange.redispatch_in_backward=true"})).passes;
  CHECK(again.forward.time > plain.forward.time);  // a second index of the rows
  const LayerPasses slow = studied(sonic({"software.expert_exchange.redispatch_in_backward=true",
                                          "cluster.gpu=a100_80gb", "cluster.link_rate=2 GB/s"}))
                               .passes;
  const LayerPasses without =
      studied(sonic({"cluster.gpu=a100_80gb", "cluster.link_rate=2 GB/s"})).passes;
  CHECK(slow.backward->time > without.backward->time);  // copy engines cannot keep up
  const LayerPasses read = studied(sonic({"software.expert_exchange.cpu_sync=blocking"})).passes;
  CHECK(plain.forward.host == Seconds{});
  CHECK(read.forward.host > Seconds(2e-5));
  CHECK(read.forward.time > plain.forward.time);
}

// 6 T k I H of a rank forward and twice that backward: 9.896e12 and 1.979e13.
TEST_CASE("rates count the experts' products, and backward is both less forward", "[case]") {
  const LayerStudy report = studied(sonic());
  const double forward = 6.0 * 32768.0 * 8.0 * 1536.0 * 4096.0;
  CHECK(report.passes.forward.flops.value() == forward);
  REQUIRE(report.passes.backward);
  CHECK(report.passes.backward->flops.value() == 2.0 * forward);
  CHECK(report.passes.forward.rate().value() ==
        nearly(forward / report.passes.forward.time.value()));
  const LayerPass& pass = report.passes.forward;
  CHECK((pass.computation + pass.communication + pass.host).value() == nearly(pass.time.value()));
}

// A forward of 128 tokens by itself waits for its launches; before a backward the host gets ahead.
TEST_CASE("a backward pass waits no negative time for the host, and its parts sum", "[unit]") {
  for (const char* tokens : {"128", "192", "256", "512"}) {
    CAPTURE(tokens);
    const ConfigNode dense = parse_config(
        "{model: llama3.1_8b, cluster: {gpu: h100_sxm, nodes: 1}, plan: {}, training: "
        "{micro_batch_size: 1, global_batch_size: 8, sequence_length: " +
            std::string(tokens) + "}}",
        "test");
    const LayerPasses passes = studied(read_experiment(dense, {}, test::data_root())).passes;
    CHECK(passes.forward.host > Seconds{});
    REQUIRE(passes.backward);
    const LayerPass& backward = *passes.backward;
    CHECK(backward.host >= Seconds{});
    CHECK((backward.computation + backward.communication + backward.host).value() ==
          nearly(backward.time.value()));
  }
}

TEST_CASE("a layer of inference keeps nothing and has no backward", "[unit]") {
  const LayerStudy report = studied(sonic(), {.use = LayerUse::kInference});
  CHECK(report.saved.empty());
  CHECK_FALSE(report.passes.backward);
  CHECK(report.passes.forward.time == studied(sonic()).passes.forward.time);
  for (const LocalBaseline& local : report.local) {
    CHECK_FALSE(local.passes.backward);
  }
  const LayerStudy flagged =
      studied(sonic({"software.expert_exchange.cpu_sync=blocking",
                     "software.expert_exchange.redispatch_in_backward=true"}),
              {.use = LayerUse::kInference});
  CHECK(flagged.passes.forward.time == report.passes.forward.time);  // neither flag has a purpose
}

TEST_CASE("what one GPU takes is what its own experiment says", "[unit]") {
  const LayerStudy ranks = studied(sonic());
  REQUIRE(ranks.local.size() == 3);
  const std::vector<Override> alone = {"cluster.gpus_per_node=1", "plan.ep=1"};
  const auto one_gpu = [&](std::vector<Override> more) {
    more.insert(more.end(), alone.begin(), alone.end());
    return studied(sonic(more)).passes;
  };
  const LayerPasses own = one_gpu({"training.global_batch_size=8"});
  CHECK(ranks.local[0].passes.forward.time.value() == nearly(own.forward.time.value()));
  CHECK(ranks.local[0].passes.backward->time.value() == nearly(own.backward->time.value()));
  const LayerPasses few = one_gpu({"training.global_batch_size=8", "model.moe.experts=32"});
  CHECK(ranks.local[1].passes.forward.time.value() == nearly(few.forward.time.value()));
  const LayerPasses all = one_gpu({"training.micro_batch_size=32"});
  CHECK(ranks.local[2].passes.forward.time.value() == nearly(all.forward.time.value()));
  CHECK(ranks.own_tokens() == &ranks.local.front());
  CHECK(ranks.all_tokens() == &ranks.local.back());
}

TEST_CASE("one GPU with fewer experts than a token takes is left out with the reason", "[unit]") {
  const LayerStudy report = studied(sonic({"model.moe.experts=16"}));
  REQUIRE(report.local.size() == 3);
  CHECK_THAT(report.local[1].skipped, contains_text("a token takes 8 experts"));
  CHECK(report.all_tokens() != nullptr);
}

TEST_CASE("beyond one scale-up domain only node_dedup serves, and auto runs it", "[unit]") {
  const LayerStudy report =
      studied(sonic({"cluster.gpu=h100_sxm", "cluster.nodes=2", "cluster.gpus_per_node=8",
                     "plan.ep=16", "training.global_batch_size=128"}));
  REQUIRE(report.projection.feasible());
  CHECK(way(report, ExchangePhase::kDispatch, ExchangePrimitive::kNodeDedup).runs);
  CHECK_THAT(way(report, ExchangePhase::kCombine, ExchangePrimitive::kRankDedup).skipped,
             contains_text("must share a scale-up domain"));
}

TEST_CASE("a layer that the model does not have is named with what it has", "[unit]") {
  const ModelSpec moe = sonic().model;
  const ModelSpec dense = test::shipped_model("llama3.1_8b");
  CHECK(layer_problem(moe, {}).empty());
  CHECK(layer_problem(moe, {.layer = "0"}).empty());
  CHECK(layer_problem(dense, {.layer = "31"}).empty());
  CHECK_THAT(layer_problem(moe, {.layer = "1"}), contains_text("has 1 layers; it is '1'"));
  CHECK_THAT(layer_problem(moe, {.layer = "dense"}), contains_text("all of them with experts"));
  CHECK_THAT(layer_problem(dense, {.layer = "moe"}), contains_text("none of them with experts"));
  CHECK_THAT(layer_problem(dense, {.layer = "-1"}), contains_text("number of a layer from 0"));
  CHECK_THAT(layer_problem(dense, {.part = LayerPart::kExperts}), contains_text("--block whole"));
}

TEST_CASE("a whole layer has its attention too, and a dense one no exchange", "[unit]") {
  const LayerStudy whole = studied(sonic(), {.part = LayerPart::kWhole});
  CHECK(whole.passes.forward.time > studied(sonic()).passes.forward.time);
  CHECK(whole.local.empty());
  const Experiment dense =
      load_experiment(test::data_root().folder / "tests/cli/layer/sonic_moe.yaml",
                      {"model=llama3.1_8b", "plan.ep=1", "software=megatron"}, test::data_root());
  const LayerStudy report = studied(dense);
  CHECK(report.layer == "dense layer");
  CHECK(report.exchanges.empty());
  CHECK(kept(report, TensorId::kLayerInput) == Bytes(8.0 * 4096 * 4096 * 2));
}

// 8 x 4096 tokens of 4096 values in 16 bits.
TEST_CASE("a layer that is recomputed in full keeps its input, and its experts nothing", "[unit]") {
  const Experiment full = sonic({"training.recompute=full"});
  const LayerStudy experts = studied(full);
  CHECK(experts.recomputed);
  CHECK(experts.saved.empty());
  CHECK(experts.passes.backward->time > studied(sonic()).passes.backward->time);
  const LayerStudy whole = studied(full, {.part = LayerPart::kWhole});
  REQUIRE(whole.saved.size() == 1);
  CHECK(whole.saved.front().bytes == Bytes(8.0 * 4096 * 4096 * 2));
  CHECK_FALSE(studied(full, {.use = LayerUse::kInference}).recomputed);
}

TEST_CASE("a plan that does not divide has reasons and no layer", "[unit]") {
  const LayerStudy report = studied(sonic({"plan.ep=3"}));
  CHECK_FALSE(report.projection.feasible());
  CHECK_FALSE(report.projection.reasons.empty());
  CHECK(report.exchanges.empty());
}

}  // namespace
}  // namespace stepcast::lone_layer_study_test
