// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_time.hpp"

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::step_time_test {
namespace {

using test::nearly;
using test::Sample;

StepTime step_of(const Sample& sample) {
  static const CostModel cost = default_cost_model();
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h200_sxm"), 1);
  return step_time({sample.context(), cluster, cost, cluster.device.clock.peak});
}

TEST_CASE("what the host does once a step adds to the step and to the host's time", "[unit]") {
  Sample sample = test::dense_sample();
  const StepTime without = step_of(sample);
  sample.software.host.step = Seconds(0.25);
  const StepTime with = step_of(sample);
  CHECK((with.step - without.step).value() == nearly(0.25));
  CHECK((with.breakdown.host - without.breakdown.host).value() == nearly(0.25));
  CHECK(with.breakdown.total().value() == nearly(with.step.value()));
  CHECK(with.breakdown.compute == without.breakdown.compute);
}

TEST_CASE("once a step is once, however many stages and micro-batches there are", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  const StepTime without = step_of(sample);
  sample.software.host.step = Seconds(0.25);
  CHECK((step_of(sample).step - without.step).value() == nearly(0.25));
}

// Of eight processes that each stop once in a hundred steps one at least does in 1 - 0.99^8 of
// them.
TEST_CASE("a collector of garbage holds up a step where any process collects", "[case]") {
  Sample sample = test::dense_sample();
  const StepTime without = step_of(sample);
  sample.training.garbage_collection = GarbageCollection{Seconds(1.0), 100.0};
  const StepTime with = step_of(sample);
  CHECK((with.step - without.step).value() == Approx(0.07726).epsilon(1e-3));
  CHECK((with.breakdown.host - without.breakdown.host).value() == Approx(0.07726).epsilon(1e-3));
}

// Six tensors a layer where projections are merged, each in 256 parts; 1024 launches wait.
TEST_CASE("copies of gathered parts take a call of the host each", "[unit]") {
  Sample sample = test::dense_sample();
  sample.software.overlap_param_gather = false;
  sample.software.zero_all_reduces = true;
  sample.software.fused_qkv = true;
  sample.software.fused_gate_up = true;
  sample.plan.dp = 256;
  sample.plan.zero = 0;
  ClusterSpec cluster = cluster_of(test::shipped_gpu("h200_sxm"), 1);
  cluster.host.eager_kernel = Seconds(10e-6);
  const CostModel cost = default_cost_model();
  const auto on_host = [&] {
    return step_time({sample.context(), cluster, cost, cluster.device.clock.peak}).breakdown.host;
  };
  const Seconds whole = on_host();
  sample.plan.zero = 1;
  CHECK((on_host() - whole).value() == nearly((8 * 6 * 256 - 1024) * 10e-6));
  sample.plan.dp = 16;
  CHECK(on_host() == whole);
}

// The largest of eight is 1.42 deviations above the mean of what passes take.
TEST_CASE("data-parallel ranks wait for the one with the most work", "[unit]") {
  Sample sample = test::dense_sample();
  const StepTime alone = step_of(sample);
  sample.training.work_spread = 0.1;
  CHECK(step_of(sample).step == alone.step);
  sample.plan.dp = 8;
  const StepTime uneven = step_of(sample);
  sample.training.work_spread = 0.0;
  const StepTime even = step_of(sample);
  const Seconds passes = even.breakdown.compute + even.breakdown.contention;
  CHECK((uneven.step - even.step).value() > 0.1423 * passes.value());
  CHECK((uneven.step - even.step).value() < 0.1424 * even.step.value());
  const auto waited = [](const StepTime& step) {
    return step.breakdown.exposed[slot(Axis::kData)];
  };
  CHECK((waited(uneven) - waited(even)).value() == nearly((uneven.step - even.step).value()));
}

// Sixteen micro-batches have time enough for all of it, and one has not.
TEST_CASE("a pipeline hides what it reduces once behind one micro-batch's passes", "[property]") {
  static const CostModel cost = default_cost_model();
  for (const std::int64_t vpp : {1, 2}) {
    Sample sample = test::dense_sample();
    test::set_pipeline(sample, 4, vpp);
    sample.plan.dp = 32;
    sample.plan.zero = 1;
    sample.plan.micro_batches = 16;
    sample.software.overlap_grad_reduce = true;
    sample.software.overlap_param_gather = true;
    ClusterSpec cluster = cluster_of(test::shipped_gpu("h200_sxm"), 16);
    cluster.device.scale_out.nic_rate = BytesPerSecond(1e9);
    const StepTime step = step_time({sample.context(), cluster, cost, cluster.device.clock.peak});
    const Seconds exposed = step.breakdown.exposed[slot(Axis::kData)];
    const Seconds all = exposed + step.hidden.exposed[slot(Axis::kData)];
    const Seconds of_one = (1.0 / 16.0) * (step.step - exposed);
    INFO(vpp);
    CHECK(exposed > 0.5 * all);
    // Of a second chunk the first layer is gathered behind the first chunk besides.
    CHECK((exposed + of_one) / all > (vpp == 1 ? 0.999 : 0.95));
  }
}

TEST_CASE("a step that the host bounds grows by what a launch takes more", "[property]") {
  Sample sample = test::dense_sample();
  sample.software.host.kernel = Seconds(1e-3);
  const double once = step_of(sample).step.value();
  sample.software.host.kernel = Seconds(2e-3);
  const double twice = step_of(sample).step.value();
  sample.software.host.kernel = Seconds(3e-3);
  CHECK(step_of(sample).step.value() - twice == Approx(twice - once).epsilon(1e-3));
  // 8 layers and 8 micro-batches launch some tens of kernels each.
  CHECK(twice - once > 8 * 8 * 10 * 1e-3);
}

}  // namespace
}  // namespace stepcast::step_time_test
