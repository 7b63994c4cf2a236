// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/model_floor.hpp"
#include "stepcast/schedule/host_launches.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"
#include "stepcast/plan/update_rule.hpp"

namespace stepcast {
namespace {

constexpr double kSumRounding = 1e-9;  // of differences of sums over layers, far more than it is
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

// `count` more layers behind those of a list of sums.
template <typename Sums>
void append(std::int64_t count, const Sums& layer, std::vector<Sums>& up_to) {
  up_to.reserve(up_to.size() + static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    up_to.push_back(up_to.back());
    up_to.back().add(1.0, layer);
  }
}

// What layers first .. end - 1 add to a list of sums.
template <typename Sums>
Sums between(const std::vector<Sums>& up_to, std::int64_t first, std::int64_t end) {
  Sums sums = up_to[static_cast<std::size_t>(end)];
  sums.add(-1.0, up_to[static_cast<std::size_t>(first)]);
  return sums;
}

// In the passes of every micro-batch, of one layer at the rates of the plan's own groups.
LayerFloor::Moved moved_for(const LocalParameters& parameters, const StepContext& context) {
  const ExpansionContext& expansion = context.expansion;
  const TrafficRule rule = traffic_rule(expansion);
  const auto every = [](Frequency frequency) { return frequency == Frequency::kEveryMicroBatch; };
  LayerFloor::Moved moved;
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

// What the last backward of a step reduces of one layer.
Seconds reduced_once(const LocalParameters& parameters, const StepContext& context) {
  const ExpansionContext& expansion = context.expansion;
  const TrafficRule rule = traffic_rule(expansion);
  if (rule.reduce != Frequency::kOnceAStep || expansion.plan.uniform) {
    return {};
  }
  const LayerTraffic traffic = layer_traffic(expansion, parameters);
  return duration_of(price(traffic.reduce, context)) +
         duration_of(price(traffic.replicas, context));
}

}  // namespace

void LayerFloor::Held::add(double times, const Held& other) {
  lasting += times * other.lasting;
  gradients += times * other.gradients;
  kept += times * other.kept;
  input += times * other.input;
}

void LayerFloor::Moved::add(double times, const Moved& other) {
  forward.add(times, other.forward);
  backward.add(times, other.backward);
}

// Of one layer.
struct LayerFloor::HeldUnit {
  Held held;
  Moved moved;
  Seconds reduced;
  Bytes passing;

  // Each the lower of both.
  void lower_by(const HeldUnit& other) {
    held.lasting = min(held.lasting, other.held.lasting);
    held.gradients = min(held.gradients, other.held.gradients);
    moved.forward = least_of(moved.forward, other.moved.forward);
    moved.backward = least_of(moved.backward, other.moved.backward);
    reduced = min(reduced, other.reduced);
  }
};

std::vector<LayerFloor::HeldUnit> LayerFloor::held_units(const StepContext& context) const {
  const ExpansionContext& expansion = context.expansion;
  const SharesOnDevice shares =
      shares_on_device(expansion.training.optimizer, expansion.plan, expansion.software);
  const double stays = expansion.training.offload.activations ? 0.0 : 1.0;
  const RecomputeSpec& recompute = expansion.training.recompute;
  const bool runs = recompute.method == RecomputeMethod::kUniform && recompute.layer_list.empty();
  const Bytes input = (1.0 / (runs ? real(recompute.layers) : 1.0)) * layer_input(expansion);
  std::vector<HeldUnit> held;
  for (const Unit& unit : units_) {
    const BuiltStage& built = configuration_.built(unit.stage);
    const StageHolding own = stage_holding(expansion, built);
    const BuiltLayer& layer = built.layers.front();
    const Bytes kept = stays * total(layer.ops->kept);
    const StateMemory here = on_device(expansion, own.states);
    held.push_back({{here.parameters + own.budget.gathered + here.optimizer,
                     shares.gradients * own.gradients, kept, min(input, kept)},
                    moved_for(layer.parameters, context),
                    reduced_once(layer.parameters, context),
                    own.budget.recomputed + own.budget.workspace + own.budget.gathered_layers +
                        own.budget.reduced_layer});
  }
  // An embedding that is the head, too, may lie on the rank of both once.
  if (expansion.model.tied_embeddings && held.size() > 1) {
    held.front().lower_by(held[1]);
  }
  return held;
}

LayerFloor::Holding LayerFloor::holding_of(const StepContext& context) const {
  const std::vector<HeldUnit> held = held_units(context);
  const ExpansionContext& expansion = context.expansion;
  const TrafficRule rule = traffic_rule(expansion);
  const bool moves = rule.forward_gather == Frequency::kEveryMicroBatch ||
                     rule.backward_gather == Frequency::kEveryMicroBatch;
  Holding holding{held[0].passing, held[0].held.kept, held[0].held.input, {Held{}}, {},
                  {Seconds{}}};
  if (moves) {
    holding.moved_up_to.emplace_back();
  }
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const HeldUnit& unit = held[i];
    holding.passing = min(holding.passing, unit.passing);
    holding.kept = min(holding.kept, unit.held.kept);
    holding.input = min(holding.input, unit.held.input);
    append(units_[i].count, unit.held, holding.up_to);
    if (moves) {
      append(units_[i].count, unit.moved, holding.moved_up_to);
    }
    for (std::int64_t layer = 0; layer < units_[i].count; ++layer) {
      holding.reduced_up_to.push_back(holding.reduced_up_to.back() + unit.reduced);
    }
  }
  return holding;
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
  const auto known = std::ranges::find(held_, sharding, &KnownHolding::sharding);
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
  Work work{{}, {StagePasses{}}, {}};
  for (const Unit& unit : units_) {
    const StagePasses passes = prices.passes(unit.stage, fixed);
    const bool first = work.up_to.size() == 1;
    for (LeastPass StagePasses::*pass :
         {&StagePasses::forward, &StagePasses::backward, &StagePasses::recomputed}) {
      work.layer.*pass = first ? passes.*pass : least_of(work.layer.*pass, passes.*pass);
    }
    append(unit.count, passes, work.up_to);
  }
  for (const StagePasses& passes : work.up_to) {
    work.energy_up_to.push_back(passes.forward.sums.energy + passes.backward.sums.energy);
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

void ModelFloor::lay_stages() {
  const ExpansionContext& expansion = context_->expansion;
  const RecomputeSpec& recompute = expansion.training.recompute;
  // Layers that are named may lie on any stage: none of these is surely recomputed.
  const bool in_full = recompute.kind == RecomputeKind::kFull && recompute.layer_list.empty();
  all_recomputed_ = in_full && recompute.method == RecomputeMethod::kUniform;
  stages_.clear();
  std::int64_t first = 0;
  for (const StageContent& content : expansion.plan.stages) {
    Layers stage{first, first + content.layers, 0};
    if (in_full) {
      stage.recomputed =
          all_recomputed_ ? stage.count() : std::min(stage.count(), recompute.layers);
    }
    stages_.push_back(stage);
    first = stage.end;
  }
  shape_ = pipeline_shape(expansion.plan);
  chunks_ = chunks_per_rank(expansion.plan.schedule, shape_);
}

StagePlacement ModelFloor::placement() const {
  return placement_of(context_->expansion.plan.schedule);
}

const ModelFloor::Layers& ModelFloor::stage_of(std::int64_t rank, std::int64_t chunk) const {
  return stages_[static_cast<std::size_t>(stage_on(placement(), shape_, rank, chunk))];
}

Bytes ModelFloor::in_flight_of(const Layers& stage, const LayerFloor::Held& held) const {
  const bool named = !context_->expansion.training.recompute.layer_list.empty();
  const std::int64_t inputs = named ? stage.count() : stage.recomputed;
  if (inputs == 0 || inputs == stage.count()) {
    return inputs == 0 ? held.kept : held.input;
  }
  return real(stage.count() - inputs) * holding_->kept + real(inputs) * holding_->input;
}

ModelFloor::Share ModelFloor::share_of(std::int64_t rank) const {
  Share share;
  for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
    const Layers& stage = stage_of(rank, chunk);
    const LayerFloor::Held held = between(holding_->up_to, stage.first, stage.end);
    share.recomputed += stage.recomputed;
    share.lasting += held.lasting;
    share.gradients += held.gradients;
    share.in_flight += in_flight_of(stage, held);
  }
  return share;
}

void ModelFloor::add_passes(const LayerFloor::Work& work, const Layers& stage,
                            StagePasses& passes) const {
  passes.add(1.0, work.up_to[static_cast<std::size_t>(stage.end)]);
  passes.add(-1.0, work.up_to[static_cast<std::size_t>(stage.first)]);
  if (!all_recomputed_) {
    passes.backward.add(real(stage.recomputed), work.layer.recomputed);
  }
}

void ModelFloor::add_moved(double times, const Layers& stage, LayerFloor::Moved& moved) const {
  if (holding_->moved_up_to.empty()) {
    return;
  }
  LayerFloor::Moved own = between(holding_->moved_up_to, stage.first, stage.end);
  // Nothing waits for the first gather of a forward but what is gathered behind it.
  own.forward = stage.count() > 1 ? own.forward : LeastPass{};
  moved.add(times, own);
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
  lay_stages();
  ranks_.clear();
  mean_moved_ = {};
  for (std::int64_t rank = 0; rank < plan.pp; ++rank) {
    ranks_.push_back(share_of(rank));
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      add_moved(1.0 / real(plan.pp), stage_of(rank, chunk), mean_moved_);
    }
  }
}

StagePasses ModelFloor::mean_batch(const LayerFloor::Work& work) const {
  // Where each stage lies on two ranks, the ranks run each layer twice.
  const double twice = placement() == StagePlacement::kBidirectional ? 2.0 : 1.0;
  const double share = twice / real(context_->expansion.plan.pp);
  StagePasses mean;
  mean.add(share, work.up_to.back());
  if (all_recomputed_) {
    mean.backward.add(1.0, mean.recomputed);
    return mean;
  }
  std::int64_t recomputed = 0;
  for (const Share& own : ranks_) {
    recomputed += own.recomputed;
  }
  mean.backward.add(real(recomputed) / real(std::ssize(ranks_)), work.layer.recomputed);
  return mean;
}

Joules ModelFloor::least_energy(const LayerFloor::Work& work) const {
  std::optional<Joules> least;
  for (std::int64_t rank = 0; rank < std::ssize(ranks_); ++rank) {
    const std::int64_t recomputed = ranks_[static_cast<std::size_t>(rank)].recomputed;
    Joules energy = real(recomputed) * work.layer.recomputed.sums.energy;
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      const Layers& stage = stage_of(rank, chunk);
      energy += work.energy_up_to[static_cast<std::size_t>(stage.end)] -
                work.energy_up_to[static_cast<std::size_t>(stage.first)];
    }
    least = least ? min(*least, energy) : energy;
  }
  return least.value_or(Joules{});
}

LeastStep ModelFloor::step(Hertz clock) {
  const ExpansionContext& expansion = context_->expansion;
  const StepContext fixed{expansion, context_->cluster, context_->cost, clock};
  const LayerFloor::Work& work = layers_->work(fixed);
  const bool twice = placement() == StagePlacement::kBidirectional;
  LeastStep least;
  least.step = all_batches(mean_batch(work), mean_moved_);
  least.energy = (twice ? 0.5 : 1.0) * real(expansion.plan.micro_batches) * least_energy(work);
  if (!twice) {
    least.step = max(least.step, behind_the_others(work));
  }
  least.step += host_waits(fixed);
  return least;
}

// All micro-batches of a rank whose layers take `batch`, with what is gathered for them; for the
// first forward it may have been gathered before.
Seconds ModelFloor::all_batches(StagePasses batch, const LayerFloor::Moved& moved) const {
  const double share = placement() == StagePlacement::kBidirectional ? 0.5 : 1.0;
  const double batches = share * real(context_->expansion.plan.micro_batches);
  if (mode_ != PassMode::kOneByOne) {
    return batches * together(batch.forward, batch.backward).beside();
  }
  const Seconds first = batch.forward.alone();
  if (!holding_->moved_up_to.empty()) {
    batch.forward.add(1.0, moved.forward);
    batch.backward.add(1.0, moved.backward);
  }
  return first + std::max(0.0, batches - 1.0) * batch.forward.alone() +
         batches * batch.backward.alone();
}

// What the last rank runs, behind the forwards of the first chunks of those before it and before
// their backwards.
Seconds ModelFloor::behind_the_others(const LayerFloor::Work& work) const {
  const std::int64_t last = context_->expansion.plan.pp - 1;
  StagePasses others;
  for (std::int64_t stage = 0; stage < last; ++stage) {
    add_passes(work, stages_[static_cast<std::size_t>(stage)], others);
  }
  StagePasses batch;
  LayerFloor::Moved moved;
  Seconds reduced;
  for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
    const Layers& stage = stage_of(last, chunk);
    add_passes(work, stage, batch);
    add_moved(1.0, stage, moved);
    reduced += holding_->reduced_up_to[static_cast<std::size_t>(stage.end)] -
               holding_->reduced_up_to[static_cast<std::size_t>(stage.first)];
  }
  if (all_recomputed_) {
    others.backward.add(1.0, others.recomputed);
    batch.backward.add(1.0, batch.recomputed);
  }
  const bool alone = mode_ != PassMode::kUniform;
  const bool whole = info(context_->expansion.plan.schedule).backward == BackwardRule::kWhole;
  const Seconds ahead = alone ? others.forward.alone() : others.forward.beside();
  const Seconds after = alone ? others.backward.alone() : others.backward.beside();
  const Seconds end = ahead + all_batches(batch, moved);
  // Nothing is reduced before the last backwards of the rank's chunks, and beside a forward none
  // takes longer than both.
  Seconds last_passes = batch.backward.alone() + batch.recomputed.alone();
  last_passes += mode_ == PassMode::kOneByOne ? Seconds{} : batch.forward.alone();
  return whole ? max(end + after, end - last_passes + reduced) : end;
}

Bytes ModelFloor::memory() const {
  const ParallelPlan& plan = context_->expansion.plan;
  // Of a rank that two directions pass each micro-batch is in one of two stages.
  const ScheduleInfo& row = info(plan.schedule);
  const double stages = row.placement == StagePlacement::kBidirectional ? 2.0 : 1.0;
  const double held = row.in_flight(pipeline_shape(plan)) / stages;
  // A backward of the steady state finds gradients of those before it.
  const bool steady = plan.micro_batches > 3 * plan.pp;
  std::optional<Bytes> least;
  for (const Share& own : ranks_) {
    const Bytes in_flight = held * own.in_flight;
    const Bytes need = own.lasting + (steady ? own.gradients + in_flight + holding_->passing
                                             : max(own.gradients, in_flight));
    least = least ? min(*least, need) : need;
  }
  return (1.0 - kSumRounding) * least.value_or(Bytes{});
}

}  // namespace stepcast
