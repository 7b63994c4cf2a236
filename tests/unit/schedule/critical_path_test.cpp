// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/critical_path.hpp"

#include <algorithm>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast::critical_path_test {
namespace {

using test::Sample;

Seconds sum_of(const std::vector<PathSegment>& path) {
  Seconds sum;
  for (const PathSegment& segment : path) {
    sum += segment.time;
  }
  return sum;
}

std::vector<PathSegment> path_of(const Sample& sample) {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h200_sxm"), 1);
  return critical_path(
      {sample.context(), cluster, default_cost_model(), cluster.device.clock.peak});
}

// The path of an experiment at its clock adds up to the step at that clock.
void check_sum(const Experiment& experiment) {
  const CostModel cost = default_cost_model();
  const Projection p = project(experiment, cost);
  if (!p.priced) {
    return;
  }
  const ExpansionContext expansion{experiment.model, p.plan, experiment.training,
                                   experiment.software};
  const StepContext step{expansion, experiment.cluster, cost, p.clock};
  const std::vector<PathSegment> path = critical_path(step);
  CHECK(sum_of(path).value() == Approx(step_time(step).step.value()).epsilon(1e-9));
  CHECK(std::all_of(path.begin(), path.end(), [](const PathSegment& segment) {
    return segment.time > Seconds{} && segment.count > 0;
  }));
}

TEST_CASE("the critical path of every shipped experiment adds up to its step", "[property]") {
  for (const std::filesystem::path& file : test::shipped_experiments()) {
    INFO(file);
    check_sum(load_experiment(file, {}, test::data_root()));
  }
}

TEST_CASE("the critical path adds up to the step under every schedule", "[property]") {
  const std::string model = GENERATE("llama3.1_70b", "mixtral_8x22b");
  const ConfigNode root = parse_config(
      "model: " + model +
          "\ncluster: {gpu: h100_sxm, nodes: 8}\n"
          "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 128}\n"
          "plan: {tp: 4, pp: 4}\n",
      "test");
  Experiment experiment = read_experiment(root, "", test::data_root());
  for (const ScheduleInfo& info : schedule_infos()) {
    for (const std::int64_t zero : {0, 1}) {
      CAPTURE(model, name(info.schedule), zero);
      experiment.plan.schedule = info.schedule;
      experiment.plan.vpp = chunks_for(info.schedule, 1);
      experiment.plan.zero = zero;
      check_sum(experiment);
    }
  }
}

// One micro-batch passes four ranks up and down: four forwards, four backwards, and six transfers.
TEST_CASE("one micro-batch passes every rank twice", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  sample.plan.micro_batches = 1;
  std::vector<PathSegment> path = path_of(sample);
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  std::int64_t transfers = 0;
  for (const PathSegment& segment : path) {
    forwards += segment.kind == PathKind::kForward ? segment.count : 0;
    backwards += segment.kind == PathKind::kBackward ? segment.count : 0;
    transfers += segment.kind == PathKind::kTransfer ? segment.count : 0;
  }
  CHECK(forwards == 4);
  CHECK(backwards == 4);
  CHECK(transfers == 6);
  CHECK(path.front().kind == PathKind::kForward);
  CHECK(path.front().rank == 0);
  CHECK(path.back().kind == PathKind::kOptimizer);
  CHECK(path.back().rank == 0);
}

TEST_CASE("without a pipeline the path is the one rank's step", "[unit]") {
  Sample sample = test::dense_sample();
  sample.software.host.step = Seconds(0.25);
  const std::vector<PathSegment> path = path_of(sample);
  CHECK(std::all_of(path.begin(), path.end(),
                    [](const PathSegment& segment) { return segment.rank == 0; }));
  CHECK(path.back().kind == PathKind::kHost);
  CHECK(path.back().time == Seconds(0.25));
}

// A stage of five times the layers is on the path with all its passes but one: the second forward
// runs while the first micro-batch is on the rank after it.
TEST_CASE("the path stays on the rank that has most to do", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    sample.plan.stages[stage].layers = stage == 2 ? 5 : 1;
  }
  std::int64_t of_slowest = 0;
  for (const PathSegment& segment : path_of(sample)) {
    const bool pass = segment.kind == PathKind::kForward || segment.kind == PathKind::kBackward;
    of_slowest += pass && segment.rank == 2 ? segment.count : 0;
  }
  CHECK(of_slowest == 2 * sample.plan.micro_batches - 1);
}

}  // namespace
}  // namespace stepcast::critical_path_test
