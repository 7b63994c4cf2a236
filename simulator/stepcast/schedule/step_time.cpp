// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_time.hpp"

#include <algorithm>

#include "stepcast/schedule/data_parallel.hpp"
#include "stepcast/schedule/operator_inventory.hpp"

namespace stepcast {
namespace {

// Asynchronous tensor parallelism hides this share of its collectives behind their own GEMM;
// judgement after torchtitan's AsyncTP runs, until the timeline schedules it.
constexpr double kAsyncTensorParallel = 0.5;

constexpr std::size_t slot(Axis axis) { return static_cast<std::size_t>(axis); }

bool is_weight_gradient(const Op& op) {
  const auto* const gemm = std::get_if<Gemm>(&op.work);
  const auto* const grouped = std::get_if<GroupedGemm>(&op.work);
  return (gemm != nullptr && gemm->pass == GemmPass::kWgrad) ||
         (grouped != nullptr && grouped->pass == GemmPass::kWgrad);
}

UniformOverlap overlap_of(const StepContext& context) {
  UniformOverlap overlap = context.expansion.plan.overlap;
  if (context.expansion.software.async_tp) {
    double& share = overlap.hidden[slot(Axis::kTensor)];
    share = std::max(share, kAsyncTensorParallel);
  }
  return overlap;
}

// Prices each list of operators once and adds up stages from them.
std::vector<StageTime> stage_times(const StepContext& context) {
  const StepLists work = step_lists(context.expansion);
  std::vector<PassTime> prices;
  prices.reserve(work.lists.size());
  for (const OpList& list : work.lists) {
    prices.push_back(price(list, context));
  }
  std::vector<StageTime> stages;
  stages.reserve(work.stages.size());
  for (const std::vector<ListUse>& uses : work.stages) {
    StageTime& time = stages.emplace_back();
    for (const ListUse& use : uses) {
      PassTime& pass = use.pass == StepPass::kForward ? time.forward : time.backward;
      pass += static_cast<double>(use.count) * prices[use.list];
    }
  }
  return stages;
}

Seconds pipeline_transfer(const StepContext& context) {
  const ExpansionContext& expansion = context.expansion;
  if (expansion.plan.pp == 1) {
    return {};
  }
  const Collective send = pipeline_send(expansion);
  const Seconds whole = context.cost.collective->collective(send, {context.cluster}).duration;
  return (1.0 - expansion.plan.overlap.hidden[slot(Axis::kPipeline)]) * whole;
}

// What one pipeline rank does in a step besides waiting.
struct RankWork {
  TimeBreakdown spent;
  TimeBreakdown hidden;
  Seconds busy;
  Joules energy;
};

TimeBreakdown hidden_part(const PassTime& pass, const TimeBreakdown& spent) {
  TimeBreakdown hidden;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    hidden.exposed[axis] = pass.communication[axis] - spent.exposed[axis];
  }
  return hidden;
}

RankWork rank_work(const StepContext& context, std::int64_t rank,
                   const std::vector<StageTime>& stages) {
  const ParallelPlan& plan = context.expansion.plan;
  const UniformOverlap overlap = overlap_of(context);
  const UnitsHeld held = units_held(context);
  RankWork work;
  PassTime once = price(step_collectives(context.expansion, rank), context);
  Seconds window;
  for (const HeldStage& held_stage : stages_held(plan, rank)) {
    const StageTime& stage = stages[held_stage.stage];
    const auto micro_batches = static_cast<double>(held_stage.micro_batches);
    for (const PassTime* pass : {&stage.forward, &stage.backward}) {
      const TimeBreakdown spent = exposed(*pass, overlap, held);
      work.spent += micro_batches * spent;
      work.hidden += micro_batches * hidden_part(*pass, spent);
      work.energy += micro_batches * pass->energy;
      window += pass->compute;
    }
  }
  once.compute = window;
  TimeBreakdown step = exposed(once, overlap, held);
  work.hidden += hidden_part(once, step);
  step.compute = Seconds{};
  work.spent += step;
  const PassTime optimizer = price(optimizer_ops(context.expansion, rank), context);
  work.spent.optimizer = optimizer.compute;
  work.energy += optimizer.energy;
  return work;
}

StageDuration duration_of(const StageTime& stage, const StepContext& context) {
  const UniformOverlap overlap = overlap_of(context);
  const UnitsHeld held = units_held(context);
  return {exposed(stage.forward, overlap, held).total(),
          exposed(stage.backward, overlap, held).total(), stage.backward.weight};
}

}  // namespace

Seconds TimeBreakdown::communication() const {
  Seconds sum;
  for (const Seconds part : exposed) {
    sum += part;
  }
  return sum;
}

Seconds TimeBreakdown::total() const {
  return compute + contention + communication() + bubble + optimizer + host;
}

TimeBreakdown& TimeBreakdown::operator+=(const TimeBreakdown& other) {
  compute += other.compute;
  contention += other.contention;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    exposed[axis] += other.exposed[axis];
  }
  bubble += other.bubble;
  optimizer += other.optimizer;
  host += other.host;
  return *this;
}

TimeBreakdown operator*(double factor, TimeBreakdown breakdown) {
  breakdown.compute = factor * breakdown.compute;
  breakdown.contention = factor * breakdown.contention;
  for (Seconds& part : breakdown.exposed) {
    part = factor * part;
  }
  breakdown.bubble = factor * breakdown.bubble;
  breakdown.optimizer = factor * breakdown.optimizer;
  breakdown.host = factor * breakdown.host;
  return breakdown;
}

PassTime& PassTime::operator+=(const PassTime& other) {
  compute += other.compute;
  weight += other.weight;
  energy += other.energy;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    communication[axis] += other.communication[axis];
  }
  return *this;
}

PassTime operator*(double factor, PassTime pass) {
  pass.compute = factor * pass.compute;
  pass.weight = factor * pass.weight;
  pass.energy = factor * pass.energy;
  for (Seconds& part : pass.communication) {
    part = factor * part;
  }
  return pass;
}

KernelContext kernel_context(const StepContext& context, Detail detail) {
  const DeviceSpec& device = context.cluster.device;
  const Seconds launch =
      context.expansion.software.cuda_graph ? device.graph_launch_latency : device.launch_latency;
  return {device, context.clock, device.compute_units, launch, detail};
}

PassTime price(const OpList& ops, const StepContext& context) {
  const KernelContext kernel = kernel_context(context);
  PassTime time;
  for (const Op& op : ops) {
    const OpCost cost = context.cost.cost(op, kernel, context.cluster);
    if (const std::optional<Axis> axis = communication_axis(op)) {
      time.communication[slot(*axis)] += cost.duration;
    } else {
      time.compute += cost.duration;
      time.weight += is_weight_gradient(op) ? cost.duration : Seconds{};
      time.energy += cost.energy;
    }
  }
  return time;
}

UnitsHeld units_held(const StepContext& context) {
  const DeviceSpec& device = context.cluster.device;
  const auto all = static_cast<double>(device.compute_units);
  const std::int64_t library = device.scale_up.kernel_units;
  UnitsHeld held{};
  held.fill(static_cast<double>(library) / all);
  const std::int64_t units = units_held(context.expansion.plan.exchange, library);
  held[slot(Axis::kExpert)] = std::min(1.0, static_cast<double>(units) / all);
  return held;
}

TimeBreakdown exposed(const PassTime& pass, const UniformOverlap& overlap, const UnitsHeld& held) {
  TimeBreakdown breakdown;
  breakdown.compute = pass.compute;
  Seconds window = pass.compute;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const Seconds hidden = min(overlap.hidden[axis] * pass.communication[axis], window);
    window -= hidden;
    breakdown.exposed[axis] = pass.communication[axis] - hidden;
    breakdown.contention += held[axis] * hidden;
  }
  return breakdown;
}

StepTime step_time(const StepContext& context) {
  const ParallelPlan& plan = context.expansion.plan;
  StepTime result;
  result.stages = stage_times(context);
  std::vector<StageDuration> durations;
  for (const StageTime& stage : result.stages) {
    durations.push_back(duration_of(stage, context));
  }
  result.ranks =
      pipeline_timeline(plan.schedule, pipeline_shape(plan), durations, pipeline_transfer(context));
  std::vector<RankWork> work;
  for (std::int64_t rank = 0; rank < plan.pp; ++rank) {
    work.push_back(rank_work(context, rank, result.stages));
    RankWork& own = work.back();
    const RankTimeline& timeline = result.ranks[static_cast<std::size_t>(rank)];
    own.busy = own.spent.total();
    own.spent.bubble = timeline.bubble;
    own.spent.exposed[slot(Axis::kPipeline)] += timeline.transfer;
    result.step = max(result.step, own.spent.total());
  }
  const auto slowest =
      std::max_element(work.begin(), work.end(),
                       [](const RankWork& a, const RankWork& b) { return a.busy < b.busy; });
  result.slowest_rank = slowest - work.begin();
  // A rank that is done waits for the last one: the next step starts for all together.
  slowest->spent.bubble += result.step - slowest->spent.total();
  result.breakdown = slowest->spent;
  result.energy = slowest->energy;
  result.hidden = slowest->hidden;
  return result;
}

}  // namespace stepcast
