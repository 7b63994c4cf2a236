// SPDX-License-Identifier: Apache-2.0
// Plan after plan of one site (model, software, cluster and clock): memory, step and rates, with
// what plans have in common solved once.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/schedule/model_floor.hpp"
#include "stepcast/schedule/solved_steps.hpp"
#include "stepcast/schedule/step_bound.hpp"
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
  PlanProjector(const Experiment& site, const CostModel& cost,
                std::shared_ptr<SolvedPipelines> pipelines = std::make_shared<SolvedPipelines>());

  // The plan that what follows is about; both must stay until the next one is taken.
  void take(const ParallelPlan& plan, const TrainingRecipe& training);
  // Of every pipeline rank, with verdicts.
  std::vector<StageMemory> memory();
  // The same if the plan is sure to fit; else nothing, which is sooner known than all of it. Where
  // a rank holds as much as `too_much` the ranks behind it may be left out.
  std::optional<std::vector<StageMemory>> memory_if_sure(
      std::optional<Bytes> too_much = std::nullopt);
  StepAtClock step();
  // A step time that the plan cannot beat; a better one is looked for until `enough` says so.
  Seconds step_at_least(const StepBound::Enough& enough);
  // The same from the work of single layers, and memory that its fullest rank needs: known long
  // before the rest.
  Seconds floor_of_step(const StepBound::Enough& enough);
  Bytes floor_of_memory();
  // A bound looks for its clock from the one that was best for the plan before; from here on it
  // forgets the plans so far, so that what follows is the same whatever came before.
  void begin_bounds_anew();
  StepRates rates(Seconds step);

  // The cost model at whose prices steps run: every kernel at its own clock where it has one.
  [[nodiscard]] const CostModel& paced() const { return paced_; }

 private:
  [[nodiscard]] ExpansionContext expansion() const {
    return {site_->model, *plan_, *training_, site_->software};
  }

  // Of the plan at hand; its bound and its step share the timer.
  [[nodiscard]] StepContext context() const;
  StepTimer& timer();
  const PlanOutline& outline();
  ModelFloor& floor();

  const Experiment* site_;
  CostModel paced_;
  std::shared_ptr<LayerWorks> works_ = std::make_shared<LayerWorks>();
  SolvedSteps solved_;
  // Of the plan at hand, each worked out when it is first asked for.
  std::optional<PlanOutline> outline_;
  std::optional<ExpansionContext> expanded_;
  std::optional<StepTimer> timer_;
  bool has_floor_ = false;
  ModelFloor floor_{works_};
  StepBound bound_;
  StepBound floor_bound_;
  const ParallelPlan* plan_ = nullptr;
  const TrainingRecipe* training_ = nullptr;
  std::int64_t sequence_length_ = 0;  // that flops_per_token_ is of
  TrainedWeights weights_;            // likewise
  Flops flops_per_token_;
};

}  // namespace stepcast
