// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/plan_regret.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "stepcast/base/units_text.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

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

std::string plan_of(const TimedRun& run) {
  const ParallelPlan& plan = run.projection.plan;
  return "dp" + std::to_string(plan.dp) + " tp" + std::to_string(plan.tp) + " pp" +
         std::to_string(plan.pp) + " mbs" +
         std::to_string(run.projection.training.micro_batch_size) + " zero" +
         std::to_string(plan.zero);
}

// As a share with three digits.
std::string share(double value) { return significant(value, 3); }

Json run_json(const TimedRun& run) {
  return {{"id", run.id},
          {"plan", plan_of(run)},
          {"measured_tokens_per_second_per_gpu", run.measured},
          {"predicted_tokens_per_second_per_gpu", run.predicted()}};
}

std::string groups_text(const std::vector<RegretGroup>& groups) {
  TextTable table({{"model"},
                   {"nodes", Align::kRight},
                   {"plans", Align::kRight},
                   {"picked"},
                   {"tokens/s/GPU", Align::kRight},
                   {"predicted", Align::kRight},
                   {"fastest"},
                   {"tokens/s/GPU", Align::kRight},
                   {"predicted", Align::kRight},
                   {"kept", Align::kRight},
                   {"at random", Align::kRight},
                   {"network"}});
  for (const RegretGroup& group : groups) {
    table.add_row({group.model, std::to_string(group.nodes), std::to_string(group.runs.size()),
                   plan_of(*group.pick), decimals(group.pick->measured, 1),
                   decimals(group.pick->predicted(), 1), plan_of(*group.best),
                   decimals(group.best->measured, 1), decimals(group.best->predicted(), 1),
                   share(group.kept()), share(group.random()), group.network});
  }
  const RegretSummary s = summary_of(groups);
  return table.text() + "\n" + line("groups", std::to_string(groups.size())) +
         line("kept, mean", share(s.mean)) + line("kept, median", share(s.median)) +
         line("kept, worst", share(s.worst)) + line("at random, mean", share(s.random));
}

Json groups_json(const std::vector<RegretGroup>& groups) {
  const RegretSummary s = summary_of(groups);
  Json report = {{"summary",
                  {{"groups", groups.size()},
                   {"mean", s.mean},
                   {"median", s.median},
                   {"worst", s.worst},
                   {"random_mean", s.random}}},
                 {"groups", Json::array()}};
  for (const RegretGroup& group : groups) {
    Json entry = {{"model", group.model},          {"gpu", group.gpu},
                  {"nodes", group.nodes},          {"plans", group.runs.size()},
                  {"pick", run_json(*group.pick)}, {"best", run_json(*group.best)},
                  {"kept", group.kept()},          {"random", group.random()}};
    if (!group.network.empty()) {
      entry["network"] = group.network;
    }
    report["groups"].push_back(std::move(entry));
  }
  return report;
}

// Whether runs say in which state their network was.
bool has_networks(const std::vector<TimedRun>& runs) {
  return std::any_of(runs.begin(), runs.end(),
                     [](const TimedRun& run) { return !run.network.empty(); });
}

}  // namespace

double RegretGroup::random() const {
  double sum = 0.0;
  for (const TimedRun* run : runs) {
    sum += run->measured;
  }
  return sum / static_cast<double>(runs.size()) / best->measured;
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
  std::sort(kept.begin(), kept.end());
  const std::size_t half = kept.size() / 2;
  summary.mean = std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
  summary.median = kept.size() % 2 == 1 ? kept[half] : 0.5 * (kept[half - 1] + kept[half]);
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

std::string regret_to_text(const std::vector<TimedRun>& runs) {
  std::string text =
      "Of measured plans for the same work, the one predicted to be the fastest against the "
      "fastest\n\n" +
      groups_text(plan_regret(runs, RegretScope::kWork));
  if (has_networks(runs)) {
    text += "\nThe same among the runs on one state of the network\n\n" +
            groups_text(plan_regret(runs, RegretScope::kWorkAndNetwork));
  }
  return text;
}

nlohmann::ordered_json regret_to_json(const std::vector<TimedRun>& runs) {
  Json report = {{"schema_version", kJsonSchemaVersion}, {"context", {{"program", "stepcast"}}}};
  report.update(groups_json(plan_regret(runs, RegretScope::kWork)));
  if (has_networks(runs)) {
    report["one_network"] = groups_json(plan_regret(runs, RegretScope::kWorkAndNetwork));
  }
  return report;
}

}  // namespace stepcast
