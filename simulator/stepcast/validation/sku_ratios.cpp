// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/sku_ratios.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "stepcast/base/units_text.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/report/text_report.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

// Names of one model differ between sources, its number of parameters does not.
std::string work_of(const Projection& p) {
  const ParallelPlan& plan = p.plan;
  std::string text = significant(p.parameters / 1e9, 4) + " B parameters on " +
                     std::to_string(p.gpus) + " GPUs, " + training_text(p.training);
  const auto degree = [&text](const char* name, std::int64_t value) {
    text += value > 1 ? ", " + std::string(name) + " " + std::to_string(value) : "";
  };
  degree("tp", plan.tp);
  degree("cp", plan.cp);
  degree("pp", plan.pp);
  degree("vpp", plan.vpp);
  degree("ep", plan.ep);
  degree("etp", plan.etp);
  degree("fsdp", plan.fsdp);
  text += ", zero " + std::to_string(plan.zero);
  return plan.pp > 1 ? text + ", " + std::string(name(plan.schedule)) : text;
}

struct Rates {
  std::string software;
  std::vector<std::string> ids;
  std::vector<double> measured;
  std::vector<double> predicted;
};

SkuRate rate_of(const std::string& gpu, const Rates& rates) {
  return {gpu, rates.software, rates.ids, median(rates.measured), median(rates.predicted)};
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

std::vector<SkuPair> sku_pairs(const std::vector<TimedRun>& runs) {
  std::map<std::string, std::map<std::string, Rates>> by_work;
  for (const TimedRun& run : runs) {
    Rates& rates = by_work[work_of(run.projection)][run.projection.gpu];
    rates.software = rates.ids.empty() ? run.projection.software : rates.software;
    rates.ids.push_back(run.id);
    rates.measured.push_back(run.measured);
    rates.predicted.push_back(run.predicted());
  }
  std::vector<SkuPair> pairs;
  for (const auto& [work, gpus] : by_work) {
    for (auto first = gpus.begin(); first != gpus.end(); ++first) {
      for (auto second = std::next(first); second != gpus.end(); ++second) {
        pairs.push_back(
            {work, rate_of(first->first, first->second), rate_of(second->first, second->second)});
      }
    }
  }
  return pairs;
}

double median_error(const std::vector<SkuPair>& pairs) {
  std::vector<double> errors(pairs.size());
  std::transform(pairs.begin(), pairs.end(), errors.begin(),
                 [](const SkuPair& pair) { return std::abs(pair.error()); });
  return errors.empty() ? 0.0 : median(errors);
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
