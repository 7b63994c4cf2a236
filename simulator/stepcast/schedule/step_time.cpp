// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_time.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/error.hpp"
#include "stepcast/schedule/pair_table.hpp"
#include "stepcast/schedule/pipeline_transfer.hpp"

namespace stepcast {
namespace {

PassTime forward_of(const StageProgram& program, const PassPlace& place,
                    const StepContext& context) {
  const ParallelPlan& plan = context.expansion.plan;
  return plan.uniform ? uniform_forward(program, place, plan.overlap, units_held(context))
                      : forward_pass(program, place);
}

PassTime backward_of(const StageProgram& program, const PassPlace& place,
                     const StepContext& context) {
  const ParallelPlan& plan = context.expansion.plan;
  return plan.uniform ? uniform_backward(program, place, plan.overlap, units_held(context))
                      : backward_pass(program, place);
}

bool pairs_by_itself(Schedule schedule) {
  return schedule == Schedule::kDualPipe || schedule == Schedule::kDualPipeV;
}

// Megatron's condition: chunks, so that enough forwards come first, or no pipeline at all.
bool pairs_passes(const StepContext& context) {
  const ParallelPlan& plan = context.expansion.plan;
  if (plan.uniform || !context.expansion.model.moe) {
    return false;
  }
  return pairs_by_itself(plan.schedule) ||
         (context.expansion.software.ep_overlap &&
          (plan.pp == 1 || plan.schedule == Schedule::kInterleaved));
}

StageTime stage_time(const StageProgram& program, const StepContext& context) {
  const ParallelPlan& plan = context.expansion.plan;
  const bool single = plan.micro_batches == 1;
  StageTime time;
  time.gather = plan.uniform ? GatherTime{} : first_gather(program);
  time.first_forward = forward_of(program, {.first = true, .host_lead = {}}, context);
  PassPlace last{.last = true};
  if (single) {
    last.host_lead = time.first_forward.host_lead;
  } else {
    time.forward = forward_of(program, {}, context);
    time.backward = backward_of(program, {}, context);
  }
  time.last_backward = backward_of(program, last, context);
  if (single) {
    time.forward = time.first_forward;
    time.backward = time.last_backward;
  }
  return time;
}

// Stages with the same runs take the same time.
std::vector<StageTime> stage_times(const StepWork& work, const StepTasks& tasks,
                                   const StepContext& context) {
  std::vector<StageTime> times;
  times.reserve(work.stages.size());
  for (std::size_t i = 0; i < work.stages.size(); ++i) {
    const auto known = std::find(
        work.stages.begin(), work.stages.begin() + static_cast<std::ptrdiff_t>(i), work.stages[i]);
    const auto earlier = static_cast<std::size_t>(known - work.stages.begin());
    if (earlier < i) {
      times.push_back(times[earlier]);
      continue;
    }
    const StageProgram program{tasks, work.stages[i], work.rule, context.expansion.software};
    times.push_back(stage_time(program, context));
  }
  return times;
}

StageDuration duration_of(const StageTime& stage) {
  StageDuration duration{stage.forward.duration(), stage.backward.duration(),
                         stage.backward.weight};
  duration.ready = stage.gather.first;
  duration.first_extra = stage.first_forward.duration() - stage.forward.duration();
  duration.last_extra = stage.last_backward.duration() - stage.backward.duration();
  return duration;
}

// The parameters of a rank's chunks are gathered one after the other.
std::vector<StageDuration> durations_of(const std::vector<StageTime>& stages,
                                        const ParallelPlan& plan) {
  std::vector<StageDuration> durations;
  durations.reserve(stages.size());
  for (const StageTime& stage : stages) {
    durations.push_back(duration_of(stage));
  }
  for (std::int64_t rank = 0; rank < plan.pp; ++rank) {
    Seconds before;
    for (const HeldStage& held : stages_held(plan, rank)) {
      StageDuration& duration = durations[held.stage];
      duration.ready = max(duration.ready, before + stages[held.stage].gather.first);
      before += stages[held.stage].gather.all;
    }
  }
  return durations;
}

// What one pipeline rank does in a step besides waiting.
struct RankWork {
  TimeBreakdown spent;
  TimeBreakdown hidden;
  Joules energy;

  void add(const PassTime& pass, double times) {
    spent += times * pass.spent;
    hidden += times * pass.hidden;
    energy += times * pass.energy;
  }
};

void subtract_pairs(const ParallelPlan& plan, std::int64_t rank, const RankOrder& order,
                    const PairTable& pairs, RankWork& work) {
  const std::vector<HeldStage> held = stages_held(plan, rank);
  for (const PipelineTask& task : order) {
    if (task.kind != TaskKind::kOverlapped) {
      continue;
    }
    const TimeBreakdown* saved =
        pairs.find({held[static_cast<std::size_t>(task.chunk)].stage,
                    held[static_cast<std::size_t>(task.backward_chunk)].stage});
    if (saved != nullptr) {
      work.spent = work.spent - *saved;
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        work.hidden.exposed[axis] += saved->exposed[axis];
      }
    }
  }
}

RankWork rank_work(const ParallelPlan& plan, std::int64_t rank, const StepTasks& tasks,
                   const std::vector<StageTime>& stages) {
  RankWork work;
  for (const HeldStage& held : stages_held(plan, rank)) {
    const StageTime& stage = stages[held.stage];
    const auto between = static_cast<double>(held.micro_batches - 1);
    work.add(stage.first_forward, 1.0);
    work.add(stage.forward, between);
    work.add(stage.backward, between);
    work.add(stage.last_backward, 1.0);
    work.hidden.exposed[slot(Axis::kData)] += stage.gather.first;
  }
  for (const StreamTask& task : tasks.optimizer[static_cast<std::size_t>(rank)]) {
    (task.axis ? work.spent.exposed[slot(*task.axis)] : work.spent.optimizer) += task.alone;
    work.energy += task.energy;
  }
  return work;
}

// How long after its last task a rank still reduces: chunks that end earlier go on beside the tasks
// that follow, unless the software reduces at the end only.
Seconds reduction_tail(const ParallelPlan& plan, bool beside, std::int64_t rank,
                       const RankTimeline& timeline, const std::vector<StageTime>& stages) {
  struct Left {
    Seconds from;
    Seconds backlog;
  };
  std::vector<Left> chunks;
  for (const HeldStage& held : stages_held(plan, rank)) {
    const Seconds end = timeline.chunk_end[static_cast<std::size_t>(held.chunk)];
    chunks.push_back({beside ? end : timeline.end, stages[held.stage].last_backward.backlog});
  }
  std::sort(chunks.begin(), chunks.end(),
            [](const Left& a, const Left& b) { return a.from < b.from; });
  Seconds free;
  for (const Left& chunk : chunks) {
    free = max(free, chunk.from) + chunk.backlog;
  }
  return max(Seconds{}, free - timeline.end);
}

// Of a micro-batch in each stage, forward and backward.
std::vector<Seconds> pass_times(const std::vector<StageTime>& stages) {
  std::vector<Seconds> times;
  times.reserve(stages.size());
  for (const StageTime& stage : stages) {
    times.push_back(stage.forward.duration() + stage.backward.duration());
  }
  return times;
}

std::vector<RankOrder> orders_of(const StepContext& context) {
  const ParallelPlan& plan = context.expansion.plan;
  std::vector<RankOrder> orders = pipeline_orders(plan.schedule, pipeline_shape(plan));
  if (pairs_passes(context) && !pairs_by_itself(plan.schedule)) {
    std::transform(orders.begin(), orders.end(), orders.begin(), paired_order);
  }
  return orders;
}

StepTime assemble(const StepWork& work, const StepTasks& tasks,
                  const std::vector<RankOrder>& orders, const std::vector<StagePair>& stage_pairs,
                  const StepContext& context, Record record) {
  const ParallelPlan& plan = context.expansion.plan;
  StepTime result;
  result.stages = stage_times(work, tasks, context);
  const Seconds transfer = plan.uniform
                               ? (1.0 - plan.overlap.hidden[slot(Axis::kPipeline)]) * tasks.transfer
                               : shared_transfer(work, tasks, pass_times(result.stages));
  const PairTable pairs(work, tasks, result.stages, stage_pairs, context.expansion.software);
  result.ranks =
      pipeline_timeline(plan.schedule, pipeline_shape(plan), orders,
                        durations_of(result.stages, plan), transfer, pairs.totals(), record);
  std::vector<RankWork> ranks;
  std::vector<Seconds> busy;
  for (std::int64_t rank = 0; rank < plan.pp; ++rank) {
    const RankTimeline& timeline = result.ranks[static_cast<std::size_t>(rank)];
    RankWork& own = ranks.emplace_back(rank_work(plan, rank, tasks, result.stages));
    subtract_pairs(plan, rank, orders[static_cast<std::size_t>(rank)], pairs, own);
    busy.push_back(own.spent.total());
    const Seconds tail = reduction_tail(plan, context.expansion.software.overlap_grad_reduce, rank,
                                        timeline, result.stages);
    const Seconds waited = timeline.parameters + tail;
    own.spent.bubble = timeline.bubble;
    own.spent.host += context.expansion.software.host.step;
    own.spent.exposed[slot(Axis::kPipeline)] += timeline.transfer;
    own.spent.exposed[slot(Axis::kData)] += waited;
    Seconds& hidden = own.hidden.exposed[slot(Axis::kData)];
    hidden = max(Seconds{}, hidden - waited);
    result.step = max(result.step, own.spent.total());
  }
  result.slowest_rank = std::max_element(busy.begin(), busy.end()) - busy.begin();
  RankWork& slowest = ranks[static_cast<std::size_t>(result.slowest_rank)];
  // A rank that is done waits for the last one: the next step starts for all together.
  slowest.spent.bubble += result.step - slowest.spent.total();
  result.breakdown = slowest.spent;
  result.energy = slowest.energy;
  result.hidden = slowest.hidden;
  return result;
}

}  // namespace

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

StepTimer::StepTimer(const StepContext& context)
    : context_(context), work_(step_work(context.expansion)), orders_(orders_of(context)) {
  if (pairs_passes(context)) {
    pairs_ = stage_pairs(context.expansion.plan, orders_);
  }
}

StepTime StepTimer::at(Hertz clock) const {
  const StepContext fixed{context_.expansion, context_.cluster, context_.cost, clock};
  return assemble(work_, price_step(work_, fixed), orders_, pairs_, fixed, Record::kSpans);
}

Hertz StepTimer::grid_clock(std::int64_t index) const {
  return (static_cast<double>(index) / static_cast<double>(kGrid)) *
         context_.cluster.device.clock.peak;
}

StepTime StepTimer::on_grid(std::int64_t index) {
  const StepContext fixed{context_.expansion, context_.cluster, context_.cost, grid_clock(index)};
  return assemble(work_, node(index), orders_, pairs_, fixed, Record::kEnds);
}

StepTime StepTimer::near(Hertz clock) {
  const Hertz peak = context_.cluster.device.clock.peak;
  constexpr auto kSteps = static_cast<double>(kGrid);
  const auto below = static_cast<std::int64_t>(std::floor(kSteps * (clock / peak)));
  if (clock == grid_clock(below)) {
    return on_grid(below);
  }
  STEPCAST_CHECK(below > 0, "a clock far below the part's range");
  const double fast = static_cast<double>(below + 1) / kSteps;
  const double slow = static_cast<double>(below) / kSteps;
  node(below);  // may move the other
  node(below + 1);
  // A period's share of the way from the slow clock's to the fast one's.
  const double period = peak / clock;
  const double share = (1.0 / slow - period) / (1.0 / slow - 1.0 / fast);
  const StepContext fixed{context_.expansion, context_.cluster, context_.cost, clock};
  return assemble(work_, between(node(below), node(below + 1), share), orders_, pairs_, fixed,
                  Record::kEnds);
}

StepTimer::RoughStep StepTimer::rough() {
  const StepTasks& tasks = node(kGrid);
  RoughStep step;
  Seconds exposed;
  for (const UnitRun& run : work_.stages.front()) {
    const UnitSums& unit = tasks.sums[run.unit];
    for (const TaskSums* sums : {&unit.forward, &unit.again, &unit.backward}) {
      if (sums == &unit.again && !run.again) {
        continue;
      }
      const auto times = static_cast<double>(run.count);
      step.compute += times * sums->compute;
      step.energy += times * sums->energy;
      for (const Seconds& axis : sums->exposed) {
        exposed += times * axis;
      }
    }
  }
  const ParallelPlan& plan = context_.expansion.plan;
  const auto tasks_of_rank = static_cast<double>(plan.micro_batches * plan.vpp);
  const double waits = static_cast<double>(plan.pp - 1) / tasks_of_rank;
  if (const Seconds busy = step.compute + exposed; busy > Seconds{}) {
    step.duty = step.compute / busy / (1.0 + waits);
  }
  return step;
}

const StepTasks& StepTimer::node(std::int64_t index) {
  const auto known = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const Node& entry) { return entry.index == index; });
  if (known != nodes_.end()) {
    return known->tasks;
  }
  nodes_.push_back({index, price_step(work_, {context_.expansion, context_.cluster, context_.cost,
                                              grid_clock(index)})});
  return nodes_.back().tasks;
}

StepTime step_time(const StepContext& context) { return StepTimer(context).at(context.clock); }

}  // namespace stepcast
