// SPDX-License-Identifier: Apache-2.0
// What must hold for a whole step, whatever the backends say.
#include <functional>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/schedule/step_time.hpp"

namespace stepcast {
namespace {

using test::Sample;

struct Named {
  std::string name;
  Sample sample;
};

// One sample for each kind of parallelism.
std::vector<Named> plans() {
  std::vector<Named> plans;
  const auto add = [&](const std::string& name, Sample sample,
                       const std::function<void(Sample&)>& change) {
    change(sample);
    plans.push_back({name, std::move(sample)});
  };
  add("one GPU", test::dense_sample(), [](Sample&) {});
  add("tp", test::dense_sample(), [](Sample& s) { s.plan.tp = 4; });
  add("tp sp", test::dense_sample(), [](Sample& s) {
    s.plan.tp = 4;
    s.plan.sequence_parallel = true;
  });
  add("cp", test::dense_sample(), [](Sample& s) { s.plan.cp = 4; });
  add("dp", test::dense_sample(), [](Sample& s) { s.plan.dp = 16; });
  add("zero 1", test::dense_sample(), [](Sample& s) {
    s.plan.dp = 16;
    s.plan.zero = 1;
  });
  add("fsdp", test::dense_sample(), [](Sample& s) {
    s.plan.dp = 16;
    s.plan.zero = 3;
    s.plan.fsdp = 16;
  });
  add("pp", test::dense_sample(), [](Sample& s) { test::set_pipeline(s, 4, 1); });
  add("vpp", test::dense_sample(), [](Sample& s) { test::set_pipeline(s, 4, 2); });
  for (const Schedule schedule : {Schedule::kZbH1, Schedule::kZbV, Schedule::kDualPipe}) {
    add(std::string(name(schedule)), test::dense_sample(), [schedule](Sample& s) {
      test::set_pipeline(s, 4, schedule == Schedule::kZbV ? 2 : 1);
      s.plan.schedule = schedule;
    });
  }
  add("ep", test::moe_sample(), [](Sample& s) {
    s.plan.dp = 16;
    s.plan.ep = 8;
    s.plan.edp = 2;
  });
  for (const Dispatcher dispatcher :
       {Dispatcher::kAllGather, Dispatcher::kDeepEp, Dispatcher::kHybridEp, Dispatcher::kSonic,
        Dispatcher::kMinimalAsyncEp}) {
    add("ep by " + std::string(name(dispatcher)), test::moe_sample(), [dispatcher](Sample& s) {
      s.plan.dp = 16;
      s.plan.ep = 8;
      s.plan.edp = 2;
      s.plan.exchange.dispatcher = dispatcher;
    });
  }
  add("full recomputation", test::dense_sample(),
      [](Sample& s) { s.training.recompute.kind = RecomputeKind::kFull; });
  return plans;
}

ClusterSpec cluster() { return cluster_of(test::shipped_gpu("h100_sxm"), 8); }

StepTime time_of(const Sample& sample, const ClusterSpec& on, Hertz clock = Hertz(1.4e9)) {
  const CostModel cost = default_cost_model();
  return step_time({sample.context(), on, cost, clock});
}

TEST_CASE("the parts of a step add up to it, and none is negative", "[property]") {
  for (const Named& plan : plans()) {
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

TEST_CASE("a step lasts at least as long as the pipeline of any rank", "[property]") {
  for (const Named& plan : plans()) {
    CAPTURE(plan.name);
    const StepTime time = time_of(plan.sample, cluster());
    REQUIRE(time.ranks.size() == static_cast<std::size_t>(plan.sample.plan.pp));
    for (const RankTimeline& rank : time.ranks) {
      CHECK(time.step.value() >= rank.end.value() * (1.0 - 1e-12));
    }
  }
}

void check_never_slower(const std::function<void(ClusterSpec&)>& improve) {
  for (const Named& plan : plans()) {
    CAPTURE(plan.name);
    ClusterSpec better = cluster();
    improve(better);
    CHECK(time_of(plan.sample, better).step.value() <=
          time_of(plan.sample, cluster()).step.value() * (1.0 + 1e-12));
  }
}

TEST_CASE("better hardware never makes a step slower", "[property]") {
  check_never_slower([](ClusterSpec& c) { c.device.compute_units *= 2; });
  check_never_slower([](ClusterSpec& c) { c.device.hbm.achieved = 2.0 * c.device.hbm.achieved; });
  check_never_slower(
      [](ClusterSpec& c) { c.device.scale_up.link_rate = 2.0 * c.device.scale_up.link_rate; });
  check_never_slower(
      [](ClusterSpec& c) { c.device.scale_out.nic_rate = 2.0 * c.device.scale_out.nic_rate; });
  check_never_slower([](ClusterSpec& c) { c.device.launch_latency = Seconds{}; });
}

TEST_CASE("a higher clock never makes a step slower", "[property]") {
  for (const Named& plan : plans()) {
    CAPTURE(plan.name);
    CHECK(time_of(plan.sample, cluster(), Hertz(1.8e9)).step <=
          time_of(plan.sample, cluster(), Hertz(1.4e9)).step);
  }
}

TEST_CASE("more overlap never makes a step slower", "[property]") {
  for (const Named& plan : plans()) {
    CAPTURE(plan.name);
    double before = 1e300;
    for (double share = 0.0; share <= 1.0; share += 0.25) {
      Sample sample = plan.sample;
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
  for (const Named& plan : plans()) {
    CHECK(time_of(plan.sample, cluster()).step == time_of(plan.sample, cluster()).step);
  }
}

}  // namespace
}  // namespace stepcast
