// SPDX-License-Identifier: Apache-2.0
// The call of the public header that has an experiment on more and more GPUs.
#include <nlohmann/json.hpp>

#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/column_set.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/deciding_defaults.hpp"
#include "stepcast/experiment/scaling.hpp"
#include "stepcast/experiment/varied_run.hpp"
#include "stepcast/report/scaling_report.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {
namespace {

// Doubled from the first to the last, which is there whether or not doubling meets it.
std::vector<std::int64_t> sizes_of(const ScalingSettings& settings) {
  Diagnostics diagnostics;
  check_threads(settings.threads, diagnostics);
  if (settings.from < 1) {
    diagnostics.error({"from", 0, 0}, "must be a number of GPUs, 1 at least");
  } else if (settings.to < settings.from) {
    diagnostics.error({"to", 0, 0}, "is less than the " + std::to_string(settings.from) +
                                        " GPUs to begin with; give more");
  }
  diagnostics.throw_if_any();
  std::vector<std::int64_t> sizes;
  for (std::int64_t gpus = settings.from; gpus < settings.to; gpus *= 2) {
    sizes.push_back(gpus);
  }
  sizes.push_back(settings.to);
  return sizes;
}

Scaling scaling_of(const ScalingSettings& settings) {
  return settings.strong ? Scaling::kStrong : Scaling::kWeak;
}

bool states_size(const ConfigNode& root) {
  const ConfigNode* cluster = root.find("cluster");
  return cluster != nullptr &&
         (cluster->find("nodes") != nullptr || cluster->find("gpus") != nullptr);
}

// The experiment at the size that it states, or else at the first one.
ExperimentSource at_own_size(const ExperimentSource& source, const ScalingSettings& settings,
                             const DataRoot& data) {
  return states_size(tree_of(source, data).root)
             ? source
             : source.with("cluster.gpus", std::to_string(settings.from));
}

ScaledSize scaled_size(const Experiment& experiment, const CostModel& cost, Projection projection,
                       ScalingLoss& loss, const DataRoot& data) {
  // What is assumed at one size is assumed at all of them.
  if (loss.empty() && projection.priced) {
    if (std::string note = note_of(deciding_defaults(experiment, projection, cost, data));
        !note.empty()) {
      projection.notes.insert(projection.notes.begin(), std::move(note));
    }
  }
  ScaledSize size{std::move(projection)};
  loss.add(experiment, cost, size);
  return size;
}

// Each size with the plan of the experiment, whose data parallelism follows from the GPUs.
ScalingCurve with_one_plan(const ExperimentSource& source, const ScalingSettings& settings,
                           const DataRoot& data) {
  const ExperimentTree tree = tree_of(at_own_size(source, settings, data), data);
  const Job job = job_of(tree, data);
  const std::vector<HeldOutRun> known = load_accuracy(data);
  ProfileCache profiles(data);
  const VariedRun run(tree, job.experiment, profiles, job.cost);
  ScalingCurve curve{scaling_of(settings), {}};
  ScalingLoss loss;
  for (const std::int64_t gpus : sizes_of(settings)) {
    Variant variant = run.variant(settings_at(job.experiment, gpus, scaling_of(settings)));
    variant.projection.expected_error = expected_error(known, variant.experiment);
    curve.sizes.push_back(
        scaled_size(variant.experiment, job.cost, std::move(variant.projection), loss, data));
  }
  return curve;
}

// Each size with the best of all plans.
ScalingCurve with_best_plans(const ExperimentSource& source, const ScalingSettings& settings,
                             const DataRoot& data) {
  const ExperimentSource own = at_own_size(source, settings, data);
  const Experiment base = experiment_of(own, data);
  std::vector<ColumnSource> sources;
  for (const std::int64_t gpus : sizes_of(settings)) {
    ColumnSource column{own, {{"gpus", std::to_string(gpus)}}};
    // What the experiment itself says was checked above, and is set otherwise here.
    column.experiment.settings_must_agree = false;
    for (const auto& [key, value] : size_at(base, gpus, scaling_of(settings))) {
      column.experiment = column.experiment.with(key, value);
    }
    sources.push_back(std::move(column));
  }
  CompareSettings search;
  search.best_plan = true;
  search.threads = settings.threads;
  search.at = settings.at;
  const ColumnSet set(sources, search, data);
  ScalingCurve curve{scaling_of(settings), {}};
  ScalingLoss loss;
  for (std::size_t i = 0; i < set.columns().size(); ++i) {
    const ComparedColumn& column = set.columns()[i];
    ScaledSize& size = curve.sizes.emplace_back(
        scaled_size(set.experiments()[i], set.costs()[i], column.projection, loss, data));
    size.searched = column.searched;
  }
  return curve;
}

}  // namespace

Report Simulator::scaling_report(const ExperimentSource& experiment,
                                 const ScalingSettings& settings, const ReportForm& form) const {
  return answer_of([&] {
    const DataRoot data{data_};
    const ScalingCurve curve = settings.best_plan ? with_best_plans(experiment, settings, data)
                                                  : with_one_plan(experiment, settings, data);
    const Projection& last = curve.sizes.back().projection;
    return report_of(
        form,
        {any_feasible(curve), [&] { return to_text(curve); }, [&] { return to_json(curve); },
         [&] { return to_csv(curve); }},
        {PageKind::kScaling, last.model + " on " + std::to_string(settings.from) + " to " +
                                 std::to_string(settings.to) + " x " + last.gpu});
  });
}

}  // namespace stepcast
