// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/timed_runs.hpp"

#include <tbb/parallel_for.h>
#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <map>
#include <tuple>

#include "stepcast/base/quantile.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/plan/plan_text.hpp"

namespace stepcast {
namespace {

// Tokens/s/GPU of a run; zero where it states none that can be trusted.
double measured_rate(const MeasuredRun& run) {
  if (!run.experiment || !run.skipped.empty()) {
    return 0.0;
  }
  const TrainingRecipe& training = run.experiment->training;
  for (const MeasuredQuantity& quantity : run.quantities) {
    if (!quantity.skipped.empty() || !(quantity.value > 0.0)) {
      continue;
    }
    if (quantity.metric == Metric::kTokenRate) {
      return quantity.value;
    }
    if (quantity.metric == Metric::kStepTime) {
      return static_cast<double>(training.global_batch_size * training.sequence_length) /
             static_cast<double>(run.experiment->cluster.gpus()) / quantity.value;
    }
  }
  return 0.0;
}

// --- the best plan ------------------------------------------------------------------------------

// The size, the name, the part, the nodes, the batch in sequences, the state of the network.
using Work = std::tuple<double, std::string, std::string, std::int64_t, std::int64_t, std::int64_t,
                        std::string>;

Work work_of(const TimedRun& run, RegretScope scope) {
  const Projection& p = run.projection;
  return {p.parameters,
          p.model,
          p.gpu,
          p.nodes,
          p.training.sequence_length,
          p.training.global_batch_size,
          scope == RegretScope::kWorkAndNetwork ? run.network : std::string()};
}

// --- another GPU --------------------------------------------------------------------------------

// Names of one model differ between sources, its number of parameters does not.
std::string work_text(const Projection& p) {
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

std::vector<Projection> projections_of(const std::vector<const Experiment*>& experiments,
                                       const CostModel& cost) {
  std::vector<Projection> projections(experiments.size());
  std::vector<std::exception_ptr> faults(experiments.size());
  tbb::parallel_for(std::size_t{0}, experiments.size(), [&](std::size_t i) {
    if (experiments[i] == nullptr) {
      return;
    }
    try {
      projections[i] = project(*experiments[i], cost);
    } catch (...) {
      faults[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& fault : faults) {
    if (fault) {
      std::rethrow_exception(fault);
    }
  }
  return projections;
}

std::vector<TimedRun> timed_runs(const std::vector<std::filesystem::path>& files,
                                 const DataRoot& data, const CostModel& cost,
                                 const Importers& importers) {
  ProfileCache profiles(data);
  std::vector<MeasuredRun> runs;
  std::vector<TimedRun> timed;
  for (const std::filesystem::path& file : files) {
    for (MeasuredRun& run : measured_runs(file, importers, profiles)) {
      if (const double rate = measured_rate(run); rate > 0.0) {
        TimedRun& added = timed.emplace_back();
        added.id = run.id;
        added.measured = rate;
        added.network = run.network;
        runs.push_back(std::move(run));
      }
    }
  }
  std::vector<const Experiment*> experiments;
  experiments.reserve(runs.size());
  for (const MeasuredRun& run : runs) {
    experiments.push_back(&*run.experiment);
  }
  std::vector<Projection> projections = projections_of(experiments, cost);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    timed[i].projection = std::move(projections[i]);
  }
  std::erase_if(timed, [](const TimedRun& run) { return !run.projection.priced; });
  return timed;
}

RegretSummary summary_of(const std::vector<RegretGroup>& groups) {
  std::vector<double> kept;
  RegretSummary summary;
  for (const RegretGroup& group : groups) {
    kept.push_back(group.kept());
    summary.random += group.random() / static_cast<double>(groups.size());
  }
  if (kept.empty()) {
    return summary;
  }
  std::ranges::sort(kept);
  summary.mean = sum_over(kept) / static_cast<double>(kept.size());
  summary.median = median(kept);
  summary.worst = kept.front();
  return summary;
}

std::vector<RegretGroup> plan_regret(const std::vector<TimedRun>& runs, RegretScope scope) {
  std::map<Work, RegretGroup> by_work;
  for (const TimedRun& run : runs) {
    RegretGroup& group = by_work[work_of(run, scope)];
    group.model = run.projection.model;
    group.gpu = run.projection.gpu;
    group.nodes = run.projection.nodes;
    group.network = scope == RegretScope::kWorkAndNetwork ? run.network : "";
    group.runs.push_back(&run);
    // The first of equals.
    if (group.pick == nullptr || run.predicted() > group.pick->predicted()) {
      group.pick = &run;
    }
    if (group.best == nullptr || run.measured > group.best->measured) {
      group.best = &run;
    }
  }
  std::vector<RegretGroup> groups;
  for (auto& [work, group] : by_work) {
    if (group.runs.size() >= kLeastPlans) {
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

std::vector<SkuPair> sku_pairs(const std::vector<TimedRun>& runs) {
  std::map<std::string, std::map<std::string, Rates>> by_work;
  for (const TimedRun& run : runs) {
    Rates& rates = by_work[work_text(run.projection)][run.projection.gpu];
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
  std::vector<double> errors;
  std::ranges::transform(pairs, std::back_inserter(errors),
                         [](const SkuPair& pair) { return std::abs(pair.error()); });
  return errors.empty() ? 0.0 : median(errors);
}

}  // namespace stepcast
