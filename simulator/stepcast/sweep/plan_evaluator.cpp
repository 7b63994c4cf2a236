// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_evaluator.hpp"

#include <algorithm>
#include <iterator>

#include "stepcast/cost/price_cache.hpp"
#include "stepcast/memory/running_odds.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

// Sites whose work is kept: a search hops over the dispatchers that a software set offers, of which
// no set has more.
constexpr std::size_t kMostMet = 4;

Bytes peak_of(const std::vector<StageMemory>& stages) {
  return std::ranges::max_element(stages, {}, &StageMemory::total)->total();
}

PlanNumbers numbers_of(std::int64_t index, const std::vector<StageMemory>& memory,
                       const StepAtClock& step, const StepRates& rates) {
  return {.plan = index,
          .tokens_per_second_per_gpu = rates.tokens_per_second_per_gpu,
          .step = step.time.step,
          .model_rate_per_gpu = rates.model_rate_per_gpu,
          .mfu = rates.mfu,
          .peak_memory = peak_of(memory),
          .clock = step.clock,
          .power = step.power,
          .time = step.time.breakdown};
}

std::string constraint_reason(const PlanConstraint& constraint) {
  return "constraint '" + constraint.text + "'";
}

}  // namespace

PlanEvaluator::PlanEvaluator(const SweepSpace& space, std::vector<CostModel> costs,
                             std::shared_ptr<SolvedPipelines> pipelines)
    : space_(&space),
      costs_(std::move(costs)),
      constraints_(space.constraints()),
      same_(space),
      pipelines_(std::move(pipelines)),
      places_(space) {
  STEPCAST_CHECK(costs_.size() == space.sites().size(), "each site needs its cost model");
}

void PlanEvaluator::enter_site(std::size_t site) {
  if (!met_.empty() && met_.back().site == site) {
    return;
  }
  const auto met = std::ranges::find(met_, site, &MetSite::site);
  if (met != met_.end()) {
    std::rotate(met, std::next(met), met_.end());
  } else {
    if (met_.size() == kMostMet) {
      met_.erase(met_.begin());
    }
    MetSite fresh{site, std::make_unique<Experiment>(space_->sites()[site]), nullptr,
                  DegreeRefusals(places_)};
    // Kept prices name the cluster, which stays where it is as long as they do.
    const CostModel kept = with_kept_prices(costs_[site], fresh.experiment->cluster);
    fresh.projector = std::make_unique<PlanProjector>(*fresh.experiment, kept, pipelines_);
    met_.push_back(std::move(fresh));
  }
  experiment_ = met_.back().experiment.get();
  projector_ = met_.back().projector.get();
  constraints_.set_site(*experiment_);
}

std::string PlanEvaluator::reason_against(std::int64_t index) {
  space_->request(index, request_);
  enter_site(request_.site);
  const Experiment& site = *experiment_;
  constraints_.set_request(request_.plan, request_.training);
  // Without a plan in the file its degrees are chosen when it is settled.
  if (request_.plan.given) {
    if (const PlanConstraint* broken = constraints_.broken(ConstraintScope::kRequest)) {
      return constraint_reason(*broken);
    }
  }
  resolved_ = settle_plan(request_.plan, site.model, request_.training, site.cluster, site.software,
                          Wanted::kFirstReasons);
  if (!resolved_.reasons.empty()) {
    keep_rule(index);
    return resolved_.reasons.front().rule();
  }
  constraints_.set_plan(resolved_.plan);
  for (const ConstraintScope scope : {ConstraintScope::kRequest, ConstraintScope::kSettledPlan}) {
    if (const PlanConstraint* broken = constraints_.broken(scope)) {
      return constraint_reason(*broken);
    }
  }
  return same_.repeats(index, resolved_.plan) ? std::string(kSamePlan) : std::string();
}

// Constraints on what is asked for come before the degrees, and a missing plan has none.
int PlanEvaluator::known_rule(std::int64_t index) {
  if (rules_.empty() || constraints_.any(ConstraintScope::kRequest)) {
    return -1;
  }
  enter_site(space_->site_of(index));
  return met_.back().refusals.of(index);
}

void PlanEvaluator::keep_rule(std::int64_t index) {
  constexpr std::size_t kMostRules = 100;
  if (!resolved_.refused_by_degrees || !request_.plan.given) {
    return;
  }
  const std::string& rule = resolved_.reasons.front().rule();
  auto known = std::ranges::find(rules_, rule);
  if (known == rules_.end()) {
    if (rules_.size() == kMostRules) {
      return;
    }
    known = rules_.insert(rules_.end(), rule);
  }
  met_.back().refusals.keep(index, static_cast<int>(known - rules_.begin()));
}

PlanNumbers PlanEvaluator::at_best(Seconds step, Bytes peak) {
  const StepRates rates = projector_->rates(step);
  PlanNumbers numbers;
  numbers.tokens_per_second_per_gpu = rates.tokens_per_second_per_gpu;
  numbers.step = step;
  numbers.model_rate_per_gpu = rates.model_rate_per_gpu;
  numbers.mfu = rates.mfu;
  numbers.peak_memory = peak;
  return numbers;
}

PlanEvaluator::Verdict PlanEvaluator::judge_by_floors(const Incumbents& known,
                                                      std::optional<Bytes>& too_much) {
  const std::int64_t gpus = experiment_->cluster.gpus();
  const Bytes peak = projector_->floor_of_memory();
  const auto enough = [&](Seconds step) { return known.leave_out(at_best(step, peak), gpus); };
  const Seconds step = projector_->floor_of_step(enough);
  if (enough(step)) {
    return Verdict::kBoundedAway;
  }
  too_much = known.too_much_memory(at_best(step, peak), gpus);
  return Verdict::kOpen;
}

// Cheap bounds first: most plans that have no place are known by the work of single layers.
PlanEvaluator::Verdict PlanEvaluator::judge(const Incumbents* known,
                                            std::vector<StageMemory>& memory) {
  std::optional<Bytes> too_much;
  const HbmSpec& hbm = experiment_->cluster.device.hbm;
  if (projector_->floor_of_memory() > most_memory(hbm.capacity, hbm.sure)) {
    return Verdict::kDoesNotFit;
  }
  if (surely_broken() != nullptr) {
    return Verdict::kBreaksConstraint;
  }
  if (known != nullptr) {
    const Verdict verdict = judge_by_floors(*known, too_much);
    if (verdict != Verdict::kOpen) {
      return verdict;
    }
  }
  std::optional<std::vector<StageMemory>> fitting = projector_->memory_if_sure(too_much);
  if (!fitting) {
    return Verdict::kDoesNotFit;
  }
  memory = std::move(*fitting);
  if (known == nullptr) {
    return Verdict::kOpen;
  }
  const Bytes peak = peak_of(memory);
  const auto enough = [&](Seconds step) {
    return known->leave_out(at_best(step, peak), experiment_->cluster.gpus());
  };
  const bool held = too_much && peak >= *too_much;
  return held || enough(projector_->step_at_least(enough)) ? Verdict::kBoundedAway : Verdict::kOpen;
}

// At a clock that is not locked every step keeps its limit of power, for which no constraint need
// wait.
const PlanConstraint* PlanEvaluator::surely_broken() {
  if (!constraints_.limits_step() || experiment_->locked_clock) {
    return nullptr;
  }
  const auto breaks = [&](Seconds step) {
    const PlanNumbers best = at_best(step, Bytes{});
    constraints_.set_result({*experiment_, request_.training, best});
    return constraints_.surely_broken() != nullptr;
  };
  return breaks(projector_->floor_of_step(breaks)) ? constraints_.surely_broken() : nullptr;
}

void PlanEvaluator::evaluate_one(std::int64_t index, Incumbents* known, ChunkResult& result) {
  const std::string reason = reason_against(index);
  if (!reason.empty()) {
    ++result.refused[reason];
    return;
  }
  projector_->take(resolved_.plan, request_.training);
  std::vector<StageMemory> memory;
  switch (judge(known, memory)) {
    case Verdict::kDoesNotFit:
      ++result.refused[std::string(kRefusedByMemory)];
      return;
    case Verdict::kBoundedAway:
      ++result.bounded;
      return;
    case Verdict::kBreaksConstraint:
      ++result.refused[constraint_reason(*constraints_.surely_broken())];
      return;
    case Verdict::kOpen:
      break;
  }
  const StepAtClock step = projector_->step();
  if (!step.keeps_limit) {
    ++result.refused[std::string(kRefusedByPower)];
    return;
  }
  const PlanNumbers numbers = numbers_of(index, memory, step, projector_->rates(step.time.step));
  constraints_.set_result({*experiment_, request_.training, numbers});
  if (const PlanConstraint* broken = constraints_.broken(ConstraintScope::kResult)) {
    ++result.refused[constraint_reason(*broken)];
    return;
  }
  result.priced.push_back(numbers);
  if (known != nullptr) {
    known->add(numbers, experiment_->cluster.gpus());
  }
}

ChunkResult PlanEvaluator::evaluate(std::int64_t begin, std::int64_t end, Incumbents* known) {
  ChunkResult result;
  for (const MetSite& met : met_) {
    met.projector->begin_bounds_anew();
  }
  std::vector<std::int64_t> by_rule;
  for (std::int64_t index = begin; index < end; ++index) {
    if (const int rule = known_rule(index); rule >= 0) {
      by_rule.resize(rules_.size(), 0);
      ++by_rule[static_cast<std::size_t>(rule)];
    } else {
      evaluate_one(index, known, result);
    }
  }
  for (std::size_t rule = 0; rule < by_rule.size(); ++rule) {
    if (by_rule[rule] > 0) {
      result.refused[rules_[rule]] += by_rule[rule];
    }
  }
  return result;
}

std::string PlanEvaluator::reason_to_refuse(std::int64_t index) {
  ChunkResult alone;
  evaluate_one(index, nullptr, alone);
  return alone.refused.empty() ? "" : alone.refused.begin()->first;
}

std::vector<RefusedPlan> PlanEvaluator::refused(std::int64_t begin, std::int64_t end,
                                                const std::vector<PlanNumbers>& priced) {
  std::vector<RefusedPlan> refused;
  auto next = priced.begin();
  for (std::int64_t index = begin; index < end; ++index) {
    if (next != priced.end() && next->plan == index) {
      ++next;
    } else if (std::string reason = reason_to_refuse(index); !reason.empty()) {
      refused.push_back({index, std::move(reason)});
    }
  }
  return refused;
}

}  // namespace stepcast
