// SPDX-License-Identifier: Apache-2.0
// Calls of the public header that compare: experiments side by side, and GPUs for a training run.
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "pages/page_charts.hpp"
#include "pages/svg_plot.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/report_forms.hpp"
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
#include "stepcast/stepcast.hpp"
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

// The columns of a comparison, what each of them runs, and how it is priced.
class Comparison {
 public:
  Comparison(const std::vector<ColumnSource>& sources, const CompareSettings& settings,
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
      column.projection.provenance =
          provenance_shares(experiments_[i], column.projection, costs_[i]);
      set_price(prices_, column.projection);
    }
  }

  [[nodiscard]] const std::vector<ComparedColumn>& columns() const { return columns_; }

  // The files of the plans of all columns that run.
  void save() const {
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
                                     shortest_text(p.tokens_per_second_per_gpu) +
                                     " tokens/s/GPU, " + shortest_text(p.time.step.value()) +
                                     " s a step");
    }
    plans.add_table("comparison.csv", comparison_to_csv(columns_));
  }

 private:
  ComparedColumn column_of(std::size_t i) {
    if (settings_.best_plan) {
      return with_best_plan(i);
    }
    settle_missing_plan(experiments_[i], costs_[i], given_keys(trees_[i]));
    return {sources_[i].options, projections_of({experiments_[i]}, costs_[i], known_).front(),
            std::nullopt};
  }

  // With the best of all plans, which the experiment gets, unless its own is as fast; those that
  // are given narrow them.
  ComparedColumn with_best_plan(std::size_t i) {
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

  // The columns that run, the fastest first; of equal ones in their order.
  [[nodiscard]] std::vector<std::size_t> ranked_columns() const {
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

  const std::vector<ColumnSource>& sources_;
  const CompareSettings& settings_;
  const DataRoot& data_;
  std::vector<ExperimentTree> trees_;
  std::vector<Experiment> experiments_;
  std::map<std::string, GpuHourPrice> prices_;
  std::vector<CostModel> costs_;
  std::vector<HeldOutRun> known_;
  KeySet free_;  // that a search chooses although they are given
  std::shared_ptr<SolvedPipelines> pipelines_ = std::make_shared<SolvedPipelines>();
  std::vector<ComparedColumn> columns_;
};

// "llama3.1_8b on mi300x, h200_sxm, each with 128 nodes"; of many columns the first ones.
std::string title_of(const std::vector<ComparedColumn>& columns) {
  constexpr std::size_t kMostNamed = 5;
  ColumnLabels labels = labels_apart(columns);
  const std::size_t more = columns.size() > kMostNamed ? columns.size() - kMostNamed + 1 : 0;
  labels.own.resize(columns.size() - more);
  return columns.front().projection.model + " on " + text_list(labels.own) +
         (more > 0 ? " and " + std::to_string(more) + " more" : "") +
         (labels.shared.empty() ? "" : ", each with " + labels.shared);
}

}  // namespace

Report Simulator::columns_report(const std::vector<ColumnSource>& columns, const ReportForm& form,
                                 const CompareSettings& settings) const {
  return answer_of([&] {
    Diagnostics diagnostics;
    check_threads(settings.threads, diagnostics);
    if (columns.empty()) {
      diagnostics.error({"experiments", 0, 0}, "there is none to compare; give at least one");
    }
    diagnostics.throw_if_any();
    const DataRoot data{data_};
    const Comparison comparison(columns, settings, data);
    const std::vector<ComparedColumn>& all = comparison.columns();
    const bool any = std::ranges::any_of(
        all, [](const ComparedColumn& column) { return column.projection.feasible(); });
    Report report =
        report_of(form,
                  {any, [&] { return comparison_to_text(all, form.width); },
                   [&] { return comparison_to_json(all, std::string(version())); },
                   [&] { return comparison_to_csv(all); }},
                  {PageKind::kComparison, title_of(all), [&] { return comparison_charts(all); },
                   [&] { return comparison_to_svg(title_of(all), all); }});
    comparison.save();
    return report;
  });
}

Report Simulator::compare_report(const std::vector<ExperimentSource>& experiments,
                                 const ReportForm& form) const {
  std::vector<ColumnSource> columns;
  for (const ExperimentSource& experiment : experiments) {
    ColumnSource& column = columns.emplace_back(ColumnSource{experiment});
    for (const Assignment& setting : experiment.settings) {
      const std::size_t equals = std::min(setting.text.find('='), setting.text.size());
      column.options.emplace_back(setting.text.substr(0, equals),
                                  setting.text.substr(std::min(equals + 1, setting.text.size())));
    }
  }
  return columns_report(columns, form);
}

}  // namespace stepcast
