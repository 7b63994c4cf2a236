// SPDX-License-Identifier: Apache-2.0
// What must hold for a step on the timeline of its streams.
#include <algorithm>
#include <utility>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "property/step_plans.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast::step_timeline_property_test {
namespace {

using test::Sample;

constexpr Hertz kClock{1.4e9};

// What a context refers to, in one place.
struct Run {
  Sample sample;
  ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 8);
  CostModel cost = default_cost_model();
  ExpansionContext expansion = sample.context();

  explicit Run(Sample of) : sample(std::move(of)) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] StepContext context(Hertz clock = kClock) const {
    return {expansion, cluster, cost, clock};
  }
};

StepTime time_of(const Sample& sample) { return step_time(Run(sample).context()); }

// The plans, and those whose software or recomputation puts more on the streams.
std::vector<test::NamedPlan> timeline_plans() {
  std::vector<test::NamedPlan> plans = test::step_plans();
  const std::size_t all = plans.size();
  for (std::size_t i = 0; i < all; ++i) {
    test::NamedPlan again = plans[i];
    again.name += ", recomputed, the host close";
    again.sample.training.recompute.kind = RecomputeKind::kFull;
    again.sample.software.fsdp_gathers_for_recompute = true;
    again.sample.software.shared_expert_overlap = true;
    HostWork& host = again.sample.software.host;
    host.kernel = Seconds(8e-6);
    host.expert = Seconds(8e-6);
    host.communication = Seconds(20e-6);
    host.synchronise = Seconds(10e-6);
    host.step = Seconds(1e-3);
    plans.push_back(std::move(again));
  }
  return plans;
}

// --- spans ------------------------------------------------------------------------------------

void check_spans(std::vector<StreamSpan> spans) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const StreamSpan& a, const StreamSpan& b) { return a.axis < b.axis; });
  bool follow = true;
  bool caused = true;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const bool first = i == 0 || spans[i - 1].axis != spans[i].axis;
    const Seconds free = first ? Seconds{} : spans[i - 1].end;
    follow = follow && spans[i].start >= free && spans[i].end >= spans[i].start;
    caused = caused && spans[i].start == spans[i].cause;
  }
  CHECK(follow);
  CHECK(caused);
}

TEST_CASE("spans of a stream never overlap and start at their cause", "[property]") {
  for (const test::NamedPlan& plan : timeline_plans()) {
    CAPTURE(plan.name);
    const Run run(plan.sample);
    const StepOperators operators = step_operators(run.expansion);
    const StepTasks tasks = price_step(operators, run.context());
    for (const std::vector<LayerRun>& runs : operators.stages) {
      const StageProgram program{tasks, runs, operators.rule, run.sample.software};
      for (const PassPlace& place :
           {PassPlace{.first = true}, PassPlace{.last = true}, PassPlace{.host_lead = {}}}) {
        std::vector<StreamSpan> spans;
        const PassTime forward = forward_pass(program, place, &spans);
        check_spans(std::exchange(spans, {}));
        const PassTime backward = backward_pass(program, place, &spans);
        check_spans(spans);
        // Recording changes nothing.
        CHECK(forward.duration().value() ==
              Approx(forward_pass(program, place).duration().value()).epsilon(1e-9));
        CHECK(backward.duration().value() ==
              Approx(backward_pass(program, place).duration().value()).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("the breakdown adds up to the step, whatever runs beside what", "[property]") {
  for (const test::NamedPlan& plan : timeline_plans()) {
    CAPTURE(plan.name);
    const StepTime time = time_of(plan.sample);
    CHECK(time.breakdown.total().value() == Approx(time.step.value()).epsilon(1e-12));
    CHECK(time.breakdown.contention >= Seconds(-1e-12));
    CHECK(time.breakdown.host >= Seconds{});
    CHECK(time.breakdown.communication() + time.breakdown.host < time.step);
  }
}

// --- degrees ----------------------------------------------------------------------------------

TEST_CASE("context parallelism never leaves a rank less than its share of the work", "[property]") {
  for (Sample sample : {test::dense_sample(), test::moe_sample()}) {
    sample.training.sequence_length = 8192;  // long enough that parts of it are no mere launches
    const Seconds whole = time_of(sample).breakdown.compute;
    for (const CpAlgorithm algorithm : {CpAlgorithm::kRing, CpAlgorithm::kAllGather,
                                        CpAlgorithm::kAllToAll, CpAlgorithm::kAllToAllRing}) {
      for (const std::int64_t cp : {2, 4}) {
        CAPTURE(cp, algorithm);
        Sample divided = sample;
        divided.plan.cp = cp;
        divided.plan.cp_algorithm = algorithm;
        divided.plan.cp_all_to_all = 2;
        divided.plan.edp = cp;
        const Seconds part = time_of(divided).breakdown.compute;
        CHECK(static_cast<double>(cp) * part >= whole);
        CHECK(part < whole);
      }
    }
  }
}

TEST_CASE("more replicas with the same micro-batches never compute longer", "[property]") {
  for (const std::int64_t zero : {0, 1, 2, 3}) {
    for (Sample sample : {test::dense_sample(), test::moe_sample()}) {
      double before = 1e300;
      for (const std::int64_t dp : {2, 4, 8, 16, 32, 64}) {
        CAPTURE(zero, dp);
        sample.plan.dp = dp;
        sample.plan.edp = dp;
        sample.plan.zero = zero;
        sample.plan.fsdp = zero == 3 ? dp : 1;
        const TimeBreakdown time = time_of(sample).breakdown;
        const double compute = (time.compute + time.optimizer).value();
        CHECK(compute <= before * (1.0 + 1e-12));
        before = compute;
      }
    }
  }
}

// --- software ---------------------------------------------------------------------------------

TEST_CASE("tensor-parallel collectives hidden behind their products never slow a step",
          "[property]") {
  bool faster = false;
  for (const test::NamedPlan& plan : timeline_plans()) {
    CAPTURE(plan.name);
    Sample sample = plan.sample;
    const Seconds before = time_of(sample).step;
    sample.software.async_tp = true;
    const Seconds after = time_of(sample).step;
    CHECK(after.value() <= before.value() * (1.0 + 1e-12));
    faster = faster || after < 0.99 * before;
  }
  CHECK(faster);
}

TEST_CASE("a captured graph never slows a step", "[property]") {
  for (const test::NamedPlan& plan : timeline_plans()) {
    CAPTURE(plan.name);
    Sample sample = plan.sample;
    const Seconds before = time_of(sample).step;
    sample.software.cuda_graph = true;
    CHECK(time_of(sample).step < before);
  }
}

TEST_CASE("a slower host never makes a step faster", "[property]") {
  for (const test::NamedPlan& plan : test::step_plans()) {
    double before = 0.0;
    for (const double microseconds : {0.0, 1.0, 3.0, 10.0, 30.0, 100.0}) {
      CAPTURE(plan.name, microseconds);
      Sample sample = plan.sample;
      sample.software.host.kernel = Seconds(microseconds * 1e-6);
      sample.software.host.communication = Seconds(2.0 * microseconds * 1e-6);
      const double step = time_of(sample).step.value();
      CHECK(step >= before * (1.0 - 1e-12));
      before = step;
    }
    // At the end the host is what everything waits for.
    Sample sample = plan.sample;
    CHECK(before > 1.5 * time_of(sample).step.value());
  }
}

// --- clocks -----------------------------------------------------------------------------------

TEST_CASE("a step between the clocks of a grid is what it is at its clock", "[property]") {
  for (const test::NamedPlan& plan : timeline_plans()) {
    const Run run(plan.sample);
    StepTimer timer(run.context());
    // Where passes run side by side, an exchange that just finds a kernel to hide behind at one
    // clock finds none at the next: the step jumps by up to 1.2 % between two clocks of the grid.
    const double off = plan.name.starts_with("dualpipe") ? 6e-3 : 5e-3;
    for (const double gigahertz : {0.7, 0.95, 1.13, 1.37, 1.4, 1.61, 1.83, 1.97}) {
      CAPTURE(plan.name, gigahertz);
      const Hertz clock(gigahertz * 1e9);
      const StepTime exact = timer.at(clock);
      const StepTime near = timer.near(clock);
      CHECK(near.step.value() == Approx(exact.step.value()).epsilon(off));
      CHECK(near.energy.value() == Approx(exact.energy.value()).epsilon(5e-3));
      CHECK(near.breakdown.total().value() == Approx(near.step.value()).epsilon(1e-12));
    }
    // A clock of the grid itself is not between two.
    const Hertz peak = run.cluster.device.clock.peak;
    CHECK(timer.near(0.75 * peak).step == timer.at(0.75 * peak).step);
  }
}

}  // namespace
}  // namespace stepcast::step_timeline_property_test
