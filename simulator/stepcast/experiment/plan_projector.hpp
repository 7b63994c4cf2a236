// SPDX-License-Identifier: Apache-2.0
// Plan after plan of one site (model, software, cluster and clock): memory, step and rates, with
// what plans have in common solved once.
#pragma once

#include <optional>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/schedule/solved_steps.hpp"
#include "stepcast/schedule/step_clock.hpp"

namespace stepcast {

// What a step of a plan is worth.
struct StepRates {
  double tokens_per_second_per_gpu = 0.0;
  Flops flops_per_token;
  FlopsPerSecond model_rate_per_gpu;
  FlopsPerSecond peak_rate;  // dense, of the training dtype, at the rated clock
  double mfu = 0.0;
};

// For one thread. The plans that came before change no number.
class PlanProjector {
 public:
  // The plan and the recipe of `site` do not matter; it and `cost` must outlive this.
  PlanProjector(const Experiment& site, const CostModel& cost);

  // The plan that what follows is about; both must stay until the next one is taken.
  void take(const ParallelPlan& plan, const TrainingRecipe& training);
  // Of every pipeline rank, with verdicts.
  std::vector<StageMemory> memory();
  // The same if the plan fits; else nothing, which is sooner known than all of it.
  std::optional<std::vector<StageMemory>> memory_if_it_fits();
  StepAtClock step();
  StepRates rates(Seconds step);

  // The cost model at whose prices steps run: every kernel at its own clock where it has one.
  [[nodiscard]] const CostModel& paced() const { return paced_; }

 private:
  [[nodiscard]] ExpansionContext expansion() const {
    return {site_->model, *plan_, *training_, site_->software};
  }

  const Experiment* site_;
  CostModel paced_;
  SolvedSteps solved_;
  PlanOutline outline_;
  const ParallelPlan* plan_ = nullptr;
  const TrainingRecipe* training_ = nullptr;
  std::int64_t sequence_length_ = 0;  // that flops_per_token_ is of
  TrainedWeights weights_;            // likewise
  Flops flops_per_token_;
};

}  // namespace stepcast
