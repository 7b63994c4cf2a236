// SPDX-License-Identifier: Apache-2.0
// Simulator::recommend_report(): of each GPU several numbers of them, each with the plan that a
// search found for it (sweep/run_search.hpp, sweep/best_plan.hpp).
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/api/usual_batch.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/report/recommendation_report.hpp"
#include "stepcast/stepcast.hpp"
#include "stepcast/sweep/best_plan.hpp"
#include "stepcast/sweep/run_search.hpp"

namespace stepcast {
namespace {

void check(const RecommendSettings& settings) {
  Diagnostics diagnostics;
  if (settings.gpus.empty()) {
    diagnostics.error({"gpus", 0, 0}, "there is none to recommend; give at least one");
  }
  if (settings.budget && settings.gpu_hour_price.prices.empty()) {
    diagnostics.error({"budget", 0, 0}, "needs the price of a GPU-hour; give gpu_hour_price");
  }
  for (const auto& [key, limit] :
       {std::pair("days", settings.days), std::pair("budget", settings.budget)}) {
    if (limit && !is_amount(*limit)) {
      diagnostics.error({key, 0, 0}, "must be above 0 and below 10^12");
    }
  }
  if (settings.most_gpus && *settings.most_gpus < 1) {
    diagnostics.error({"most_gpus", 0, 0}, "must be at least 1");
  }
  check_threads(settings.threads, diagnostics);
  diagnostics.throw_if_any();
}

SweepSource on(const SweepSource& work, const std::string& gpu, std::int64_t nodes) {
  SweepSource own = work;
  own.overrides.emplace_back("cluster.gpu=" + gpu, "--gpu " + gpu);
  own.overrides.emplace_back("cluster.nodes=" + std::to_string(nodes));
  return own;
}

ConfigNode tree_of(const SweepSource& source) {
  ConfigNode root = parse_config(source.text, source.name);
  apply_overrides(root, source.overrides);
  return root;
}

Experiment experiment_of(const SweepSource& source, const DataRoot& data) {
  return read_experiment(tree_of(source), source.folder, data);
}

// The work with a batch that frameworks of this size train with, where it gives none.
SweepSource with_batch_of_all(const SweepSource& work, const std::string& gpu,
                              const DataRoot& data) {
  if (!lacks_batch(tree_of(work))) {
    return work;
  }
  const auto with_batch = [&work](std::int64_t sequences) {
    SweepSource whole = work;
    whole.overrides.push_back(assumed_batch(sequences));
    return whole;
  };
  // Without a batch there is no experiment to read: one of many sequences stands in for it.
  const Experiment experiment = experiment_of(on(with_batch(kUsualTokens), gpu, 1), data);
  return with_batch(usual_batch(experiment.training.sequence_length));
}

// A list as an assignment takes it.
std::string flow_list(const std::vector<std::string>& texts) {
  std::string list;
  for (std::string text : texts) {
    for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2) {
      text.insert(at, 1, '\'');  // a quote of YAML's is written twice within one
    }
    list += (list.empty() ? "['" : ", '") + text + "'";
  }
  return list + "]";
}

// Where a search for the plan of one number of GPUs begins: at the plans of others.
std::vector<PlanChange> plans_of(const NearCandidates& near) {
  std::vector<PlanChange> plans;
  for (const RunCandidate* candidate : near.found) {
    if (candidate->projection.feasible()) {
      plans.push_back(
          {candidate->searched.settings, candidate->plan, candidate->projection.training});
    }
  }
  return plans;
}

class Recommender {
 public:
  Recommender(const ExperimentSource& work, const RecommendSettings& settings, const DataRoot& data)
      : settings_(settings),
        data_(data),
        limits_{settings.days, settings.budget, settings.most_gpus, 0},
        work_(with_batch_of_all(sweep_source_of(work, data), settings.gpus.front(), data)) {
    experiments_ = each_of(settings.gpus, [&](const std::string& gpu) {
      return experiment_of(on(work_, gpu, 1), data);
    });
    prices_ = prices_of(settings.gpu_hour_price, gpus_of(experiments_), "recommend is given no");
    known_ = load_accuracy(data);
    check_questions();
    limits_.tokens = tokens_and_step().first;
    cost_.emplace(cost_model_of(experiments_.front(), data));
  }

  [[nodiscard]] const RunLimits& limits() const { return limits_; }

  // GPUs are searched side by side; each answer follows from its own search alone.
  std::vector<RecommendedGpu> run() {
    return search_runs(
        experiments_, limits_,
        [this](std::size_t gpu, std::int64_t nodes, const NearCandidates& near) {
          return candidate(gpu, nodes, near);
        },
        threads_of(settings_.threads));
  }

 private:
  // The tokens of the run, and those of a step of it.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> tokens_and_step() const {
    const Experiment& experiment = experiments_.front();
    const TrainingRecipe& training = experiment.training;
    return {experiment.run ? experiment.run->tokens : 0,
            training.sequence_length * training.global_batch_size};
  }

  void check_questions() const {
    Diagnostics diagnostics;
    if (!experiments_.front().run) {
      diagnostics.error({"recommend", 0, 0}, "say how long the run is: --tokens 15T");
    } else if (const auto [tokens, step] = tokens_and_step(); tokens < step) {
      diagnostics.error({"--tokens " + std::to_string(tokens), 0, 0},
                        "is less than one step of " + with_separators(step) +
                            " tokens; write 15T for 15 trillion");
    }
    for (const Experiment& experiment : experiments_) {
      const std::string& gpu = experiment.cluster.device.name;
      if (!prices_.empty() && !prices_.contains(gpu)) {
        diagnostics.error({"--price", 0, 0}, "has no price of " + gpu +
                                                 ", beside which others cannot be compared; add "
                                                 "--price " +
                                                 gpu + "=PRICE");
      }
    }
    diagnostics.throw_if_any();
  }

  [[nodiscard]] RunCandidate candidate(std::size_t gpu, std::int64_t nodes,
                                       const NearCandidates& near) const {
    if (settings_.at) {
      settings_.at(std::to_string(nodes * experiments_[gpu].cluster.gpus_per_node) + " " +
                   settings_.gpus[gpu]);
    }
    const SweepSource own = on(work_, settings_.gpus[gpu], nodes);
    SweepSource source = own;
    if (!settings_.constraints.empty()) {
      source.overrides.emplace_back("constraints=" + flow_list(settings_.constraints),
                                    "--constraint " + text_list(settings_.constraints));
    }
    const SweepSpace space = read_sweep(with_all_plans(source), data_);
    const bool proven = settings_.prove || space.size() <= kSoonSearched;
    const std::vector<CostModel> costs(space.sites().size(), *cost_);
    const KeySet kept = kept_keys(own, {});
    const std::vector<PlanChange> starts = plans_of(near);
    const bool widely = near.widely || starts.empty();
    const BestPlan found = proven
                               ? best_plan(space, costs, 1, {kept, {}}, pipelines_)
                               : likely_best_plan(space, costs, {kept, starts, widely}, pipelines_);
    Experiment experiment = experiment_of(own, data_);
    experiment.backends = experiments_.front().backends;
    RunCandidate result{projection_with(found, experiment, *cost_, known_), found.searched,
                        found.best ? found.best->plan : PlanRequest{}, proven};
    set_price(prices_, result.projection);
    return result;
  }

  const RecommendSettings& settings_;
  const DataRoot& data_;
  RunLimits limits_;
  SweepSource work_;  // on any GPU: each candidate sets cluster.gpu and cluster.nodes on top of it
  std::vector<Experiment> experiments_;         // one a GPU, on one node
  std::map<std::string, GpuHourPrice> prices_;  // by the name of a GPU; of all or of none
  std::vector<HeldOutRun> known_;               // runs that give an interval
  std::optional<CostModel> cost_;
  std::shared_ptr<SolvedPipelines> pipelines_ = std::make_shared<SolvedPipelines>();
};

// "llama3.1_8b: how many GPUs for 1,000,000,000,000 tokens".
std::string title_of(const std::vector<RecommendedGpu>& answers) {
  for (const RecommendedGpu& gpu : answers) {
    for (const RunCandidate& candidate : gpu.candidates) {
      const Projection& p = candidate.projection;
      if (p.run) {
        return p.model + ": how many GPUs for " + with_separators(p.run->spec.tokens) + " tokens";
      }
    }
  }
  return "how many GPUs";
}

}  // namespace

Report Simulator::recommend_report(const ExperimentSource& work, const RecommendSettings& settings,
                                   const ReportForm& form) const {
  return answer_of([&] {
    check(settings);
    const DataRoot data{data_};
    Recommender recommender(work, settings, data);
    const std::vector<RecommendedGpu> answers = recommender.run();
    const RunLimits& limits = recommender.limits();
    const bool any = std::ranges::any_of(
        answers, [](const RecommendedGpu& gpu) { return gpu.fewest.has_value(); });
    return report_of(
        form,
        {any, [&] { return recommendation_to_text(answers, limits); },
         [&] { return recommendation_to_json(answers, limits, std::string(version())); },
         [&] { return recommendation_to_csv(answers, limits); }},
        {PageKind::kRecommendation, title_of(answers)});
  });
}

}  // namespace stepcast
