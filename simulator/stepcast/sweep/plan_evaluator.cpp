// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_evaluator.hpp"

#include "stepcast/cost/price_cache.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/parallel/feasibility.hpp"
#include "stepcast/sweep/counted_reason.hpp"

namespace stepcast {
namespace {

PlanNumbers numbers_of(std::int64_t index, const Projection& p) {
  return {.plan = index,
          .tokens_per_second_per_gpu = p.tokens_per_second_per_gpu,
          .step = p.time.step,
          .model_rate_per_gpu = p.model_rate_per_gpu,
          .mfu = p.mfu,
          .peak_memory = p.peak_memory(),
          .clock = p.clock,
          .power = p.power,
          .time = p.time.breakdown};
}

std::string constraint_reason(const PlanConstraint& constraint) {
  return "constraint '" + constraint.text + "'";
}

}  // namespace

PlanEvaluator::PlanEvaluator(const SweepSpace& space, const std::vector<CostModel>& costs)
    : space_(&space), costs_(costs), constraints_(space.constraints()), same_(space) {
  STEPCAST_CHECK(costs.size() == space.sites().size(), "each site needs its cost model");
}

void PlanEvaluator::enter_site(std::size_t site) {
  if (site_ == site) {
    return;
  }
  site_ = site;
  // Kept prices name the cluster, so it stays where it is until they are dropped.
  kept_ = {};
  experiment_ = std::make_unique<Experiment>(space_->sites()[site]);
  kept_ = with_kept_prices(costs_[site], experiment_->cluster);
  constraints_.set_site(*experiment_);
}

std::string PlanEvaluator::evaluate_one(std::int64_t index, std::vector<PlanNumbers>& priced) {
  space_->request(index, request_);
  enter_site(request_.site);
  Experiment& site = *experiment_;
  constraints_.set_request(request_.plan, request_.training);
  // Without a plan in the file its degrees are chosen when it is settled.
  if (request_.plan.given) {
    if (const PlanConstraint* broken = constraints_.broken(false)) {
      return constraint_reason(*broken);
    }
  }
  const ResolvedPlan resolved = resolve_plan(request_.plan, site.model, request_.training,
                                             site.cluster, site.software.exchange);
  if (!resolved.reasons.empty()) {
    return counted_reason(resolved.reasons.front());
  }
  constraints_.set_plan(resolved.plan);
  for (const bool needs_plan : {false, true}) {
    if (const PlanConstraint* broken = constraints_.broken(needs_plan)) {
      return constraint_reason(*broken);
    }
  }
  if (same_.repeats(index, resolved.plan)) {
    return std::string(kSamePlan);
  }
  const ExpansionContext expansion{site.model, resolved.plan, request_.training, site.software};
  if (!memory_reasons(memory_by_stage(expansion), site.cluster.device).empty()) {
    return std::string(kDoesNotFit);
  }
  site.plan = request_.plan;
  site.training = request_.training;
  priced.push_back(numbers_of(index, project(site, kept_)));
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
