// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/validation_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stepcast/base/units_text.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/validation/timed_runs.hpp"

namespace stepcast {
namespace {

std::string plan_of(const TimedRun& run) {
  const ParallelPlan& plan = run.projection.plan;
  return "dp" + std::to_string(plan.dp) + " tp" + std::to_string(plan.tp) + " pp" +
         std::to_string(plan.pp) + " mbs" +
         std::to_string(run.projection.training.micro_batch_size) + " zero" +
         std::to_string(plan.zero);
}

// As a share with three digits.
std::string as_share(const Value& share) { return significant(share.get<double>(), 3); }

constexpr auto kTimedColumns = std::to_array<Column<TimedRun>>({
    {"id", "", member<&TimedRun::id>},
    {"plan", "", [](const TimedRun& run) -> Value { return plan_of(run); }},
    {"measured_tokens_per_second_per_gpu", "", member<&TimedRun::measured>},
    {"predicted_tokens_per_second_per_gpu", "", member<&TimedRun::predicted>},
});
constexpr Columns<TimedRun> kTimed{kTimedColumns};

using Group = RegretGroup;
constexpr auto kGroupColumns = std::to_array<Column<Group>>({
    {"model", "model", member<&Group::model>, as_text, Align::kLeft},
    {"gpu", "", member<&Group::gpu>},
    {"nodes", "nodes", member<&Group::nodes>},
    {"plans", "plans", [](const Group& group) -> Value { return group.runs.size(); }},
    {"pick", "", [](const Group& group) { return kTimed.json(*group.pick); }},
    {"best", "", [](const Group& group) { return kTimed.json(*group.best); }},
    {"kept", "kept", member<&Group::kept>, as_share},
    {"random", "at random", member<&Group::random>, as_share},
    {"network", "",
     [](const Group& group) { return group.network.empty() ? no_value() : Value(group.network); }},
    // For people.
    {"picked", "picked", [](const Group& group) -> Value { return plan_of(*group.pick); }, as_text,
     Align::kLeft},
    {"pick_measured", "tokens/s/GPU", member<&Group::pick, &TimedRun::measured>, as_number<1>},
    {"pick_predicted", "predicted", member<&Group::pick, &TimedRun::predicted>, as_number<1>},
    {"fastest", "fastest", [](const Group& group) -> Value { return plan_of(*group.best); },
     as_text, Align::kLeft},
    {"best_measured", "tokens/s/GPU", member<&Group::best, &TimedRun::measured>, as_number<1>},
    {"best_predicted", "predicted", member<&Group::best, &TimedRun::predicted>, as_number<1>},
    {"network_text", "network", member<&Group::network>, as_text, Align::kLeft},
});
constexpr Columns<Group> kGroups{kGroupColumns};

std::string groups_text(const std::vector<RegretGroup>& groups) {
  const RegretSummary s = summary_of(groups);
  return kGroups
             .table(
                 "model nodes plans picked pick_measured pick_predicted fastest best_measured "
                 "best_predicted kept random network_text",
                 groups)
             .text() +
         "\n" + line("groups", std::to_string(groups.size())) +
         line("kept, mean", as_share(s.mean)) + line("kept, median", as_share(s.median)) +
         line("kept, worst", as_share(s.worst)) + line("at random, mean", as_share(s.random));
}

Value groups_json(const std::vector<RegretGroup>& groups) {
  const RegretSummary s = summary_of(groups);
  return {
      {"summary",
       {{"groups", groups.size()},
        {"mean", s.mean},
        {"median", s.median},
        {"worst", s.worst},
        {"random_mean", s.random}}},
      {"groups", kGroups.json_rows("model gpu nodes plans pick best kept random network", groups)}};
}

// Whether runs say in which state their network was.
bool has_networks(const std::vector<TimedRun>& runs) {
  return std::ranges::any_of(runs, [](const TimedRun& run) { return !run.network.empty(); });
}

constexpr auto kSkuRateColumns = std::to_array<Column<SkuRate>>({
    {"gpu", "", member<&SkuRate::gpu>},
    {"software", "", member<&SkuRate::software>},
    {"runs", "", member<&SkuRate::ids>},
    {"measured_tokens_per_second_per_gpu", "", member<&SkuRate::measured>},
    {"predicted_tokens_per_second_per_gpu", "", member<&SkuRate::predicted>},
});
constexpr Columns<SkuRate> kSkuRates{kSkuRateColumns};

Value both_software(const SkuPair& pair) {
  const std::string& second = pair.second.software;
  return pair.first.software + (second == pair.first.software ? "" : ", " + second);
}

constexpr auto kPairColumns = std::to_array<Column<SkuPair>>({
    {"work", "work", member<&SkuPair::work>, as_text, Align::kLeft},
    {"a", "", nested<kSkuRates, &SkuPair::first>},
    {"b", "", nested<kSkuRates, &SkuPair::second>},
    {"measured_ratio", "B / A measured", member<&SkuPair::measured_ratio>, as_number<2>},
    {"predicted_ratio", "predicted", member<&SkuPair::predicted_ratio>, as_number<2>},
    {"error", "error", member<&SkuPair::error>, as_signed_percent<1>},
    // For people.
    {"gpu_a", "A", member<&SkuPair::first, &SkuRate::gpu>, as_text, Align::kLeft},
    {"gpu_b", "B", member<&SkuPair::second, &SkuRate::gpu>, as_text, Align::kLeft},
    {"both_software", "software of A, B", both_software, as_text, Align::kLeft},
});
constexpr Columns<SkuPair> kPairs{kPairColumns};

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
  Value report = {{"schema_version", kJsonSchemaVersion}, {"context", {{"program", "stepcast"}}}};
  report.update(groups_json(plan_regret(runs, RegretScope::kWork)));
  if (has_networks(runs)) {
    report["one_network"] = groups_json(plan_regret(runs, RegretScope::kWorkAndNetwork));
  }
  return report;
}

std::string sku_pairs_to_text(const std::vector<SkuPair>& pairs) {
  return "The same work on two GPUs: the ratio of their rates\n\n" +
         kPairs.table("gpu_a gpu_b measured_ratio predicted_ratio error both_software work", pairs)
             .text() +
         "\n" + line("pairs", std::to_string(pairs.size())) +
         (pairs.empty() ? "" : line("median error", as_percent<1>(median_error(pairs))));
}

nlohmann::ordered_json sku_pairs_to_json(const std::vector<SkuPair>& pairs) {
  return {{"schema_version", kJsonSchemaVersion},
          {"context", {{"program", "stepcast"}}},
          {"summary", {{"pairs", pairs.size()}, {"median_abs_error", median_error(pairs)}}},
          {"pairs", kPairs.json_rows("work a b measured_ratio predicted_ratio error", pairs)}};
}

}  // namespace stepcast
