// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/plan_projector.hpp"

#include <utility>

#include "stepcast/cost/power_state.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {

PlanProjector::PlanProjector(const Experiment& site, const CostModel& cost,
                             std::shared_ptr<SolvedPipelines> pipelines)
    : site_(&site),
      paced_(site.locked_clock ? cost : within_level(cost)),
      solved_(std::move(pipelines), works_) {}

void PlanProjector::take(const ParallelPlan& plan, const TrainingRecipe& training) {
  plan_ = &plan;
  training_ = &training;
  outline_.reset();
  timer_.reset();
  expanded_.reset();
  expanded_.emplace(expansion());
  has_floor_ = false;
}

const PlanOutline& PlanProjector::outline() {
  if (!outline_) {
    outline_ = solved_.outline(*expanded_);
  }
  return *outline_;
}

std::vector<StageMemory> PlanProjector::memory() {
  std::vector<StageMemory> stages = solved_.memory(outline(), *expanded_);
  judge_memory(stages, site_->cluster.device);
  return stages;
}

std::optional<std::vector<StageMemory>> PlanProjector::memory_if_sure(
    std::optional<Bytes> too_much) {
  const DeviceSpec& device = site_->cluster.device;
  std::vector<StageMemory> stages = solved_.memory(
      outline(), *expanded_, MemoryLimit{device.hbm.capacity, device.hbm.sure}, too_much);
  judge_memory(stages, device);
  return is_sure(stages) ? std::optional(std::move(stages)) : std::nullopt;
}

StepTimer& PlanProjector::timer() {
  if (!timer_) {
    timer_.emplace(context(), solved_, outline());
  }
  return *timer_;
}

StepContext PlanProjector::context() const {
  return {*expanded_, site_->cluster, paced_, site_->locked_clock.value_or(Hertz{})};
}

StepAtClock PlanProjector::step() {
  StepTimer& own = timer();
  return site_->locked_clock ? step_at_locked_clock(context(), own)
                             : step_within_power(context(), own);
}

Seconds PlanProjector::step_at_least(const StepBound::Enough& enough) {
  StepTimer& own = timer();
  if (site_->locked_clock) {
    return StepBound::at_locked_clock(own.least_at(*site_->locked_clock));
  }
  return bound_.within_power(
      site_->cluster, [&own](std::int64_t index) { return own.least(index); }, enough);
}

ModelFloor& PlanProjector::floor() {
  if (!has_floor_) {
    floor_.take(context());
    has_floor_ = true;
  }
  return floor_;
}

Seconds PlanProjector::floor_of_step(const StepBound::Enough& enough) {
  ModelFloor& own = floor();
  if (site_->locked_clock) {
    return StepBound::at_locked_clock(own.step(*site_->locked_clock));
  }
  const auto at = [&own, this](std::int64_t index) {
    return own.step(StepTimer::grid_clock(site_->cluster.device, index));
  };
  return floor_bound_.within_power(site_->cluster, at, enough);
}

Bytes PlanProjector::floor_of_memory() { return floor().memory(); }

void PlanProjector::begin_bounds_anew() { bound_ = floor_bound_ = StepBound(); }

StepRates PlanProjector::rates(Seconds step) {
  if (training_->sequence_length != sequence_length_ || training_->weights != weights_) {
    sequence_length_ = training_->sequence_length;
    weights_ = training_->weights;
    flops_per_token_ = training_flops_per_token(site_->model, sequence_length_, weights_);
  }
  const auto tokens = static_cast<double>(training_->global_batch_size) *
                      static_cast<double>(training_->sequence_length);
  const double tokens_per_gpu = tokens / static_cast<double>(site_->cluster.gpus());
  const DeviceSpec& device = site_->cluster.device;
  StepRates rates;
  rates.tokens_per_second_per_gpu = tokens_per_gpu / step.value();
  rates.flops_per_token = flops_per_token_;
  rates.model_rate_per_gpu = tokens_per_gpu * flops_per_token_ / step;
  rates.peak_rate =
      device.matrix_peak(training_->dtype, device.clock.rated).value_or(FlopsPerSecond{});
  rates.mfu = rates.peak_rate > FlopsPerSecond{} ? rates.model_rate_per_gpu / rates.peak_rate : 0.0;
  return rates;
}

}  // namespace stepcast
