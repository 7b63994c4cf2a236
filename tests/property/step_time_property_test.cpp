// SPDX-License-Identifier: Apache-2.0
// What must hold for a whole step, whatever the backends say.
#include <functional>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "property/step_plans.hpp"
#include "sample_specs.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast::step_time_property_test {
namespace {

using test::Sample;

ClusterSpec cluster() { return cluster_of(test::shipped_gpu("h100_sxm"), 8); }

StepTime time_of(const Sample& sample, const ClusterSpec& on, Hertz clock = Hertz(1.4e9)) {
  const CostModel cost = default_cost_model();
  return step_time({sample.context(), on, cost, clock});
}

TEST_CASE("the parts of a step add up to it, and none is negative", "[property]") {
  for (const test::NamedPlan& plan : test::step_plans()) {
    CAPTURE(plan.name);
    const StepTime time = time_of(plan.sample, cluster());
    CHECK(time.step > Seconds{});
    CHECK(time.breakdown.total().value() == Approx(time.step.value()).epsilon(1e-12));
    CHECK(time.breakdown.compute > Seconds{});
    CHECK(time.breakdown.bubble.value() >= -1e-12);
    for (const Seconds part : time.breakdown.exposed) {
      CHECK(part >= Seconds{});
    }
    for (const Seconds part : time.hidden.exposed) {
      CHECK(part >= Seconds{});
    }
  }
}

TEST_CASE("one GPU neither communicates nor waits", "[property]") {
  for (const Sample& sample : {test::dense_sample(), test::moe_sample()}) {
    const StepTime time = time_of(sample, cluster());
    CHECK(time.breakdown.communication() == Seconds{});
    CHECK(time.hidden.communication() == Seconds{});
    CHECK(time.breakdown.bubble == Seconds{});
  }
}

struct EndsOfRanks : StepListener {
  std::vector<RankEnd> all;
  void rank_end(const RankEnd& end) override { all.push_back(end); }
};

TEST_CASE("a step lasts at least as long as the pipeline of any rank", "[property]") {
  for (const test::NamedPlan& plan : test::step_plans()) {
    CAPTURE(plan.name);
    const ClusterSpec on = cluster();
    const CostModel cost = default_cost_model();
    const ExpansionContext expansion = plan.sample.context();
    StepTimer timer({expansion, on, cost, Hertz{}});
    const Seconds step = timer.at(Hertz(1.4e9)).step;
    EndsOfRanks ends;
    timer.at(Hertz(1.4e9), &ends);
    REQUIRE(ends.all.size() == static_cast<std::size_t>(plan.sample.plan.pp));
    for (const RankEnd& end : ends.all) {
      CHECK(step.value() >= end.end().value() * (1.0 - 1e-10));
    }
  }
}

// How much slower steps on `improve`d hardware may be than on the shipped one.
void check_never_slower(const std::function<void(Sample&)>& change,
                        const std::function<void(ClusterSpec&)>& improve, double slower) {
  for (const test::NamedPlan& plan : test::step_plans()) {
    CAPTURE(plan.name);
    Sample sample = plan.sample;
    change(sample);
    ClusterSpec better = cluster();
    improve(better);
    CHECK(time_of(sample, better).step.value() <=
          time_of(sample, cluster()).step.value() * (1.0 + slower));
  }
}

const std::vector<std::function<void(ClusterSpec&)>>& improvements() {
  static const std::vector<std::function<void(ClusterSpec&)>> all = {
      [](ClusterSpec& c) { c.device.compute_units *= 2; },
      [](ClusterSpec& c) { c.device.hbm.achieved = 2.0 * c.device.hbm.achieved; },
      [](ClusterSpec& c) { c.device.scale_up.link_rate = 2.0 * c.device.scale_up.link_rate; },
      [](ClusterSpec& c) { c.device.scale_out.nic_rate = 2.0 * c.device.scale_out.nic_rate; },
      [](ClusterSpec& c) { c.device.launch_latency = Seconds{}; },
  };
  return all;
}

// At a locked clock nothing but contention punishes better hardware: faster communication takes
// more of HBM while it runs.
TEST_CASE("better hardware never makes a step slower by more than contention does", "[property]") {
  for (const std::function<void(ClusterSpec&)>& improve : improvements()) {
    check_never_slower([](Sample&) {}, improve, 5e-3);
  }
}

TEST_CASE("better hardware never makes a step without contention slower", "[property]") {
  for (const std::function<void(ClusterSpec&)>& improve : improvements()) {
    check_never_slower(
        [](Sample& sample) {
          sample.plan.uniform = true;
          sample.plan.overlap.hidden.fill(0.0);
        },
        improve, 1e-12);
  }
}

TEST_CASE("a higher clock never makes a step slower", "[property]") {
  for (const test::NamedPlan& plan : test::step_plans()) {
    CAPTURE(plan.name);
    CHECK(time_of(plan.sample, cluster(), Hertz(1.8e9)).step <=
          time_of(plan.sample, cluster(), Hertz(1.4e9)).step);
  }
}

TEST_CASE("more overlap never makes a step slower", "[property]") {
  for (const test::NamedPlan& plan : test::step_plans()) {
    CAPTURE(plan.name);
    double before = 1e300;
    for (double share = 0.0; share <= 1.0; share += 0.25) {
      Sample sample = plan.sample;
      sample.plan.uniform = true;
      sample.plan.overlap.hidden.fill(share);
      const double step = time_of(sample, cluster()).step.value();
      CHECK(step <= before * (1.0 + 1e-12));
      before = step;
    }
  }
}

TEST_CASE("recomputation costs time, a full one more than a selective one", "[property]") {
  Sample sample = test::dense_sample();
  const Seconds none = time_of(sample, cluster()).step;
  sample.training.recompute.kind = RecomputeKind::kSelective;
  const Seconds selective = time_of(sample, cluster()).step;
  sample.training.recompute.kind = RecomputeKind::kFull;
  const Seconds full = time_of(sample, cluster()).step;
  CHECK(none < selective);
  CHECK(selective < full);
}

TEST_CASE("twice the micro-batches of one GPU take twice the time but for the optimizer",
          "[property]") {
  Sample sample = test::dense_sample();
  const StepTime once = time_of(sample, cluster());
  sample.plan.micro_batches *= 2;
  const StepTime twice = time_of(sample, cluster());
  CHECK((twice.step - twice.breakdown.optimizer).value() ==
        Approx(2.0 * (once.step - once.breakdown.optimizer).value()).epsilon(1e-9));
}

TEST_CASE("the same input gives the same bits", "[property]") {
  for (const test::NamedPlan& plan : test::step_plans()) {
    CHECK(time_of(plan.sample, cluster()).step == time_of(plan.sample, cluster()).step);
  }
}

}  // namespace
}  // namespace stepcast::step_time_property_test
