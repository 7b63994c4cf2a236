// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/provenance_shares.hpp"

#include <algorithm>
#include <memory>
#include <random>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "property/draws.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/movable_experiment.hpp"
#include "stepcast/experiment/project.hpp"

namespace stepcast::provenance_shares_test {
namespace {

using test::data_root;

Experiment example(const std::string& name, const std::vector<Override>& changes = {}) {
  return load_experiment(data_root().folder / "examples" / name / "experiment.yaml", changes,
                         data_root());
}

// One GPU, so that every instant is a kernel's.
Experiment one_gpu(const std::string& more = "gpu_clock: 1.4 GHz") {
  return example(
      "02_llama2_7b_mi300x",
      {"model=llama3.2_1b", "cluster={gpu: mi300x, nodes: 1, gpus_per_node: 1, " + more + "}",
       "plan={tp: 1}", "training.recompute=none"});
}

// Every kernel passes over 3 MB at a share of the peak of HBM, after a ramp, and runs 1.4e3 cycles.
OpCost toy_price(const KernelContext& context) {
  const DeviceSpec& device = context.device;
  const MemoryConstants& memory = device.kernels.memory;
  OpCost cost;
  cost.terms = {{"pass", Bytes(3e6) / (memory.streaming * device.hbm.peak)},
                {"ramp", memory.ramp},
                {"cycles", 1.4e3 / context.clock}};
  for (const CostTerm& term : cost.terms) {
    cost.duration += term.duration;
  }
  return cost;
}

class Toy final : public GemmModel, public AttentionModel, public MemoryBoundModel {
 public:
  [[nodiscard]] OpCost gemm(const Gemm& /*op*/, const KernelContext& context) const override {
    return toy_price(context);
  }
  [[nodiscard]] OpCost grouped_gemm(const GroupedGemm& /*op*/,
                                    const KernelContext& context) const override {
    return toy_price(context);
  }
  [[nodiscard]] OpCost attention(const Attention& /*op*/,
                                 const KernelContext& context) const override {
    return toy_price(context);
  }
  [[nodiscard]] OpCost linear_attention(const LinearAttention& /*op*/,
                                        const KernelContext& context) const override {
    return toy_price(context);
  }
  [[nodiscard]] OpCost sparse_attention(const SparseAttention& /*op*/,
                                        const KernelContext& context) const override {
    return toy_price(context);
  }
  [[nodiscard]] OpCost index_scores(const IndexScores& /*op*/,
                                    const KernelContext& context) const override {
    return toy_price(context);
  }
  [[nodiscard]] OpCost memory_bound(const MemoryBound& /*op*/,
                                    const KernelContext& context) const override {
    return toy_price(context);
  }
};

CostModel toy_model() {
  CostModel cost = default_cost_model();
  const auto toy = std::make_shared<Toy>();
  cost.gemm = toy;
  cost.attention = toy;
  cost.memory_bound = toy;
  return cost;
}

// The toy's numbers: 3 us of pass, 6 us of ramp and, at 1.4 GHz, 1 us of cycles.
void set_numbers(Experiment& experiment) {
  DeviceSpec& device = experiment.cluster.device;
  device.kernels.memory.streaming = 0.5;
  device.hbm.peak = BytesPerSecond(2e12);
  device.kernels.memory.ramp = Seconds(6e-6);
}

void set_kind(Experiment& experiment, const std::string& key, SourceKind kind) {
  for (Provenance& entry : experiment.cluster.device.provenance) {
    entry.kind = entry.key == key ? kind : entry.kind;
  }
}

ProvenanceShares shares_of(const Experiment& experiment, const CostModel& cost) {
  const std::optional<ProvenanceShares> shares =
      provenance_shares(experiment, project(experiment, cost), cost);
  REQUIRE(shares.has_value());
  return *shares;
}

double share_of(const ProvenanceShares& shares, std::string_view key) {
  double sum = 0.0;
  for (const RestingConstant& entry : shares.constants) {
    sum += entry.constant.key == key ? entry.share : 0.0;
  }
  return sum;
}

double sum_of(const ProvenanceShares& shares) {
  double sum = 0.0;
  for (const RestingConstant& entry : shares.constants) {
    sum += entry.share;
  }
  return sum;
}

TEST_CASE("a term rests on the weakest of the constants that it is made of", "[unit]") {
  Experiment experiment = one_gpu();
  set_numbers(experiment);
  set_kind(experiment, "hbm.peak", SourceKind::kSpec);
  set_kind(experiment, "memory_bound.streaming", SourceKind::kFitted);
  set_kind(experiment, "memory_bound.ramp", SourceKind::kAssumed);
  const ProvenanceShares shares = shares_of(experiment, toy_model());
  CHECK(share_of(shares, "memory_bound.streaming") == Approx(0.3).epsilon(1e-4));
  CHECK(share_of(shares, "hbm.peak") == Approx(0.0).margin(1e-5));
  CHECK(share_of(shares, "memory_bound.ramp") == Approx(0.6).epsilon(1e-4));
  CHECK(share_of(shares, "cluster.gpu_clock") == Approx(0.1).epsilon(1e-4));
  CHECK(shares.of(SourceKind::kFitted) == Approx(0.3).epsilon(1e-4));
  CHECK(shares.of(SourceKind::kAssumed) == Approx(0.6).epsilon(1e-4));
  CHECK(shares.of(SourceKind::kSpec) == Approx(0.1).epsilon(1e-4));
}

TEST_CASE("constants of one kind share a term", "[unit]") {
  Experiment experiment = one_gpu();
  set_numbers(experiment);
  set_kind(experiment, "hbm.peak", SourceKind::kMeasured);
  set_kind(experiment, "memory_bound.streaming", SourceKind::kMeasured);
  set_kind(experiment, "memory_bound.ramp", SourceKind::kDerived);
  const ProvenanceShares shares = shares_of(experiment, toy_model());
  CHECK(share_of(shares, "memory_bound.streaming") == Approx(0.15).epsilon(1e-4));
  CHECK(share_of(shares, "hbm.peak") == Approx(0.15).epsilon(1e-4));
  CHECK(shares.of(SourceKind::kDerived) == Approx(0.6).epsilon(1e-4));
}

TEST_CASE("a kernel that draws little runs at the peak clock and rests on it", "[unit]") {
  Experiment experiment = one_gpu("power_limit: 750 W");
  set_numbers(experiment);
  const ProvenanceShares shares = shares_of(experiment, toy_model());
  // 1.4e3 cycles at 2.1 GHz beside 9 us.
  CHECK(share_of(shares, "clock.peak") == Approx((2.0 / 3.0) / (9.0 + 2.0 / 3.0)).epsilon(1e-4));
  CHECK(share_of(shares, "cluster.gpu_clock") == 0.0);
}

TEST_CASE("a time that follows no number is assumed", "[unit]") {
  class Fixed final : public MemoryBoundModel {
   public:
    [[nodiscard]] OpCost memory_bound(const MemoryBound& /*op*/,
                                      const KernelContext& /*context*/) const override {
      OpCost cost;
      cost.duration = Seconds(1.0);
      return cost;
    }
  };
  const Experiment experiment = one_gpu();
  CostModel cost = default_cost_model();
  cost.memory_bound = std::make_shared<Fixed>();
  const ProvenanceShares shares = shares_of(experiment, cost);
  CHECK(shares.constants.front().constant.key == "no constant of a profile");
  CHECK(shares.constants.front().share > 0.99);
  CHECK(shares.of(SourceKind::kAssumed) > 0.99);
}

TEST_CASE("what was fitted on another part is assumed on one that was never measured", "[unit]") {
  const std::vector<std::string> changes = {"cluster={gpu: h100_pcie, nodes: 1}"};
  const Experiment experiment =
      example("12_llama3.1_405b_h100", {"model=llama3.1_8b", changes[0], "plan={tp: 1}"});
  const ProvenanceShares shares = shares_of(experiment, default_cost_model());
  CHECK(shares.of(SourceKind::kFitted) == Approx(0.0).margin(1e-6));
  const auto efficiency = std::find_if(shares.constants.begin(), shares.constants.end(),
                                       [](const RestingConstant& entry) {
                                         return entry.constant.key == "gemm.matrix_efficiency.bf16";
                                       });
  REQUIRE(efficiency != shares.constants.end());
  CHECK(efficiency->constant.kind == SourceKind::kAssumed);
  CHECK(efficiency->source == "fitted on h100_sxm, never on h100_pcie");
}

TEST_CASE("the host that nobody named is assumed, a named one was measured", "[unit]") {
  const std::vector<Override> eager = {"model=llama3.2_1b", "software=torchtitan_eager",
                                       "plan={fsdp: 8}", "training.recompute=none",
                                       "training.sequence_length=512"};
  for (const bool named : {false, true}) {
    std::vector<Override> changes = eager;
    changes.emplace_back(std::string("cluster={gpu: h200_sxm, nodes: 1") +
                         (named ? ", host: xeon_pytorch_2_11}" : "}"));
    const ProvenanceShares shares =
        shares_of(example("02_llama2_7b_mi300x", changes), default_cost_model());
    CAPTURE(named);
    const auto call = std::find_if(
        shares.constants.begin(), shares.constants.end(),
        [](const RestingConstant& entry) { return entry.constant.key == "eager_call"; });
    REQUIRE(call != shares.constants.end());
    CHECK(call->share > 0.05);
    CHECK((call->constant.kind == SourceKind::kAssumed) == !named);
  }
}

TEST_CASE("what an experiment states itself is specified", "[unit]") {
  const std::string file = "15_deepseek_v3_h100";
  const MovableExperiment movable(example(file, {"cluster.nic_efficiency=0.8"}));
  const auto numbers = movable.numbers();
  const auto stated = std::find_if(numbers.begin(), numbers.end(), [](const PlacedNumber& entry) {
    return entry.origin->key == "scale_out.efficiency";
  });
  REQUIRE(stated != numbers.end());
  CHECK(stated->value() == 0.8);
  CHECK(stated->origin->kind == SourceKind::kSpec);
  CHECK(stated->origin->value == "0.8");
  CHECK(stated->origin->source == "the experiment");
  // The share of the profile's own, which is derived, goes to the derived factor beside it.
  const CostModel cost = default_cost_model();
  CHECK(share_of(shares_of(example(file), cost), "scale_out.efficiency") > 0.1);
  CHECK(share_of(shares_of(movable.experiment(), cost), "scale_out.efficiency") < 0.01);
}

TEST_CASE("a plan that does not divide rests on nothing", "[unit]") {
  const Experiment experiment = example("12_llama3.1_405b_h100", {"plan.tp=7"});
  const CostModel cost = default_cost_model();
  const Projection projection = project(experiment, cost);
  REQUIRE_FALSE(projection.priced);
  CHECK_FALSE(provenance_shares(experiment, projection, cost).has_value());
}

TEST_CASE("shares of every shipped experiment are positive, sorted and add up to one",
          "[property]") {
  const CostModel cost = default_cost_model();
  for (const std::filesystem::path& file : test::shipped_experiments()) {
    CAPTURE(file);
    const Experiment experiment = load_experiment(file, {}, data_root());
    const ProvenanceShares shares = shares_of(experiment, cost);
    CHECK(sum_of(shares) == Approx(1.0).epsilon(1e-12));
    for (std::size_t i = 0; i < shares.constants.size(); ++i) {
      CHECK(shares.constants[i].share > 0.0);
      CHECK((i == 0 || shares.constants[i].share <= shares.constants[i - 1].share + 1e-6));
    }
    // Little stands in the program.
    CHECK(share_of(shares, "no constant of a profile") < 0.05);
  }
}

TEST_CASE("shares of random plans add up to one, and none of the time rests on the program",
          "[property]") {
  const CostModel cost = default_cost_model();
  std::mt19937 random(16);
  const auto one_of = [&](const std::vector<std::string>& choices) {
    return choices[random() % choices.size()];
  };
  int priced = 0;
  for (int i = 0; i < test::draws(80); ++i) {
    const std::vector<std::string> changes = {
        "model=" + one_of({"llama3.2_1b", "llama3.1_8b", "mixtral_8x7b", "deepseek_v2_lite"}),
        "cluster={gpu: " +
            one_of({"a100_80gb", "h100_sxm", "h200_sxm", "h100_pcie", "b200", "gb300", "mi300x",
                    "mi355x"}) +
            ", nodes: " + one_of({"1", "2", "8"}) + one_of({"", "", ", gpu_clock: 1 GHz"}) + "}",
        "software=" + one_of({"megatron", "torchtitan", "torchtitan_eager", "nemo", "primus_moe",
                              "primus_turbo", "nanotron", "deepspeed"}),
        "plan={tp: " + one_of({"1", "2", "4"}) + ", pp: " + one_of({"1", "2"}) +
            ", ep: " + one_of({"1", "2", "4"}) + "}",
        "training.micro_batch_size=1",
        "training.dtype=" + one_of({"bf16", "bf16", "fp8"}),
        "training.recompute=" + one_of({"none", "full"}),
        "training.sequence_length=" + one_of({"1024", "4096"})};
    CAPTURE(changes);
    const Experiment experiment = example("02_llama2_7b_mi300x", {changes.begin(), changes.end()});
    const Projection projection = project(experiment, cost);
    const std::optional<ProvenanceShares> shares = provenance_shares(experiment, projection, cost);
    REQUIRE(shares.has_value() == projection.priced);
    if (shares) {
      ++priced;
      CHECK(sum_of(*shares) == Approx(1.0).epsilon(1e-12));
      CHECK(share_of(*shares, "no constant of a profile") < 1e-4);
    }
  }
  CHECK(priced > test::draws(80) / 3);
}

TEST_CASE("a constant that becomes assumed takes its share along and no other's grows",
          "[property]") {
  const CostModel cost = default_cost_model();
  for (const char* name : {"01_llama3.1_70b_mi300x", "12_llama3.1_405b_h100", "15_deepseek_v3_h100",
                           "18_gpt3_175b_a100", "10_deepseek_v2_lite_mi300x"}) {
    Experiment experiment = example(name);
    const Projection projection = project(experiment, cost);
    const ProvenanceShares before = *provenance_shares(experiment, projection, cost);
    for (std::size_t i = 0; i < std::min<std::size_t>(12, before.constants.size()); ++i) {
      const RestingConstant& moved = before.constants[i];
      const std::string& key = moved.constant.key;
      if (moved.constant.kind == SourceKind::kAssumed) {
        continue;
      }
      CAPTURE(name, key);
      Experiment changed = experiment;
      set_kind(changed, key, SourceKind::kAssumed);
      CHECK(project(changed, cost).time.step == projection.time.step);
      const ProvenanceShares after = *provenance_shares(changed, projection, cost);
      CHECK(share_of(after, key) >= moved.share - 1e-6);
      CHECK(after.of(SourceKind::kAssumed) >= before.of(SourceKind::kAssumed) + moved.share - 1e-6);
      CHECK(sum_of(after) == Approx(1.0).epsilon(1e-6));
      for (const RestingConstant& entry : after.constants) {
        CHECK((entry.constant.key == key ||
               entry.share <= share_of(before, entry.constant.key) + 1e-6));
      }
    }
  }
}

}  // namespace
}  // namespace stepcast::provenance_shares_test
