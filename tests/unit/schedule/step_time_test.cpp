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
