// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/plan_projector.hpp"

#include "stepcast/cost/power_level.hpp"
#include "stepcast/graph/model_flops.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {

PlanProjector::PlanProjector(const Experiment& site, const CostModel& cost)
    : site_(&site), paced_(site.locked_clock ? cost : within_level(cost)) {}

void PlanProjector::take(const ParallelPlan& plan, const TrainingRecipe& training) {
  plan_ = &plan;
  training_ = &training;
  outline_ = solved_.outline(expansion());
}

std::vector<StageMemory> PlanProjector::memory() {
  std::vector<StageMemory> stages = solved_.memory(outline_, expansion());
  judge_memory(stages, site_->cluster.device);
  return stages;
}

std::optional<std::vector<StageMemory>> PlanProjector::memory_if_it_fits() {
  const DeviceSpec& device = site_->cluster.device;
  std::vector<StageMemory> stages = solved_.memory(outline_, expansion(), device.hbm.capacity);
  judge_memory(stages, device);
  return fits(stages) ? std::optional(std::move(stages)) : std::nullopt;
}

StepAtClock PlanProjector::step() {
  const ExpansionContext own = expansion();
  const StepContext context{own, site_->cluster, paced_, site_->locked_clock.value_or(Hertz{})};
  StepTimer timer(context, solved_, outline_);
  return site_->locked_clock ? step_at_locked_clock(context, timer)
                             : step_within_power(context, timer);
}

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
