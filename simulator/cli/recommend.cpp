// SPDX-License-Identifier: Apache-2.0
// stepcast recommend: how many of which GPUs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/page_output.hpp"
#include "cli/run_options.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/comparison.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/report/recommendation_report.hpp"
#include "stepcast/sweep/best_plan.hpp"
#include "stepcast/sweep/run_search.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast::cli {
namespace {

struct RecommendOptions {
  ExperimentOptions experiment;
  std::vector<std::string> gpus;
  PriceOptions prices;
  RunLimits limits;
  std::vector<std::string> constraints;
  bool all_plans = false;
  int threads = 0;
  OutputOptions output;
};

// A batch that frameworks of this size train with, where none is given: so many tokens.
constexpr std::int64_t kUsualTokens = std::int64_t{1} << 23;

// Whether the user gives a batch; an experiment made from options alone has one that nobody gave.
bool gives_batch(const ExperimentOptions& options, const DataRoot& data) {
  const std::string key = "training.global_batch_size";
  const bool as_option =
      std::any_of(options.direct.begin(), options.direct.end(),
                  [&key](const auto& option) { return option.first == key; }) ||
      std::any_of(options.settings.begin(), options.settings.end(),
                  [&key](const std::string& set) { return set.starts_with(key + "="); });
  if (as_option || options.file.empty()) {
    return as_option;
  }
  const ExperimentTree tree = settled_tree(options, data);
  const ConfigNode* training = tree.root.find("training");
  return training != nullptr && training->find("global_batch_size") != nullptr;
}

// The options of one GPU on so many nodes.
ExperimentOptions on(const RecommendOptions& options, const std::string& gpu, std::int64_t nodes) {
  ExperimentOptions own = options.experiment;
  own.gpu = gpu;
  own.nodes = nodes;
  return own;
}

// The recipe of all GPUs: with a usual batch where none is given.
void choose_batch(RecommendOptions& options, const DataRoot& data) {
  ExperimentOptions probe = on(options, options.gpus.front(), 1);
  if (gives_batch(probe, data)) {
    return;
  }
  const Experiment experiment = load_experiment(probe, data);
  const std::int64_t batch =
      std::max<std::int64_t>(1, kUsualTokens / experiment.training.sequence_length);
  options.experiment.direct.emplace_back("training.global_batch_size", std::to_string(batch));
}

void check(const RecommendOptions& options) {
  Diagnostics diagnostics;
  if (options.gpus.empty()) {
    diagnostics.error({"recommend", 0, 0}, "name a GPU: --gpu h100_sxm (repeatable)");
  }
  if (options.limits.budget && options.prices.prices.empty()) {
    diagnostics.error({"--budget", 0, 0}, "needs the price of a GPU-hour: --price h100_sxm=2.50");
  }
  diagnostics.throw_if_any();
}

// A list as --set takes it.
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

NearPlans plans_of(const NearCandidates& near) {
  NearPlans plans{{}, !near.searched};
  for (const RunCandidate* candidate : near.found) {
    if (candidate->projection.feasible) {
      plans.settings.push_back(candidate->searched.settings);
    }
  }
  return plans;
}

class Recommender {
 public:
  Recommender(RecommendOptions options, const DataRoot& data)
      : options_(std::move(options)), data_(data), known_(load_accuracy(data)) {
    for (const std::string& gpu : options_.gpus) {
      experiments_.push_back(load_experiment(on(options_, gpu, 1), data_));
    }
    if (!experiments_.front().run) {
      throw ConfigError({"recommend", 0, 0}, "say how long the run is: --tokens 15T");
    }
    std::vector<std::string> names;
    for (const Experiment& experiment : experiments_) {
      names.push_back(experiment.cluster.device.name);
    }
    prices_ = prices_of(options_.prices, names, "recommend is given no");
    check_prices();
    cost_.emplace(cost_model(experiments_.front(), data_));
  }

  // GPUs are searched side by side; each answer follows from its own search alone.
  std::vector<RecommendedGpu> run() {
    return search_runs(
        experiments_, options_.limits,
        [this](std::size_t gpu, std::int64_t nodes, const NearCandidates& near) {
          return candidate(gpu, nodes, near);
        },
        options_.threads > 0 ? options_.threads : processors());
  }

 private:
  void check_prices() const {
    Diagnostics diagnostics;
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
    const ExperimentOptions own = on(options_, options_.gpus[gpu], nodes);
    SweepSource source = load_sweep(own, data_);
    if (!options_.constraints.empty()) {
      source.overrides.push_back("constraints=" + flow_list(options_.constraints));
    }
    const SweepSpace space = read_sweep(with_all_plans(source), data_);
    const bool proven = options_.all_plans || space.size() <= kSoonSearched;
    const std::vector<CostModel> costs(space.sites().size(), *cost_);
    const BestPlan found = proven ? best_plan(space, costs, 1, pipelines_)
                                  : likely_best_plan(space, costs, pipelines_, plans_of(near));
    Experiment experiment = load_experiment(own, data_);
    experiment.backends = experiments_.front().backends;
    RunCandidate result{{}, found.searched, proven};
    if (found.best) {
      experiment.plan = found.best->plan;
      experiment.training = found.best->training;
      result.projection = projections_of({experiment}, *cost_, known_).front();
    } else {
      result.projection = without_plan(experiment, why_no_plan(found.searched));
    }
    const auto price = prices_.find(result.projection.gpu);
    if (price != prices_.end()) {
      result.projection.gpu_hour = price->second;
    }
    return result;
  }

  RecommendOptions options_;
  const DataRoot& data_;
  std::vector<HeldOutRun> known_;        // runs that give an interval
  std::vector<Experiment> experiments_;  // one a GPU, on one node
  std::map<std::string, GpuHourPrice> prices_;
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

int run_recommend(const RecommendOptions& options, const GlobalOptions& global) {
  check(options);
  const DataRoot data = data_root(global);
  RecommendOptions settled = options;
  choose_batch(settled, data);
  const std::vector<RecommendedGpu> answers = Recommender(settled, data).run();
  const auto json = [&] {
    return json_text(recommendation_to_json(answers, options.limits, program_version()));
  };
  const std::string& format = options.output.format;
  write_output(options.output, global,
               format == "json"  ? json()
               : format == "csv" ? recommendation_to_csv(answers, options.limits)
                                 : recommendation_to_text(answers, options.limits),
               {PageKind::kRecommendation, title_of(answers), json, {}});
  const bool any = std::any_of(answers.begin(), answers.end(),
                               [](const RecommendedGpu& gpu) { return gpu.fewest.has_value(); });
  return any ? kDone : kPlanCannotRun;
}

}  // namespace

void add_recommend(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "recommend", "how many of which GPUs a training run needs: fewest, cheapest, fastest");
  auto options = std::make_shared<RecommendOptions>();
  add_uncompared_options(*command, options->experiment);
  command->add_option("--gpu", options->gpus, "a GPU's name (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  add_tokens_option(*command, options->experiment);
  const CLI::Range positive(1e-3, 1e15);
  command->add_option("--days", options->limits.days, "that the run may take at most")
      ->check(positive);
  command->add_option("--budget", options->limits.budget, "that it may cost at most, 5M")
      ->transform(
          CLI::AsNumberWithUnit(std::map<std::string, double>{{"k", 1e3}, {"M", 1e6}, {"B", 1e9}},
                                CLI::AsNumberWithUnit::CASE_SENSITIVE))
      ->check(positive);
  command->add_option("--gpus", options->limits.gpus, "of one kind at most")
      ->check(CLI::Range(1, 1 << 20));
  add_price_options(*command, options->prices);
  command
      ->add_option("--constraint", options->constraints,
                   "that plans must keep, as in a sweep: 'mfu > 0.4' (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  command->add_flag("--all", options->all_plans,
                    "prove each plan the best of all, instead of a search by descent");
  command->add_option("--threads", options->threads, "as many as processors unless given")
      ->check(CLI::Range(1, 4096));
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_recommend(*options, global); };
  });
}

}  // namespace stepcast::cli
