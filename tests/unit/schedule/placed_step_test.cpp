// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/placed_step.hpp"

#include <algorithm>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast::placed_step_test {
namespace {

struct Counts {
  int forwards = 0;
  int backwards = 0;  // whole ones, or gradients of inputs
  int weight_gradients = 0;
  int overlapping = 0;  // kernels that begin before the one before has ended
  int late = 0;         // kernels that end after their pass, or passes after the step
};

Counts counts_of(const PlacedStep& step) {
  constexpr Seconds kRounding{2e-9};
  Counts counts;
  Seconds free;
  for (const PlacedPass& pass : step.passes) {
    const bool pair = pass.part == PassPart::kForwardAndBackward;
    counts.forwards += pair || pass.part == PassPart::kForward ? 1 : 0;
    counts.backwards +=
        pair || pass.part == PassPart::kBackward || pass.part == PassPart::kInputGradient ? 1 : 0;
    counts.weight_gradients += pass.part == PassPart::kWeightGradient ? 1 : 0;
    counts.late += pass.end > step.step + kRounding ? 1 : 0;
    const std::vector<StreamSpan>& spans = step.programs[pass.program];
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (!spans[i].axis) {
        const SpanTime time = pass.time_of(i, spans);
        counts.overlapping += time.start < free - kRounding ? 1 : 0;
        counts.late += time.end > pass.end + kRounding ? 1 : 0;
        free = time.end;
      }
    }
  }
  return counts;
}

ConfigNode piped(const std::string& model, const std::string& zero) {
  return parse_config("model: " + model +
                          "\ncluster: {gpu: h200_sxm, nodes: 4}\n"
                          "training: {sequence_length: 4096, micro_batch_size: 1, "
                          "global_batch_size: 64}\nplan: {tp: 2, pp: 4, zero: " +
                          zero + "}\n",
                      "test");
}

}  // namespace

// 32 GPUs are tp 2, pp 4, dp 4: sixteen micro-batches.
TEST_CASE("every micro-batch of every schedule is placed once, and kernels one behind the other",
          "[unit]") {
  const std::string model = GENERATE("llama3.1_8b", "mixtral_8x7b");
  const std::string zero = GENERATE("1", "3");
  Experiment experiment = read_experiment(piped(model, zero), "", test::data_root());
  const CostModel cost = default_cost_model();
  for (const ScheduleInfo& info : schedule_infos()) {
    experiment.plan.schedule = info.schedule;
    experiment.plan.vpp = chunks_for(info.schedule, 1);
    const Projection p = project(experiment, cost);
    CAPTURE(model, zero, name(info.schedule));
    REQUIRE(p.priced);
    const ExpansionContext expansion{experiment.model, p.plan, experiment.training,
                                     experiment.software};
    const StepContext context{expansion, experiment.cluster, cost, p.clock};
    const Seconds step = step_time(context).step;
    for (const std::int64_t rank : {0, 3}) {
      const PlacedStep placed = placed_step(context, rank);
      const Counts counts = counts_of(placed);
      int passes = 0;
      for (const RankStage& stage : stages_of_rank(p.plan, rank)) {
        passes += static_cast<int>(stage.micro_batches);
      }
      CHECK(counts.forwards == passes);
      CHECK(counts.backwards == passes);
      CHECK(counts.overlapping == 0);
      CHECK(counts.late == 0);
      CHECK(placed.step.value() == Approx(step.value()).epsilon(1e-9));
    }
  }
}

TEST_CASE("what one rank sends another one receives at the same time", "[unit]") {
  const Experiment experiment = read_experiment(piped("llama3.1_8b", "1"), "", test::data_root());
  const CostModel cost = default_cost_model();
  const Projection p = project(experiment, cost);
  const ExpansionContext expansion{experiment.model, p.plan, experiment.training,
                                   experiment.software};
  const StepContext context{expansion, experiment.cluster, cost, p.clock};
  const std::vector<PlacedTransfer> first = placed_step(context, 0).transfers;
  const std::vector<PlacedTransfer> second = placed_step(context, 1).transfers;
  // Sixteen micro-batches: rank 0 has one neighbour, rank 1 has two.
  CHECK(first.size() == 32);
  CHECK(second.size() == 64);
  for (const PlacedTransfer& transfer : first) {
    CHECK(transfer.peer == 1);
    CHECK(std::any_of(second.begin(), second.end(), [&](const PlacedTransfer& other) {
      return other.peer == 0 && other.start == transfer.start && other.end == transfer.end &&
             other.micro_batch == transfer.micro_batch && other.end_of != transfer.end_of;
    }));
  }
}

}  // namespace stepcast::placed_step_test
