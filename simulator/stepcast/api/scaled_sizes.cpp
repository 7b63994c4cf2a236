// SPDX-License-Identifier: Apache-2.0
// The call of the public header that has an experiment on more and more GPUs.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/column_set.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/api/usual_batch.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/problem_set.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/deciding_defaults.hpp"
#include "stepcast/experiment/scaling.hpp"
#include "stepcast/experiment/varied_run.hpp"
#include "stepcast/plan/plan_text.hpp"
#include "stepcast/report/scaling_report.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {
namespace {

constexpr const char* kBatchKey = "training.global_batch_size";

// Doubled from the first to the last, which is there whether or not doubling meets it.
std::vector<std::int64_t> sizes_of(const ScalingSettings& settings) {
  Diagnostics diagnostics;
  check_threads(settings.threads, diagnostics);
  if (settings.threads > 0 && !settings.best_plan) {
    diagnostics.error({"threads", 0, 0}, "nothing is searched; add --best-plan");
  }
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

bool states_size(const ConfigNode& root) {
  const ConfigNode* cluster = root.find("cluster");
  return cluster != nullptr && std::ranges::any_of(std::array{"nodes", "gpus"}, [&](auto key) {
           const ConfigNode* value = cluster->find(key);
           return value != nullptr && value->kind != ConfigNode::Kind::kNull;
         });
}

ExperimentTree with_settings(ExperimentTree tree, const KeySettings& settings,
                             const std::string& place) {
  for (const auto& [key, value] : settings) {
    apply_override(tree.root, {key + "=" + value, place});
  }
  return tree;
}

ExperimentTree with_size(const ExperimentTree& tree, std::int64_t gpus) {
  return with_settings(tree, gpus_alone(gpus), size_place(gpus));
}

// Throws ConfigError with what is wrong at either end of the curve, each problem told under the
// setting that says the end.
template <typename Check>
void check_ends(const ScalingSettings& settings, const Check& check) {
  ProblemSet problems;
  std::vector<std::pair<std::string, std::int64_t>> ends = {{"from", settings.from}};
  if (settings.to != settings.from) {
    ends.emplace_back("to", settings.to);
  }
  for (const auto& [field, gpus] : ends) {
    try {
      check(gpus);
    } catch (const ConfigError& error) {
      for (Diagnostic problem : error.diagnostics()) {
        if (problem.where.file == size_place(gpus)) {
          problem.where = {field + " " + std::to_string(gpus), 0, 0};
        }
        problems.add(problem);
      }
    }
  }
  problems.throw_if_any();
}

// What a curve is made of.
struct CurveBase {
  ExperimentTree tree;  // at the size that it states, or else at the first one
  Experiment experiment;
  KeySet on_top;  // keys that settings on top of the experiment give
  Growth growth;
  bool batch_assumed = false;
};

bool assumes_batch(const Experiment& experiment) {
  const std::vector<std::string>& assumed = experiment.named.training_assumed;
  return std::ranges::find(assumed, "global_batch_size") != assumed.end();
}

// A batch that nobody gave: the usual one, which divides on the most GPUs, and so on half of them.
Override usual_batch_at(const ExperimentTree& tree, std::int64_t gpus, const DataRoot& data) {
  ExperimentTree largest =
      with_settings(with_size(tree, gpus), {{kBatchKey, "null"}}, size_place(gpus));
  fill_batch(largest, data);
  return assumed_batch(
      read_experiment(largest.root, largest.folder, data).training.global_batch_size);
}

// Ranks that share one copy of the parameters are more on more GPUs where the file states a size on
// which all of them do; what is given on top of it is kept.
Sharing sharing_of(const CurveBase& base, bool sized) {
  const auto given = [&base](const char* key) { return base.on_top.contains(key); };
  const bool of_file =
      sized && !given("plan.fsdp") && !given("cluster.nodes") && !given("cluster.gpus");
  return of_file && shares_all(base.experiment) ? Sharing::kGrows : Sharing::kStays;
}

CurveBase curve_base(const ExperimentSource& source, const ScalingSettings& settings,
                     const DataRoot& data) {
  CurveBase base{tree_of(source, data), {}, keys_on_top(source), {}};
  check_ends(settings, [&](std::int64_t gpus) {
    const ExperimentTree sized = with_size(base.tree, gpus);
    base.experiment = read_experiment(sized.root, sized.folder, data);
  });
  base.batch_assumed = assumes_batch(base.experiment);
  if (base.batch_assumed) {
    apply_override(base.tree.root, usual_batch_at(base.tree, settings.to, data));
  }
  const bool sized = states_size(base.tree.root);
  if (!sized) {
    base.tree = with_size(base.tree, settings.from);
  }
  base.experiment = read_experiment(base.tree.root, base.tree.folder, data);
  base.growth.sharing = sharing_of(base, sized);
  base.growth.scaling = settings.strong || base.batch_assumed || base.on_top.contains(kBatchKey)
                            ? Scaling::kStrong
                            : Scaling::kWeak;
  check_ends(settings, [&base](std::int64_t gpus) {
    (void)size_at(base.experiment, gpus, base.growth.scaling);
  });
  return base;
}

// What of the curve nobody reads from its sizes.
std::vector<std::string> notes_of(const CurveBase& base) {
  std::vector<std::string> notes;
  if (base.batch_assumed) {
    notes.push_back("no batch given: the usual one, " +
                    with_separators(base.experiment.training.global_batch_size) +
                    " sequences, stays at every size; the batch of an experiment file grows with "
                    "the GPUs, from those of the file on");
  }
  return notes;
}

std::string sharing_note(const CurveBase& base) {
  const std::string ranks = "fsdp " + with_separators(*base.experiment.plan.fsdp);
  return base.growth.sharing == Sharing::kGrows
             ? ranks +
                   " of the experiment grows with the GPUs: there all of them share one copy "
                   "of the parameters"
             : ranks + " stays at every size";
}

std::string assumed_plan_note(const Experiment& experiment) {
  const TrainingRecipe& training = experiment.training;
  return "no plan given: the fastest that a quick search found on " +
         with_separators(experiment.cluster.gpus()) + " GPUs is taken at every size, with " +
         "micro-batch " + with_separators(training.micro_batch_size) + " and recompute " +
         recompute_text(training.recompute) + "; --best-plan looks at all plans of each size";
}

ScaledSize scaled_size(const Experiment& experiment, const CostModel& cost, Projection projection,
                       ScalingLoss& loss, const DataRoot& data) {
  // What is assumed at one size is assumed at all of them.
  if (loss.empty() && projection.feasible()) {
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
  const std::vector<std::int64_t> sizes = sizes_of(settings);
  const CurveBase base = curve_base(source, settings, data);
  const Job job = job_of(base.tree, data);
  ScalingCurve curve{base.growth.scaling, {}, notes_of(base)};
  if (job.experiment.named.plan_assumed) {
    curve.notes.push_back(assumed_plan_note(job.experiment));
  } else if (base.experiment.plan.fsdp) {
    curve.notes.push_back(sharing_note(base));
  }
  const std::vector<HeldOutRun> known = load_accuracy(data);
  ProfileCache profiles(data);
  const VariedRun run(base.tree, job.experiment, profiles, job.cost);
  ScalingLoss loss;
  for (const std::int64_t gpus : sizes) {
    try {
      Variant variant = run.variant(settings_at(job.experiment, gpus, base.growth));
      variant.projection.expected_error = expected_error(known, variant.experiment);
      curve.sizes.push_back(
          scaled_size(variant.experiment, job.cost, std::move(variant.projection), loss, data));
    } catch (const ConfigError& error) {
      curve.sizes.push_back(refused_size(base.experiment, gpus, error));
    }
  }
  return curve;
}

// The experiment at a size, whose plan is to be searched. Throws ConfigError where it has none.
ColumnSource column_at(const ExperimentSource& source, const CurveBase& base, std::int64_t gpus,
                       const DataRoot& data) {
  const KeySettings size = size_at(base.experiment, gpus, base.growth.scaling);
  const ExperimentTree tree = with_settings(base.tree, size, size_place(gpus));
  (void)read_experiment(tree.root, tree.folder, data);
  ColumnSource column{source, {{"gpus", std::to_string(gpus)}}};
  // What the experiment itself says was checked above, and is set otherwise here.
  column.experiment.settings_must_agree = false;
  for (const auto& [key, value] : size) {
    column.experiment = column.experiment.with(key, value);
  }
  if (base.batch_assumed) {
    const Override batch = assumed_batch(base.experiment.training.global_batch_size);
    column.experiment.settings.emplace_back(batch.assignment, batch.place);
  }
  return column;
}

// Each size with the best of all plans.
ScalingCurve with_best_plans(const ExperimentSource& source, const ScalingSettings& settings,
                             const DataRoot& data) {
  const std::vector<std::int64_t> sizes = sizes_of(settings);
  const CurveBase base = curve_base(source, settings, data);
  ScalingCurve curve{base.growth.scaling, {}, notes_of(base)};
  if (base.on_top.contains("plan.fsdp")) {
    curve.notes.push_back(sharing_note(base));
  }
  std::vector<ColumnSource> sources;
  std::vector<std::size_t> places;  // of the sizes that have a column
  for (const std::int64_t gpus : sizes) {
    ScaledSize& size = curve.sizes.emplace_back();
    try {
      sources.push_back(column_at(source, base, gpus, data));
      places.push_back(curve.sizes.size() - 1);
    } catch (const ConfigError& error) {
      size = refused_size(base.experiment, gpus, error);
    }
  }
  CompareSettings search;
  search.best_plan = true;
  search.threads = settings.threads;
  search.at = settings.at;
  const ColumnSet set(sources, search, data);
  ScalingLoss loss;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ComparedColumn& column = set.columns()[i];
    ScaledSize& size = curve.sizes[places[i]];
    size = scaled_size(set.experiments()[i], set.costs()[i], column.projection, loss, data);
    size.searched = column.searched;
  }
  return curve;
}

// From the first size that can run to the last, or of all sizes where none can.
std::string title_of(const ScalingCurve& curve) {
  const auto runs = [](const ScaledSize& size) { return size.projection.feasible(); };
  const auto first = std::ranges::find_if(curve.sizes, runs);
  const auto last = std::find_if(curve.sizes.rbegin(), curve.sizes.rend(), runs);
  const bool any = first != curve.sizes.end();
  const Projection& from = (any ? *first : curve.sizes.front()).projection;
  const Projection& to = (any ? *last : curve.sizes.back()).projection;
  return from.model + " on " + with_separators(from.gpus) +
         (from.gpus == to.gpus ? "" : " to " + with_separators(to.gpus)) + " x " + from.gpu;
}

}  // namespace

Report Simulator::scaling_report(const ExperimentSource& experiment,
                                 const ScalingSettings& settings, const ReportForm& form) const {
  return answer_of([&] {
    const DataRoot data{data_};
    const ScalingCurve curve = settings.best_plan ? with_best_plans(experiment, settings, data)
                                                  : with_one_plan(experiment, settings, data);
    return report_of(form,
                     {any_feasible(curve), [&] { return to_text(curve); },
                      [&] { return to_json(curve); }, [&] { return to_csv(curve); }},
                     {PageKind::kScaling, title_of(curve)});
  });
}

}  // namespace stepcast
