// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/model_floor.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"
#include "stepcast/plan/update_rule.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kMostKept = 64;  // divisions of the work, of which neighbours share one

// Each layer a stage, on one rank of its own replica.
ParallelPlan layer_by_layer(const ExpansionContext& context, ParallelPlan plan) {
  const std::int64_t layers = context.model.layers;
  plan.stages.assign(static_cast<std::size_t>(layers), StageContent{.layers = 1});
  plan.stages.front().embedding = true;
  plan.stages.back().loss = true;
  plan.stages.back().mtp_layers = context.model.mtp_layers;
  return plan;
}

}  // namespace

LayerFloor::LayerFloor(const ExpansionContext& context, const LayerDivision& division,
                       std::shared_ptr<LayerWork> work)
    : plan_(layer_by_layer(context, division.plan)),
      training_(division.training),
      configuration_({context.model, plan_, training_, context.software}, std::move(work)) {
  const ExpansionContext own{context.model, plan_, training_, context.software};
  const StageClasses classes = stage_classes(own);
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < classes.classes.size(); ++i) {
    numbers.push_back(configuration_.stage(classes.classes[i], own, classes.first[i]));
  }
  for (const std::size_t own_class : classes.of_stage) {
    if (units_.empty() || units_.back().stage != numbers[own_class]) {
      units_.push_back({numbers[own_class], 0});
    }
    ++units_.back().count;
  }
}

namespace {

struct Moved {
  LeastPass forward;
  LeastPass backward;
};

// In the passes of every micro-batch, of one layer at the rates of the plan's own groups.
Moved moved_for(const LocalParameters& parameters, const StepContext& context) {
  const ExpansionContext& expansion = context.expansion;
  const TrafficRule rule = traffic_rule(expansion.plan, expansion.training, expansion.software);
  const auto every = [](Frequency frequency) { return frequency == Frequency::kEveryMicroBatch; };
  Moved moved;
  if (!every(rule.forward_gather) && !every(rule.backward_gather)) {
    return moved;
  }
  const TaskList gather = price(layer_traffic(expansion, parameters).gather, context);
  if (every(rule.forward_gather)) {
    moved.forward.add_moved(1.0, gather);
  }
  if (every(rule.backward_gather)) {
    moved.backward.add_moved(real(rule.backward_gathers), gather);
  }
  return moved;
}

}  // namespace

LayerFloor::Holding LayerFloor::holding_of(const StepContext& context) const {
  const ExpansionContext& expansion = context.expansion;
  const double on_device = share_on_device(expansion.training.optimizer, expansion.software);
  const RecomputeSpec& recompute = expansion.training.recompute;
  const bool runs = recompute.method == RecomputeMethod::kUniform && recompute.layer_list.empty();
  Holding least;
  least.input = (1.0 / (runs ? real(recompute.layers) : 1.0)) * layer_input(expansion);
  bool first = true;
  for (const Unit& unit : units_) {
    const BuiltStage& built = configuration_.built(unit.stage);
    const StageHolding own = stage_holding(expansion, built);
    const BuiltLayer& layer = built.layers.front();
    const Moved moved = moved_for(layer.parameters, context);
    const auto lower = [first](auto& member, const auto& value) {
      member = first ? value : min(member, value);
    };
    lower(least.lasting,
          own.states.parameters + own.budget.gathered + on_device * own.states.optimizer);
    lower(least.gradients, own.gradients);
    lower(least.kept, total(layer.ops->kept));
    lower(least.passing, own.budget.recomputed + own.budget.workspace + own.budget.gathered_layers +
                             own.budget.reduced_layer);
    least.forward = first ? moved.forward : least_of(least.forward, moved.forward);
    least.backward = first ? moved.backward : least_of(least.backward, moved.backward);
    first = false;
  }
  least.input = min(least.input, least.kept);
  return least;
}

const LayerFloor::Holding& LayerFloor::holding(const StepContext& context) {
  const ParallelPlan& plan = context.expansion.plan;
  const bool twice = placement_of(plan.schedule) == StagePlacement::kBidirectional;
  const Sharding sharding{plan.dp,
                          plan.edp,
                          plan.fsdp,
                          plan.zero,
                          plan.fsdp_reshard,
                          plan.fsdp_experts,
                          plan.micro_batches > 1,
                          twice ? plan.pp : 0,
                          plan.strides};
  const auto known = std::ranges::find(held_, sharding, &Held::sharding);
  if (known == held_.end()) {
    held_.push_front({sharding, holding_of(context)});
  } else {
    held_.splice(held_.begin(), held_, known);
  }
  return held_.front().holding;
}

LayerFloor::Work LayerFloor::work_at(const StepContext& context) {
  const ExpansionContext own{context.expansion.model, plan_, training_, context.expansion.software};
  const StepContext fixed{own, context.cluster, context.cost, context.clock};
  SolvedConfiguration::AtClock& prices = configuration_.at(fixed, {});
  Work work;
  for (const Unit& unit : units_) {
    const StagePasses passes = prices.passes(unit.stage, fixed);
    const bool first = &unit == &units_.front();
    for (LeastPass StagePasses::*pass :
         {&StagePasses::forward, &StagePasses::backward, &StagePasses::recomputed}) {
      (work.model.*pass).add(real(unit.count), passes.*pass);
      work.layer.*pass = first ? passes.*pass : least_of(work.layer.*pass, passes.*pass);
    }
    work.last = passes;
  }
  return work;
}

const LayerFloor::Work& LayerFloor::work(const StepContext& context) {
  const auto known = std::ranges::find(known_, context.clock, &Known::clock);
  if (known != known_.end()) {
    return known->work;
  }
  known_.push_front({context.clock, work_at(context)});
  return known_.front().work;
}

ModelFloor::Share ModelFloor::share_of(std::int64_t stage) const {
  const ExpansionContext& expansion = context_->expansion;
  const RecomputeSpec& recompute = expansion.training.recompute;
  const std::int64_t layers = expansion.plan.stages[static_cast<std::size_t>(stage)].layers;
  // Nothing waits for the first gather of a forward but what is gathered behind it.
  Share share{layers, 0, layers > 1 ? layers : 0};
  // Layers that are named may lie on any stage: none of these is surely recomputed.
  if (recompute.kind == RecomputeKind::kFull && recompute.layer_list.empty()) {
    const bool all = recompute.method == RecomputeMethod::kUniform;
    share.recomputed = all ? share.layers : std::min(share.layers, recompute.layers);
  }
  return share;
}

void ModelFloor::Share::add(const Share& other) {
  layers += other.layers;
  recomputed += other.recomputed;
  gathered += other.gathered;
}

void ModelFloor::take(const StepContext& context) {
  context_.emplace(context);
  const ParallelPlan& plan = context.expansion.plan;
  LayerDivision division = layer_division(context.expansion);
  const auto known = std::ranges::find(entries_, division, &Entry::division);
  if (known == entries_.end()) {
    if (entries_.size() >= kMostKept) {
      entries_.pop_back();
    }
    LayerFloor floor(context.expansion, division, works_->of(context.expansion));
    entries_.push_front({std::move(division), std::move(floor)});
  } else if (known != entries_.begin()) {
    entries_.splice(entries_.begin(), entries_, known);
  }
  layers_ = &entries_.front().floor;
  mode_ = pass_mode(context.expansion);
  holding_ = &layers_->holding(context);
  ranks_.clear();
  const PipelineShape shape = pipeline_shape(plan);
  const StagePlacement placement = placement_of(plan.schedule);
  const std::int64_t chunks = chunks_per_rank(plan.schedule, shape);
  for (std::int64_t rank = 0; rank < plan.pp; ++rank) {
    Share own;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      own.add(share_of(stage_on(placement, shape, rank, chunk)));
    }
    ranks_.push_back(own);
  }
}

LeastStep ModelFloor::step(Hertz clock) {
  const ExpansionContext& expansion = context_->expansion;
  const ParallelPlan& plan = expansion.plan;
  const StepContext fixed{expansion, context_->cluster, context_->cost, clock};
  const LayerFloor::Work& work = layers_->work(fixed);
  const ScheduleInfo& row = info(plan.schedule);
  const bool twice = row.placement == StagePlacement::kBidirectional;
  Share fewest = ranks_.front();
  Share all;
  for (const Share& own : ranks_) {
    fewest.layers = std::min(fewest.layers, own.layers);
    fewest.recomputed = std::min(fewest.recomputed, own.recomputed);
    all.add(own);
  }
  // Each stage lies on two ranks, which run half of its micro-batches each.
  const double ranks = real(plan.pp) * (twice ? 0.5 : 1.0);
  const double batches = (twice ? 0.5 : 1.0) * real(plan.micro_batches);
  StagePasses mean;
  mean.forward.add(1.0 / ranks, work.model.forward);
  mean.backward.add(1.0 / ranks, work.model.backward);
  mean.backward.add(real(all.recomputed) / real(plan.pp), work.layer.recomputed);
  LeastStep least;
  least.step =
      all_batches(mean, real(all.layers) / real(plan.pp), real(all.gathered) / real(plan.pp));
  const Joules of_layer = work.layer.forward.sums.energy + work.layer.backward.sums.energy;
  least.energy = batches * (real(fewest.layers) * of_layer +
                            real(fewest.recomputed) * work.layer.recomputed.sums.energy);
  if (!twice) {
    least.step = max(least.step, behind_the_others(work));
  }
  least.step += expansion.software.host.step;
  return least;
}

// All micro-batches of a rank whose layers take `batch`, with what is moved for each of its layers;
// of the first forward it may have been moved before.
Seconds ModelFloor::all_batches(StagePasses batch, double layers, double gathered) const {
  const ScheduleInfo& row = info(context_->expansion.plan.schedule);
  const double share = row.placement == StagePlacement::kBidirectional ? 0.5 : 1.0;
  const double batches = share * real(context_->expansion.plan.micro_batches);
  if (mode_ != PassMode::kOneByOne) {
    return batches * together(batch.forward, batch.backward).beside();
  }
  const Seconds first = batch.forward.alone();
  batch.forward.add(gathered, holding_->forward);
  batch.backward.add(layers, holding_->backward);
  return first + std::max(0.0, batches - 1.0) * batch.forward.alone() +
         batches * batch.backward.alone();
}

// What the last rank runs, behind the forwards of the first chunks of those before it and before
// their backwards.
Seconds ModelFloor::behind_the_others(const LayerFloor::Work& work) const {
  const ParallelPlan& plan = context_->expansion.plan;
  const ScheduleInfo& row = info(plan.schedule);
  StagePasses others;
  for (std::int64_t stage = 0; stage + 1 < plan.pp; ++stage) {
    const Share own = share_of(stage);
    others.forward.add(real(own.layers), work.layer.forward);
    if (row.backward == BackwardRule::kWhole) {
      others.backward.add(real(own.layers), work.layer.backward);
      others.backward.add(real(own.recomputed), work.layer.recomputed);
    }
  }
  const Share& last = ranks_.back();
  const bool has_loss = row.placement == StagePlacement::kLoop && last.layers > 0;
  const double layers = real(last.layers) - (has_loss ? 1.0 : 0.0);
  StagePasses batch;
  batch.forward.add(layers, work.layer.forward);
  batch.backward.add(layers, work.layer.backward);
  batch.backward.add(real(last.recomputed), work.layer.recomputed);
  if (has_loss) {
    batch.forward.add(1.0, work.last.forward);
    batch.backward.add(1.0, work.last.backward);
  }
  const bool alone = mode_ != PassMode::kUniform;
  const Seconds ahead = alone ? others.forward.alone() : others.forward.beside();
  const Seconds after = alone ? others.backward.alone() : others.backward.beside();
  return ahead + after + all_batches(batch, real(last.layers), real(last.gathered));
}

Bytes ModelFloor::memory() const {
  const ParallelPlan& plan = context_->expansion.plan;
  const bool named = !context_->expansion.training.recompute.layer_list.empty();
  // Of a rank that two directions pass each micro-batch is in one of two stages.
  const ScheduleInfo& row = info(plan.schedule);
  const double stages = row.placement == StagePlacement::kBidirectional ? 2.0 : 1.0;
  const double held = row.in_flight(pipeline_shape(plan)) / stages;
  // A backward of the steady state finds gradients of those before it.
  const bool steady = plan.micro_batches > 3 * plan.pp;
  std::optional<Bytes> least;
  for (const Share& own : ranks_) {
    const std::int64_t inputs = named ? own.layers : own.recomputed;
    const Bytes in_flight =
        held * (real(own.layers - inputs) * holding_->kept + real(inputs) * holding_->input);
    const Bytes gradients = real(own.layers) * holding_->gradients;
    Bytes need = real(own.layers) * holding_->lasting;
    need += steady ? gradients + in_flight + holding_->passing : max(gradients, in_flight);
    least = least ? min(*least, need) : need;
  }
  return least.value_or(Bytes{});
}

}  // namespace stepcast
