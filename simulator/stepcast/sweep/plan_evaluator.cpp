// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_evaluator.hpp"

#include "stepcast/cost/price_cache.hpp"
#include "stepcast/memory/feasibility.hpp"
#include "stepcast/sweep/counted_reason.hpp"

namespace stepcast {
namespace {

Bytes peak_of(const std::vector<StageMemory>& stages) {
  Bytes peak;
  for (const StageMemory& stage : stages) {
    peak = max(peak, stage.total());
  }
  return peak;
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

PlanEvaluator::PlanEvaluator(const SweepSpace& space, std::vector<CostModel> costs)
    : space_(&space), costs_(std::move(costs)), constraints_(space.constraints()), same_(space) {
  STEPCAST_CHECK(costs_.size() == space.sites().size(), "each site needs its cost model");
}

void PlanEvaluator::enter_site(std::size_t site) {
  if (site_ == site) {
    return;
  }
  site_ = site;
  // Kept prices name the cluster, so it stays where it is until they are dropped.
  projector_.reset();
  experiment_ = std::make_unique<Experiment>(space_->sites()[site]);
  projector_ = std::make_unique<PlanProjector>(
      *experiment_, with_kept_prices(costs_[site], experiment_->cluster));
  constraints_.set_site(*experiment_);
}

std::string PlanEvaluator::evaluate_one(std::int64_t index, std::vector<PlanNumbers>& priced) {
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
  const ResolvedPlan resolved = resolve_plan(request_.plan, site.model, request_.training,
                                             site.cluster, site.software.exchange);
  if (!resolved.reasons.empty()) {
    return counted_reason(resolved.reasons.front());
  }
  constraints_.set_plan(resolved.plan);
  for (const ConstraintScope scope : {ConstraintScope::kRequest, ConstraintScope::kSettledPlan}) {
    if (const PlanConstraint* broken = constraints_.broken(scope)) {
      return constraint_reason(*broken);
    }
  }
  if (same_.repeats(index, resolved.plan)) {
    return std::string(kSamePlan);
  }
  projector_->take(resolved.plan, request_.training);
  const std::optional<std::vector<StageMemory>> memory = projector_->memory_if_it_fits();
  if (!memory) {
    return std::string(kRefusedByMemory);
  }
  const StepAtClock step = projector_->step();
  priced.push_back(numbers_of(index, *memory, step, projector_->rates(step.time.step)));
  return {};
}

ChunkResult PlanEvaluator::evaluate(std::int64_t begin, std::int64_t end) {
  ChunkResult result;
  for (std::int64_t index = begin; index < end; ++index) {
    const std::string reason = evaluate_one(index, result.priced);
    if (!reason.empty()) {
      ++result.refused[reason];
    }
  }
  return result;
}

}  // namespace stepcast
