// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/timed_runs.hpp"

#include <tbb/parallel_for.h>

#include <exception>

#include "stepcast/experiment/project.hpp"

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

}  // namespace stepcast
