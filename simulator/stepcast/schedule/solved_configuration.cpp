// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/solved_configuration.hpp"

#include <algorithm>

#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/schedule/host_launches.hpp"
#include "stepcast/schedule/paired_passes.hpp"

namespace stepcast {

SolvedConfiguration::SolvedConfiguration(const ExpansionContext& context,
                                         std::shared_ptr<LayerWork> work)
    : rule_(traffic_rule(context)),
      work_(std::move(work)),
      builder_(work_->blocks),
      layers_(work_->blocks) {}

std::size_t SolvedConfiguration::stage(const StageClass& stage, const ExpansionContext& context,
                                       std::size_t index) {
  const auto known = std::ranges::find(stages_, stage, &Stage::key);
  if (known != stages_.end()) {
    return static_cast<std::size_t>(known - stages_.begin());
  }
  Stage fresh;
  fresh.key = stage;
  fresh.built = builder_.stage(context, index);
  fresh.runs = layers_.stage(context, fresh.built);
  fresh.weights = fresh.built.weights();
  stages_.push_back(std::move(fresh));
  return stages_.size() - 1;
}

const StageHolding& SolvedConfiguration::holding(std::size_t stage,
                                                 const ExpansionContext& context) {
  std::optional<StageHolding>& holding = stages_[stage].holding;
  if (!holding) {
    holding = stage_holding(context, stages_[stage].built);
  }
  return *holding;
}

Bytes SolvedConfiguration::exchange_memory(const ExpansionContext& context) {
  if (!exchange_memory_) {
    exchange_memory_ = stepcast::exchange_memory(context);
  }
  return *exchange_memory_;
}

CommunicationLoad SolvedConfiguration::load(std::size_t stage, const StepContext& context) {
  std::optional<CommunicationLoad>& load = stages_[stage].load;
  if (!load) {
    load = CommunicationLoad{};
    for (const LayerRun& run : stages_[stage].runs) {
      load = load->combined(layer_load(layers_.layers()[run.layer], context));
    }
  }
  return *load;
}

SolvedConfiguration::AtClock& SolvedConfiguration::at(const StepContext& context,
                                                      const CommunicationLoad& load) {
  const auto known = std::ranges::find_if(clocks_, [&](const AtClock& entry) {
    return entry.clock_ == context.clock && entry.load_ == load;
  });
  return known != clocks_.end() ? *known : clocks_.emplace_back(*this, context.clock, load);
}

void SolvedConfiguration::forget_times() { clocks_.clear(); }

StageProgram SolvedConfiguration::AtClock::program(std::size_t stage, const StepContext& context) {
  const std::vector<StageLayer>& layers = configuration_->layers_.layers();
  tasks_.layers.resize(layers.size());
  tasks_.sums.resize(layers.size());
  priced_.resize(layers.size());
  const std::vector<LayerRun>& runs = configuration_->stages_[stage].runs;
  for (const LayerRun& run : runs) {
    if (!priced_[run.layer]) {
      tasks_.layers[run.layer] =
          price_layer(layers[run.layer], context, load_, configuration_->work_->costs);
      tasks_.sums[run.layer] = sums_of(tasks_.layers[run.layer]);
      priced_[run.layer] = true;
    }
  }
  return {tasks_, runs, configuration_->rule_, context.expansion.software,
          host_traffic(context.expansion, context.cluster, configuration_->stages_[stage].built)};
}

const SolvedStage& SolvedConfiguration::AtClock::stage(std::size_t stage,
                                                       const StepContext& context,
                                                       MicroBatches micro_batches) {
  if (stages_.size() <= stage) {
    stages_.resize(stage + 1);
  }
  std::optional<SolvedStage>& solved =
      micro_batches == MicroBatches::kOne ? stages_[stage].with_one : stages_[stage].with_several;
  if (!solved) {
    const StageProgram own = program(stage, context);
    const StageTime time = stage_time(own, context, micro_batches);
    solved = SolvedStage{time, duration_of(time), fabric_times(own)};
  }
  return *solved;
}

const TimeBreakdown& SolvedConfiguration::AtClock::saved(std::size_t forward, std::size_t backward,
                                                         const StepContext& context,
                                                         MicroBatches micro_batches) {
  const auto known = std::ranges::find_if(pairs_, [&](const Pair& entry) {
    return entry.forward == forward && entry.backward == backward &&
           entry.micro_batches == micro_batches;
  });
  if (known != pairs_.end()) {
    return known->saved;
  }
  const SolvedStage& ahead = stage(forward, context, micro_batches);
  const SolvedStage& back = stage(backward, context, micro_batches);
  const StageProgram forward_stage = program(forward, context);
  const StageProgram backward_stage = program(backward, context);
  pairs_.push_back(
      {forward, backward, micro_batches,
       saved_by_pair(forward_stage, ahead.time.forward, backward_stage, back.time.backward)
           .value_or(TimeBreakdown{})});
  return pairs_.back().saved;
}

const OptimizerTime& SolvedConfiguration::AtClock::optimizer(const HeldWeights& weights,
                                                             const StepContext& context) {
  const auto known = std::ranges::find(updates_, weights, &Update::weights);
  if (known != updates_.end()) {
    return known->time;
  }
  OptimizerTime time;
  for (const RepeatedOps& part : optimizer_ops(context.expansion, weights)) {
    const auto times = static_cast<double>(part.times);
    for (const StreamTask& task : price(part.ops, context)) {
      (task.axis ? time.spent.exposed[slot(*task.axis)] : time.spent.optimizer) +=
          times * task.duration;
      time.energy += times * task.energy;
    }
  }
  time.spent.host += offload_time(context, weights);
  updates_.push_back({weights, time});
  return updates_.back().time;
}

LeastStage SolvedConfiguration::AtClock::least(std::size_t stage, const StepContext& context,
                                               PassMode mode) {
  return least_stage(program(stage, context), mode);
}

StagePasses SolvedConfiguration::AtClock::passes(std::size_t stage, const StepContext& context) {
  return stage_passes(program(stage, context));
}

TaskSums SolvedConfiguration::AtClock::rough(std::size_t stage, const StepContext& context) {
  const StageProgram own = program(stage, context);
  TaskSums all;
  for (const LayerRun& run : own.runs) {
    const LayerSums& layer = own.tasks.sums[run.layer];
    const auto times = static_cast<double>(run.count);
    all.add(times, layer.forward);
    if (run.recomputed) {
      all.add(times, layer.full_recompute);
    }
    all.add(times, layer.backward);
  }
  return all;
}

}  // namespace stepcast
