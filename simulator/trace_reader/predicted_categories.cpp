// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/predicted_categories.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "stepcast/base/error.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/schedule/step_clock.hpp"
#include "stepcast/schedule/step_timer.hpp"
#include "trace_reader/step_trace.hpp"

namespace stepcast {
namespace {

// The step at a declared level of power (cost/power_state.hpp).
StepAtClock at_level(const Experiment& experiment, const Projection& steady, Hertz clock,
                     const CostModel& paced) {
  const ExpansionContext expansion{experiment.model, steady.plan, experiment.training,
                                   experiment.software};
  return step_at_locked_clock({expansion, experiment.cluster, paced, clock});
}

// What one pipeline rank runs at one clock.
struct RankWork {
  CategoryTimes device_time{};
  std::vector<PredictedOperator> operators;
  Seconds computing;
  std::array<Seconds, kAxes> communicating{};
  Seconds exposed;  // communication that runs beside no computation
};

// How much of the communication of a pass lies beside none of its computation.
Seconds exposed_in(const std::vector<StreamSpan>& spans) {
  std::vector<BusyEdge> edges;
  for (const StreamSpan& span : spans) {
    const int computes = span.axis ? 0 : 1;
    edges.push_back({span.start.value(), computes, 1 - computes});
    edges.push_back({span.end.value(), -computes, computes - 1});
  }
  return Seconds(exposed_time(std::move(edges)));
}

void add_span(const StreamSpan& span, double times, const std::vector<Op>& ops, RankWork& work) {
  const Seconds time = times * (span.end - span.start);
  (span.axis ? work.communicating[slot(*span.axis)] : work.computing) += time;
  if (span.op >= 0) {
    const auto place = static_cast<std::size_t>(span.op);
    work.device_time[static_cast<std::size_t>(category_of(ops[place]))] += time;
    work.operators[place].calls += times;
    work.operators[place].time += time;
  }
}

// How often one rank runs each list of spans in a step, and what it transfers: each end for itself,
// as in a trace.
class RankCounter : public StepListener {
 public:
  explicit RankCounter(std::size_t rank) : rank_(rank) {}

  void transfer(const TimedTransfer& transfer) override {
    if (transfer.from == rank_ || transfer.to == rank_) {
      transfers.calls += 1.0;
      transfers.time += transfer.end - transfer.start;
    }
  }
  [[nodiscard]] bool wants_passes(std::size_t rank) const override { return rank == rank_; }
  void operators(const StepOps& operators) override { ops = operators.ops; }
  void pass(const PlacedPass& pass, const std::vector<StreamSpan>& spans) override {
    const auto [known, added] = programs.try_emplace(pass.program, Program{spans, 0.0});
    known->second.times += 1.0;
  }

  struct Program {
    std::vector<StreamSpan> spans;
    double times = 0.0;
  };
  std::map<std::size_t, Program> programs;
  std::vector<Op> ops;
  PredictedOperator transfers;

 private:
  std::size_t rank_;
};

RankWork work_of_rank(const Experiment& experiment, const Projection& projection, Hertz clock,
                      const CostModel& paced, std::int64_t rank) {
  const ParallelPlan& plan = projection.plan;
  if (plan.pp > 1 && !can_be_placed(plan)) {
    throw ConfigError({"training.global_batch_size", 0, 0},
                      "makes " + std::to_string(plan.micro_batches) +
                          " micro-batches, which no trace holds; give that of the traced step");
  }
  const ExpansionContext expansion{experiment.model, plan, experiment.training,
                                   experiment.software};
  RankCounter counter(static_cast<std::size_t>(rank));
  StepTimer({expansion, experiment.cluster, paced, clock}).at(clock, &counter);
  RankWork work;
  for (const Op& op : counter.ops) {
    work.operators.push_back({op, 0.0, {}});
  }
  for (const auto& [number, program] : counter.programs) {
    for (const StreamSpan& span : program.spans) {
      add_span(span, program.times, counter.ops, work);
    }
    work.exposed += program.times * exposed_in(program.spans);
  }
  // What nothing hides of transfers is not exposed communication but part of the bubble.
  if (counter.transfers.calls > 0.0) {
    counter.transfers.op = {OpId::kPipelineSend, pipeline_send(expansion)};
    work.communicating[slot(Axis::kPipeline)] += counter.transfers.time;
    work.device_time[static_cast<std::size_t>(category_of(counter.transfers.op))] +=
        counter.transfers.time;
    work.operators.push_back(std::move(counter.transfers));
  }
  return work;
}

// One entry for all that are called alike and do the same; those of other ranks are left out.
void add_operators(const std::vector<PredictedOperator>& from, double share,
                   std::vector<PredictedOperator>& to) {
  for (const PredictedOperator& added : from) {
    if (!(added.calls > 0.0)) {
      continue;
    }
    auto known = std::ranges::find_if(
        to, [&added](const Op& other) { return prints_alike(other, added.op); },
        &PredictedOperator::op);
    if (known == to.end()) {
      known = to.insert(to.end(), {added.op, 0.0, {}});
    }
    known->calls += share * added.calls;
    known->time += share * added.time;
  }
}

// Adds a share of what a step at one clock takes.
void add(PredictedStep& sum, double share, const StepTime& time, const RankWork& work,
         std::int64_t rank) {
  const TimeBreakdown& spent = time.breakdown;
  const bool slowest = rank == time.slowest_rank;
  const Seconds exposed = slowest ? spent.communication() : work.exposed;
  const Seconds idle = slowest ? spent.bubble + spent.host
                               : max(Seconds{}, time.step - work.computing - work.exposed);
  sum.step += share * time.step;
  sum.exposed_communication += share * exposed;
  sum.idle += share * idle;
  sum.computing += share * work.computing;
  for (std::size_t i = 0; i < work.device_time.size(); ++i) {
    sum.device_time[i] += share * work.device_time[i];
  }
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    sum.communicating[axis] += share * work.communicating[axis];
  }
  add_operators(work.operators, share, sum.operators);
}

// What the step's kernels draw above idle while they run.
Watts busy_power(const StepTime& time) {
  const Seconds busy = time.breakdown.busy();
  return busy > Seconds{} ? time.energy / busy : Watts{};
}

// The step as fast as bursts may be. Where each kernel has a clock of its own none draws more.
StepAtClock in_bursts(const Experiment& experiment, const Projection& steady,
                      const CostModel& paced) {
  const DeviceSpec& device = experiment.cluster.device;
  const Watts allowed = burst_allowance(device);
  StepAtClock burst;
  highest_clock(device, [&](Hertz guess) {
    burst = at_level(experiment, steady, guess, paced);
    return busy_power(burst.time) / allowed;
  });
  return burst;
}

// The share of a step until the average power, which starts at idle, is at the limit.
double share_in_burst(const DeviceSpec& device, const StepAtClock& burst) {
  const PowerSpec& power = device.power;
  if (burst.power <= power.limit) {
    return 1.0;
  }
  const Seconds constant = device.kernels.power.burst_energy / (power.limit - power.idle);
  const Seconds lasts =
      std::log((burst.power - power.idle) / (burst.power - power.limit)) * constant;
  return std::min(1.0, lasts / burst.time.step);
}

}  // namespace

BurstShare burst_after_pause(const Experiment& experiment, const CostModel& cost) {
  const Projection steady = project(experiment, cost);
  const StepAtClock burst = in_bursts(experiment, steady, within_level(cost));
  return {burst.clock, share_in_burst(experiment.cluster.device, burst)};
}

PredictedStep predicted_step(const Experiment& experiment, const Projection& steady,
                             const CostModel& cost, std::int64_t rank, TraceState state) {
  PredictedStep result;
  result.priced = steady.priced;
  result.reasons = steady.reasons;
  if (!steady.priced) {
    return result;
  }
  const CostModel paced = within_level(cost);
  double share = 0.0;
  if (state == TraceState::kAfterPause) {
    const StepAtClock burst = in_bursts(experiment, steady, paced);
    share = share_in_burst(experiment.cluster.device, burst);
    add(result, share, burst.time, work_of_rank(experiment, steady, burst.clock, paced, rank),
        rank);
  }
  add(result, 1.0 - share, steady.time, work_of_rank(experiment, steady, steady.clock, paced, rank),
      rank);
  return result;
}

PredictedStep predicted_step(const Experiment& experiment, const CostModel& cost,
                             TraceState state) {
  const Projection steady = project(experiment, cost);
  return predicted_step(experiment, steady, cost, 0, state);
}

}  // namespace stepcast
