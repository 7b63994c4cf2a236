// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/nearest_fit.hpp"

#include <algorithm>
#include <array>

#include "stepcast/experiment/plan_projector.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

// One key with another value.
struct Change {
  std::string key;
  std::string value;
  PlanRequest plan;
  TrainingRecipe training;
};

constexpr std::array<std::int64_t, 4> kFactors = {2, 4, 8, 16};

class FitSearch {
 public:
  FitSearch(const Experiment& experiment, const CostModel& cost)
      : experiment_(experiment), projector_(experiment, cost) {}

  FittingPlan nearest() {
    const ParallelPlan plan = settled(experiment_.plan, experiment_.training).plan;
    PlanRequest request = experiment_.plan;
    if (!request.given) {  // as it was chosen
      request.given = true;
      request.tp = plan.tp;
      request.pp = plan.pp;
      request.ep = plan.ep;
      request.zero = plan.zero;
    }
    const std::vector<Change> singles = changes_of(request, experiment_.training, plan);
    for (const Change& change : singles) {
      look_at(change, {{change.key, change.value}});
    }
    if (!best_) {
      for (const Change& first : singles) {
        look_at_pairs(first, plan);
      }
    }
    return best_.value_or(FittingPlan{});
  }

 private:
  [[nodiscard]] ResolvedPlan settled(const PlanRequest& request,
                                     const TrainingRecipe& training) const {
    return settle_plan(request, experiment_.model, training, experiment_.cluster,
                       experiment_.software);
  }

  void look_at_pairs(const Change& first, const ParallelPlan& plan) {
    for (const Change& second : changes_of(first.plan, first.training, plan)) {
      if (second.key > first.key) {
        look_at(second, {{first.key, first.value}, {second.key, second.value}});
      }
    }
  }

  [[nodiscard]] static std::vector<Change> changes_of(const PlanRequest& request,
                                                      const TrainingRecipe& training,
                                                      const ParallelPlan& plan) {
    std::vector<Change> changes;
    const auto add = [&](const std::string& key, const std::string& value) -> Change& {
      return changes.emplace_back(Change{key, value, request, training});
    };
    for (const RecomputeKind kind : {RecomputeKind::kSelective, RecomputeKind::kFull}) {
      if (kind > training.recompute.kind) {
        Change& change = add("training.recompute", std::string(name(kind)));
        change.training.recompute = RecomputeSpec{};
        change.training.recompute.kind = kind;
      }
    }
    for (std::int64_t zero = plan.zero + 1; zero <= 3; ++zero) {
      Change& change = add("plan.zero", std::to_string(zero));
      change.plan.zero = zero;
      change.plan.fsdp.reset();
    }
    for (const std::int64_t factor : kFactors) {
      add("plan.tp", std::to_string(plan.tp * factor)).plan.tp = plan.tp * factor;
      add("plan.pp", std::to_string(plan.pp * factor)).plan.pp = plan.pp * factor;
      if (training.micro_batch_size % factor == 0) {
        const std::int64_t fewer = training.micro_batch_size / factor;
        add("training.micro_batch_size", std::to_string(fewer)).training.micro_batch_size = fewer;
      }
    }
    return changes;
  }

  void look_at(const Change& change, std::vector<std::pair<std::string, std::string>> changes) {
    const ResolvedPlan candidate = settled(change.plan, change.training);
    if (!candidate.reasons.empty()) {
      return;
    }
    projector_.take(candidate.plan, change.training);
    const std::optional<std::vector<StageMemory>> memory = projector_.memory_if_it_fits();
    if (!memory) {
      return;
    }
    const StepAtClock step = projector_.step();
    const double rate = projector_.rates(step.time.step).tokens_per_second_per_gpu;
    if (step.keeps_limit && (!best_ || rate > best_->tokens_per_second_per_gpu)) {
      const auto fullest = std::ranges::max_element(*memory, {}, &StageMemory::total);
      best_ = {std::move(changes), rate, fullest->total()};
    }
  }

  const Experiment& experiment_;
  PlanProjector projector_;
  std::optional<FittingPlan> best_;
};

}  // namespace

std::optional<FittingPlan> nearest_fit(const Projection& projection, const Experiment& experiment,
                                       const CostModel& cost) {
  if (!projection.priced || !projection.keeps_power_limit || fits(projection.memory)) {
    return std::nullopt;
  }
  return FitSearch(experiment, cost).nearest();
}

}  // namespace stepcast
