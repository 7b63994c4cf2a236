// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/sku_ratios.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "stepcast/base/quantile.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/plan/plan_text.hpp"

namespace stepcast {
namespace {

// Names of one model differ between sources, its number of parameters does not.
std::string work_of(const Projection& p) {
  const ParallelPlan& plan = p.plan;
  std::string text = significant(p.parameters / 1e9, 4) + " B parameters on " +
                     std::to_string(p.gpus) + " GPUs, " + training_text(p.training);
  for (const PlanKey& key : printed_plan_keys(Printed::kBeforeExchange)) {
    const std::int64_t degree = key.is_degree ? std::get<std::int64_t>(key.settled(plan)) : 1;
    text += degree > 1 ? ", " + std::string(key.name) + " " + std::to_string(degree) : "";
  }
  text += ", zero " + std::to_string(plan.zero);
  return plan.pp > 1 ? text + ", " + std::string(name(plan.schedule)) : text;
}

struct Rates {
  std::string software;
  std::vector<std::string> ids;
  std::vector<double> measured;
  std::vector<double> predicted;
};

SkuRate rate_of(const std::string& gpu, const Rates& rates) {
  return {gpu, rates.software, rates.ids, median(rates.measured), median(rates.predicted)};
}

}  // namespace

std::vector<SkuPair> sku_pairs(const std::vector<TimedRun>& runs) {
  std::map<std::string, std::map<std::string, Rates>> by_work;
  for (const TimedRun& run : runs) {
    Rates& rates = by_work[work_of(run.projection)][run.projection.gpu];
    rates.software = rates.ids.empty() ? run.projection.software : rates.software;
    rates.ids.push_back(run.id);
    rates.measured.push_back(run.measured);
    rates.predicted.push_back(run.predicted());
  }
  std::vector<SkuPair> pairs;
  for (const auto& [work, gpus] : by_work) {
    for (auto first = gpus.begin(); first != gpus.end(); ++first) {
      for (auto second = std::next(first); second != gpus.end(); ++second) {
        pairs.push_back(
            {work, rate_of(first->first, first->second), rate_of(second->first, second->second)});
      }
    }
  }
  return pairs;
}

double median_error(const std::vector<SkuPair>& pairs) {
  std::vector<double> errors(pairs.size());
  std::transform(pairs.begin(), pairs.end(), errors.begin(),
                 [](const SkuPair& pair) { return std::abs(pair.error()); });
  return errors.empty() ? 0.0 : median(errors);
}

}  // namespace stepcast
