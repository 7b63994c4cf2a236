// SPDX-License-Identifier: Apache-2.0
#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/project.hpp"
#include "trace_reader/predicted_categories.hpp"

namespace stepcast::predicted_step_test {
using stepcast::test::data_root;

namespace {

Experiment experiment_with(const std::vector<Override>& settings) {
  return load_experiment(data_root().folder / "examples/12_llama3.1_405b_h100/experiment.yaml",
                         settings, data_root());
}

}  // namespace

TEST_CASE("The operators of a rank take the device time of its categories", "[unit]") {
  const Experiment experiment = experiment_with({});
  const CostModel cost = default_cost_model();
  const Projection steady = project(experiment, cost);
  REQUIRE(steady.plan.pp > 1);
  for (const TraceState state : {TraceState::kSteady, TraceState::kAfterPause}) {
    const PredictedStep step = predicted_step(experiment, steady, cost, 1, state);
    CategoryTimes times{};
    for (const PredictedOperator& op : step.operators) {
      CHECK(op.calls > 0.0);
      times[static_cast<std::size_t>(category_of(op.op))] += op.time;
    }
    for (std::size_t i = 0; i < kStepCategories; ++i) {
      CAPTURE(name(static_cast<StepCategory>(i)));
      CHECK(times[i].value() == Approx(step.device_time[i].value()));
    }
    CHECK(step.step <= steady.time.step);
    CHECK(step.computing <= step.step);
  }
  const PredictedStep steady_step =
      predicted_step(experiment, steady, cost, 1, TraceState::kSteady);
  CHECK(steady_step.step.value() == Approx(steady.time.step.value()));
}

TEST_CASE("The last pipeline rank runs the loss and the first does not", "[unit]") {
  const Experiment experiment = experiment_with({});
  const CostModel cost = default_cost_model();
  const Projection steady = project(experiment, cost);
  const auto has_head = [&](std::int64_t rank) {
    const PredictedStep step = predicted_step(experiment, steady, cost, rank, TraceState::kSteady);
    return std::any_of(step.operators.begin(), step.operators.end(),
                       [](const PredictedOperator& op) { return op.op.id == OpId::kHeadOutput; });
  };
  CHECK_FALSE(has_head(0));
  CHECK(has_head(steady.plan.pp - 1));
}

}  // namespace stepcast::predicted_step_test
