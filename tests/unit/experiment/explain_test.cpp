// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/explain.hpp"

#include <numeric>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::explain_test {
namespace {

Explanation explained(const std::filesystem::path& file,
                      const std::vector<Override>& overrides = {}) {
  return explain(load_experiment(file, overrides, test::data_root()), default_cost_model());
}

std::filesystem::path example(const std::string& name) {
  return test::data_root().folder / "examples" / name / "experiment.yaml";
}

struct Sums {
  Seconds computation;
  std::array<Seconds, kAxes> communication{};

  [[nodiscard]] Seconds communicated() const {
    return std::accumulate(communication.begin(), communication.end(), Seconds{});
  }
};

// Operators by what the breakdown calls them. FSDP copies its shard on the stream of its gathers.
Sums sums_of(const Explanation& e) {
  Sums sums;
  sums.computation = e.computation();
  for (const ExplainedOp& entry : e.operators) {
    if (const std::optional<Axis> axis = communication_axis(entry.counted.op)) {
      sums.communication[slot(*axis)] += entry.total();
    } else if (runs_on_gather_stream(entry.counted.op)) {
      sums.communication[slot(Axis::kData)] += entry.total();
      sums.computation -= entry.total();
    }
  }
  sums.communication[slot(Axis::kPipeline)] = Seconds{};  // between ranks, no time of a pass
  return sums;
}

// The step is priced between two clocks of a grid, its operators at the clock itself; between the
// two some kernels reach the peak, in a step that bursts limit up to 0.37 % of its computation. A
// wait is longer than what is waited for only where other communication shares the fabric
// meanwhile.
void check_sums(const Explanation& e) {
  constexpr double kGrid = 4e-3;
  const TimeBreakdown& time = e.projection.time.breakdown;
  const TimeBreakdown& hidden = e.projection.time.hidden;
  const Sums sums = sums_of(e);
  CHECK(sums.computation.value() == Approx((time.compute + time.optimizer).value()).epsilon(kGrid));
  Seconds waited;
  for (const Axis axis : {Axis::kTensor, Axis::kExpert, Axis::kContext, Axis::kData}) {
    CAPTURE(axis);
    const Seconds moved = sums.communication[slot(axis)];
    const double timed = (time.exposed[slot(axis)] + hidden.exposed[slot(axis)]).value();
    const bool alone = moved == sums.communicated();
    CHECK(timed >= moved.value() * (1.0 - kGrid));
    CHECK((!alone || timed == Approx(moved.value()).epsilon(kGrid)));
    waited += time.exposed[slot(axis)];
  }
  CHECK(waited <= (1.0 + kGrid) * sums.communicated());
}

TEST_CASE("operators add up to the step of every shipped experiment", "[property]") {
  for (const std::filesystem::path& file : test::shipped_experiments()) {
    INFO(file);
    check_sums(explained(file));
  }
}

TEST_CASE("operators add up with virtual stages and every recomputation", "[property]") {
  const auto recompute =
      GENERATE(RecomputeKind::kNone, RecomputeKind::kSelective, RecomputeKind::kFull);
  const auto explained_with = [&](const char* name, const std::vector<Override>& overrides) {
    Experiment experiment = load_experiment(example(name), overrides, test::data_root());
    experiment.training.recompute.kind = recompute;
    return explain(experiment, default_cost_model());
  };
  for (const char* name : {"12_llama3.1_405b_h100", "13_mixtral_8x22b_h100", "14_deepseek_v3_h800",
                           "11_deepseek_v3_mi300x"}) {
    CAPTURE(name);
    check_sums(explained_with(name, {}));
  }
  const Explanation e =
      explained_with("01_llama3.1_70b_mi300x", {"plan.pp=4", "plan.vpp=4", "plan.fsdp=1"});
  REQUIRE(e.projection.priced);
  CHECK(e.projection.plan.vpp == 4);
  check_sums(e);
}

TEST_CASE("terms add up to each operator's time", "[property]") {
  for (const std::filesystem::path& file : test::shipped_experiments()) {
    INFO(file);
    for (const ExplainedOp& entry : explained(file).operators) {
      INFO(name(entry.counted.op.id));
      Seconds sum;
      for (const CostTerm& term : entry.cost.terms) {
        sum += term.duration;
      }
      CHECK(sum.value() == Approx(entry.cost.duration.value()).epsilon(1e-9));
    }
  }
}

TEST_CASE("the factors of a waterfall lead from the peak to the MFU", "[property]") {
  for (const std::filesystem::path& file : test::shipped_experiments()) {
    INFO(file);
    const Explanation e = explained(file);
    REQUIRE_FALSE(e.waterfall.empty());
    double product = 1.0;
    Seconds time = e.projection.mfu * e.projection.time.step;
    for (const WaterfallStep& step : e.waterfall) {
      product *= step.factor;
      time += step.time;
      CHECK(product == Approx(step.mfu_after).epsilon(1e-9));
      CHECK((step.cause == "mask" ? step.factor > 1.0 : true));
    }
    CHECK(e.waterfall.back().mfu_after == Approx(e.projection.mfu).epsilon(1e-9));
    CHECK(time.value() == Approx(e.projection.time.step.value()).epsilon(1e-9));
  }
}

TEST_CASE("what memory bounds is told by its kinds, which add up to it", "[unit]") {
  const Explanation e = explained(example("14_deepseek_v3_h800"));
  const auto row = std::ranges::find(e.waterfall, "memory_bound", &WaterfallStep::cause);
  REQUIRE(row != e.waterfall.end());
  CHECK(row->parts.size() > 5);
  CHECK(sum_over(row->parts, &KindTime::time).value() == Approx(row->time.value()).epsilon(1e-9));
  CHECK(std::ranges::find(row->parts, "permute", &KindTime::kind) != row->parts.end());
}

TEST_CASE("a waterfall names what a change of the plan costs", "[unit]") {
  const auto time_of = [](const Explanation& e, std::string_view cause) {
    const auto step = std::ranges::find(e.waterfall, cause, &WaterfallStep::cause);
    return step == e.waterfall.end() ? Seconds{} : step->time;
  };
  const Explanation kept = explained(example("04_llama3.1_8b_mi300x"), {"training.recompute=none"});
  const Explanation again =
      explained(example("04_llama3.1_8b_mi300x"), {"training.recompute=full"});
  CHECK(time_of(kept, "recompute") == Seconds{});
  CHECK(time_of(again, "recompute") > 0.15 * again.projection.time.step);
  CHECK(time_of(kept, "bubble") == Seconds{});
  const Explanation piped = explained(example("04_llama3.1_8b_mi300x"), {"plan={pp: 4, zero: 1}"});
  CHECK(time_of(piped, "bubble") == piped.projection.time.breakdown.bubble);
  // Matrix units at half of the rated clock take as long again.
  const Hertz rated = Hertz(2.1e9);
  const Explanation slow =
      explained(example("04_llama3.1_8b_mi300x"), {"cluster.gpu_clock=1050 MHz"});
  CHECK(slow.projection.clock == 0.5 * rated);
  const Seconds executed = kept.projection.masked_mfu * kept.projection.time.step +
                           time_of(kept, "imbalance") + time_of(kept, "precision");
  CHECK(time_of(slow, "clock").value() == Approx(executed.value()).epsilon(1e-6));
}

TEST_CASE("operators come with most total time first", "[unit]") {
  const Explanation e = explained(example("14_deepseek_v3_h800"));
  REQUIRE(e.operators.size() > 50);
  CHECK(std::is_sorted(
      e.operators.begin(), e.operators.end(),
      [](const ExplainedOp& a, const ExplainedOp& b) { return a.total() > b.total(); }));
}

// A kernel whose operands stay in a cache may beat the bandwidth of HBM, a product never beats the
// matrix units.
TEST_CASE("no product of a shipped experiment beats its roofline", "[property]") {
  for (const std::filesystem::path& file : test::shipped_experiments()) {
    INFO(file);
    for (const ExplainedOp& entry : explained(file).operators) {
      INFO(name(entry.counted.op.id));
      CHECK((flops(entry.counted.op) == Flops{} || entry.bound <= entry.cost.duration));
    }
  }
}

TEST_CASE("a plan that does not divide has reasons and no operators", "[unit]") {
  const Explanation e =
      explained(example("01_llama3.1_70b_mi300x"), {"training.global_batch_size=100"});
  CHECK_FALSE(e.projection.priced);
  CHECK_FALSE(e.projection.reasons.empty());
  CHECK(e.operators.empty());
}

}  // namespace
}  // namespace stepcast::explain_test
