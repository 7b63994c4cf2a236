// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/column_set.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/saved_plans.hpp"
#include "stepcast/api/usual_batch.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/problem_set.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/comparison.hpp"
#include "stepcast/experiment/missing_plan.hpp"
#include "stepcast/experiment/provenance_shares.hpp"
#include "stepcast/report/comparison_report.hpp"
#include "stepcast/sweep/best_plan.hpp"

namespace stepcast {
namespace {

// What all columns are read from; throws with the problems of all of them, each once.
std::vector<ExperimentTree> trees_of(const std::vector<ColumnSource>& columns,
                                     const DataRoot& data) {
  std::vector<ExperimentTree> trees;
  ProblemSet problems;
  for (const ColumnSource& column : columns) {
    problems.collect([&] { trees.push_back(tree_of(column.experiment, data)); });
  }
  problems.throw_if_any();
  return trees;
}

// Likewise.
std::vector<Experiment> experiments_of(const std::vector<ExperimentTree>& trees,
                                       const DataRoot& data) {
  std::vector<Experiment> experiments;
  ProblemSet problems;
  for (const ExperimentTree& tree : trees) {
    problems.collect([&] { experiments.push_back(read_experiment(tree.root, tree.folder, data)); });
  }
  problems.throw_if_any();
  return experiments;
}

// Throws ConfigError with every key that no search chooses.
KeySet free_keys(const CompareSettings& settings) {
  KeySet free;
  Diagnostics diagnostics;
  for (const std::string& given : settings.free) {
    const std::optional<std::string> key = searched_key(given);
    if (key) {
      free.insert(*key);
    } else {
      diagnostics.error({"free " + given, 0, 0},
                        "is no key that a search chooses; they are " +
                            text_list(each_of(searched_keys(), unqualified), ", "));
    }
  }
  if (!settings.free.empty() && !settings.best_plan) {
    diagnostics.error({"free", 0, 0}, "nothing is searched; add --best-plan");
  }
  diagnostics.throw_if_any();
  return free;
}

}  // namespace

ColumnSet::ColumnSet(const std::vector<ColumnSource>& sources, const CompareSettings& settings,
                     const DataRoot& data)
    : sources_(sources),
      settings_(settings),
      data_(data),
      trees_(trees_of(sources, data)),
      experiments_(experiments_of(trees_, data)),
      prices_(prices_of(settings.prices, gpus_of(experiments_), "no column has")),
      costs_(cost_models_of(experiments_, data)),
      known_(load_accuracy(data)),
      free_(free_keys(settings)) {
  std::ranges::for_each(experiments_, name_backends);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (settings_.at) {
      settings_.at(std::to_string(i + 1) + " of " + std::to_string(sources_.size()) + ", " +
                   experiments_[i].cluster.device.name);
    }
    ComparedColumn& column = columns_.emplace_back(column_of(i));
    column.projection.provenance = provenance_shares(experiments_[i], column.projection, costs_[i]);
    set_price(prices_, column.projection);
  }
}

void ColumnSet::save() const {
  if (!settings_.save.write) {
    return;
  }
  // The GPU may be one of the columns alone.
  const ExperimentTree& input = trees_.front();
  const std::vector<std::size_t> ranked = ranked_columns();
  SavedPlans plans(settings_.save, input.root, input.folder, ranked.size(), data_);
  for (const std::size_t i : ranked) {
    const Projection& p = columns_[i].projection;
    plans.add(experiments_[i], " by tokens_per_second_per_gpu: " + columns_[i].label() + ", " +
                                   shortest_text(p.tokens_per_second_per_gpu) + " tokens/s/GPU, " +
                                   shortest_text(p.time.step.value()) + " s a step");
  }
  plans.add_table("comparison.csv", comparison_to_csv(columns_));
}

ComparedColumn ColumnSet::column_of(std::size_t i) {
  if (settings_.best_plan) {
    return with_best_plan(i);
  }
  settle_missing_plan(experiments_[i], costs_[i], given_keys(trees_[i]));
  return {sources_[i].options, projections_of({experiments_[i]}, costs_[i], known_).front(),
          std::nullopt};
}

ComparedColumn ColumnSet::with_best_plan(std::size_t i) {
  SweepSource source = sweep_source_of(sources_[i].experiment, data_);
  if (lacks_batch(overridden_sweep(source))) {
    source.overrides.insert(source.overrides.begin(),
                            assumed_batch(experiments_[i].training.global_batch_size));
  }
  const KeySet kept = kept_keys(source, free_);
  const SweepSpace space = read_sweep(with_all_plans(source, free_), data_);
  PlanQuestion question{kept, {}};
  std::optional<Projection> own;
  if (experiments_[i].plan.given) {
    question.given = experiments_[i];
    own = projections_of({experiments_[i]}, costs_[i], known_).front();
  }
  BestPlan found = best_plan(space, {space.sites().size(), costs_[i]},
                             threads_of(settings_.threads), question, pipelines_);
  found.searched.kept.assign(kept.begin(), kept.end());
  const bool stays =
      own && own->feasible() &&
      (!found.best || own->tokens_per_second_per_gpu >= found.tokens_per_second_per_gpu);
  found.searched.settings = stays ? PlanSettings{} : settings_on(source, free_, found);
  return {sources_[i].options,
          stays ? std::move(*own) : projection_with(found, experiments_[i], costs_[i], known_),
          found.searched};
}

std::vector<std::size_t> ColumnSet::ranked_columns() const {
  std::vector<std::size_t> ranked;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].projection.feasible()) {
      ranked.push_back(i);
    }
  }
  std::ranges::stable_sort(ranked, [this](std::size_t a, std::size_t b) {
    return columns_[a].projection.tokens_per_second_per_gpu >
           columns_[b].projection.tokens_per_second_per_gpu;
  });
  return ranked;
}

}  // namespace stepcast
