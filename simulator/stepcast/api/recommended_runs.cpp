// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/recommended_runs.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "stepcast/api/job.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/comparison.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/sweep/best_plan.hpp"
#include "stepcast/sweep/run_search.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast {
namespace {

// The tokens of a batch that frameworks of this size train with, where none is given.
constexpr std::int64_t kUsualTokens = std::int64_t{1} << 23;

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

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    all += (all.empty() ? "" : ", ") + text;
  }
  return all;
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
  Recommender(const RunQuestion& question, const DataRoot& data)
      : question_(question), data_(data), known_(load_accuracy(data)) {
    for (const std::string& gpu : question.gpus) {
      experiments_.push_back(experiment_of(on(question.work, gpu, 1), data));
    }
    check();
    cost_.emplace(cost_model_of(experiments_.front(), data));
  }

  // GPUs are searched side by side; each answer follows from its own search alone.
  std::vector<RecommendedGpu> run() {
    return search_runs(
        experiments_, question_.limits,
        [this](std::size_t gpu, std::int64_t nodes, const NearCandidates& near) {
          return candidate(gpu, nodes, near);
        },
        threads_of(question_.threads));
  }

 private:
  void check() const {
    Diagnostics diagnostics;
    if (!experiments_.front().run) {
      diagnostics.error({"recommend", 0, 0}, "say how long the run is: --tokens 15T");
    }
    for (const Experiment& experiment : experiments_) {
      const std::string& gpu = experiment.cluster.device.name;
      if (!question_.prices.empty() && !question_.prices.contains(gpu)) {
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
    const SweepSource own = on(question_.work, question_.gpus[gpu], nodes);
    SweepSource source = own;
    if (!question_.constraints.empty()) {
      source.overrides.emplace_back("constraints=" + flow_list(question_.constraints),
                                    "--constraint " + joined(question_.constraints));
    }
    const SweepSpace space = read_sweep(with_all_plans(source), data_);
    const bool proven = question_.prove || space.size() <= kSoonSearched;
    const std::vector<CostModel> costs(space.sites().size(), *cost_);
    const BestPlan found = proven ? best_plan(space, costs, 1, pipelines_)
                                  : likely_best_plan(space, costs, pipelines_, plans_of(near));
    Experiment experiment = experiment_of(own, data_);
    experiment.backends = experiments_.front().backends;
    RunCandidate result{{}, found.searched, proven};
    if (found.best) {
      experiment.plan = found.best->plan;
      experiment.training = found.best->training;
      result.projection = projections_of({experiment}, *cost_, known_).front();
    } else {
      result.projection = without_plan(experiment, why_no_plan(found.searched));
    }
    const auto price = question_.prices.find(result.projection.gpu);
    if (price != question_.prices.end()) {
      result.projection.gpu_hour = price->second;
    }
    return result;
  }

  const RunQuestion& question_;
  const DataRoot& data_;
  std::vector<HeldOutRun> known_;        // runs that give an interval
  std::vector<Experiment> experiments_;  // one a GPU, on one node
  std::optional<CostModel> cost_;
  std::shared_ptr<SolvedPipelines> pipelines_ = std::make_shared<SolvedPipelines>();
};

}  // namespace

bool gives_batch(const SweepSource& work) {
  const ConfigNode root = tree_of(work);
  const ConfigNode* training = root.find("training");
  return training != nullptr && training->find("global_batch_size") != nullptr;
}

SweepSource with_usual_batch(const SweepSource& work, const std::string& gpu,
                             const DataRoot& data) {
  const auto with_batch = [&work](std::int64_t sequences) {
    SweepSource whole = work;
    whole.overrides.emplace_back("training.global_batch_size=" + std::to_string(sequences));
    return whole;
  };
  // Without a batch there is no experiment to read: one of many sequences stands in for it.
  const Experiment experiment = experiment_of(on(with_batch(kUsualTokens), gpu, 1), data);
  return with_batch(std::max<std::int64_t>(1, kUsualTokens / experiment.training.sequence_length));
}

std::vector<std::string> names_of_gpus(const RunQuestion& question, const DataRoot& data) {
  std::vector<std::string> names;
  for (const std::string& gpu : question.gpus) {
    names.push_back(experiment_of(on(question.work, gpu, 1), data).cluster.device.name);
  }
  return names;
}

std::vector<RecommendedGpu> recommended_runs(const RunQuestion& question, const DataRoot& data) {
  return Recommender(question, data).run();
}

}  // namespace stepcast
