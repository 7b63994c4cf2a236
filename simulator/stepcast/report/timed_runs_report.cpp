// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/timed_runs_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/validation/plan_regret.hpp"
#include "stepcast/validation/sku_ratios.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

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

std::string signed_ratio(double value) {
  return (value < 0.0 ? "-" : "+") + decimals(100.0 * std::abs(value), 1) + " %";
}

Json rate_json(const SkuRate& rate) {
  return {{"gpu", rate.gpu},
          {"software", rate.software},
          {"runs", rate.ids},
          {"measured_tokens_per_second_per_gpu", rate.measured},
          {"predicted_tokens_per_second_per_gpu", rate.predicted}};
}

}  // namespace

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

std::string sku_pairs_to_text(const std::vector<SkuPair>& pairs) {
  TextTable table({{"A"},
                   {"B"},
                   {"B / A measured", Align::kRight},
                   {"predicted", Align::kRight},
                   {"error", Align::kRight},
                   {"software of A, B"},
                   {"work"}});
  for (const SkuPair& pair : pairs) {
    const std::string& software = pair.second.software;
    table.add_row({pair.first.gpu, pair.second.gpu, decimals(pair.measured_ratio(), 2),
                   decimals(pair.predicted_ratio(), 2), signed_ratio(pair.error()),
                   pair.first.software + (software == pair.first.software ? "" : ", " + software),
                   pair.work});
  }
  return "The same work on two GPUs: the ratio of their rates\n\n" + table.text() + "\n" +
         line("pairs", std::to_string(pairs.size())) +
         (pairs.empty() ? ""
                        : line("median error", decimals(100.0 * median_error(pairs), 1) + " %"));
}

nlohmann::ordered_json sku_pairs_to_json(const std::vector<SkuPair>& pairs) {
  Json json = {{"schema_version", kJsonSchemaVersion},
               {"context", {{"program", "stepcast"}}},
               {"summary", {{"pairs", pairs.size()}, {"median_abs_error", median_error(pairs)}}},
               {"pairs", Json::array()}};
  for (const SkuPair& pair : pairs) {
    json["pairs"].push_back({{"work", pair.work},
                             {"a", rate_json(pair.first)},
                             {"b", rate_json(pair.second)},
                             {"measured_ratio", pair.measured_ratio()},
                             {"predicted_ratio", pair.predicted_ratio()},
                             {"error", pair.error()}});
  }
  return json;
}

}  // namespace stepcast
