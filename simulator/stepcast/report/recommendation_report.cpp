// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/recommendation_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/recommendation_rows.hpp"
#include "stepcast/report/training_run_report.hpp"
#include "stepcast/sweep/run_choice.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

Json limits_json(const RunLimits& limits) {
  Json json = Json::object();
  if (limits.days) {
    json["days"] = *limits.days;
  }
  if (limits.budget) {
    json["budget"] = *limits.budget;
  }
  if (limits.gpus) {
    json["gpus"] = *limits.gpus;
  }
  return json;
}

Json searched_counts_json(const SearchedPlans& searched) {
  return {{"plans", searched.plans},
          {"priced", searched.priced},
          {"bounded", searched.bounded},
          {"refused", searched.refused}};
}

constexpr std::string_view kCandidate =
    "tokens_per_second_per_gpu mfu step_time_s peak_memory_bytes power_w plan";

Json candidate_json(const RunCandidate& candidate) {
  const Projection& p = candidate.projection;
  const Columns<Projection>& numbers = projection_columns();
  Json json = numbers.json("gpus nodes feasible", p);
  if (p.run) {
    json.update(training_run_json(p));
    numbers.add(kCandidate, p, json);
    Json settings = Json::object();
    for (const auto& [key, value] : candidate.searched.settings) {
      settings[key] = value;
    }
    json["settings"] = std::move(settings);
  } else {
    json["reasons"] = p.reasons;
  }
  json["proven"] = candidate.proven;
  json["searched"] = searched_counts_json(candidate.searched);
  return json;
}

Json answer_json(const RecommendedGpu& gpu, const RunLimits& limits) {
  Json json = {{"gpu", gpu.gpu}};
  for (const AnswerKind& kind : kAnswerKinds) {
    if (const std::optional<std::size_t>& place = gpu.*kind.place) {
      json[std::string(kind.key)] = candidate_json(gpu.candidates[*place]);
    }
  }
  if (!gpu.fewest) {
    json["emptied_by"] = emptied_by(gpu, limits);
  }
  return json;
}

// Members whose runs have none are empty cells.
std::string candidate_line(const RecommendedGpu& gpu, std::size_t place, const RunLimits& limits) {
  const RunCandidate& candidate = gpu.candidates[place];
  const Projection& p = candidate.projection;
  std::string answers;
  for (const AnswerKind& kind : kAnswerKinds) {
    if (gpu.*kind.place == place) {
      answers += (answers.empty() ? "" : " ") + std::string(kind.key);
    }
  }
  const Columns<Projection>& numbers = projection_columns();
  return csv_cell(p.model) + "," + csv_cell(gpu.gpu) + "," + numbers.csv_cells("gpus feasible", p) +
         "," + (stays_within(candidate, limits) ? "true" : "false") + "," + answers + "," +
         training_run_cells(p) + "," +
         (p.run ? numbers.csv_cells(kCandidate, p) : Columns<Projection>::no_cells(kCandidate)) +
         "," + numbers.csv_cells("reason", p) + "\n";
}

}  // namespace

nlohmann::ordered_json recommendation_to_json(const std::vector<RecommendedGpu>& gpus,
                                              const RunLimits& limits, const std::string& version) {
  Json json = {{"schema_version", kJsonSchemaVersion},
               {"context", {{"program", "stepcast"}, {"version", version}}},
               {"limits", limits_json(limits)},
               {"headline", recommendation_headline(gpus, limits)},
               {"answers", Json::array()},
               {"pareto", Json::array()},
               {"searched", Json::array()}};
  for (const RecommendedGpu& gpu : gpus) {
    json["answers"].push_back(answer_json(gpu, limits));
    for (const RunCandidate& candidate : gpu.candidates) {
      Json row = {{"gpu", gpu.gpu}};
      row.update(candidate_json(candidate));
      json["searched"].push_back(std::move(row));
    }
  }
  for (const PlacedCandidate& placed : pareto_of(gpus, limits)) {
    json["pareto"].push_back(projection_columns().json(
        "gpu gpus days gpu_hours price", gpus[placed.gpu].candidates[placed.candidate].projection));
  }
  return json;
}

std::string recommendation_to_csv(const std::vector<RecommendedGpu>& gpus,
                                  const RunLimits& limits) {
  std::string text = "model,gpu,gpus,feasible,within_limits,answer," +
                     Columns<Projection>::csv_titles(kRunColumns) + "," +
                     Columns<Projection>::csv_titles(kCandidate) + ",reason\n";
  for (const RecommendedGpu& gpu : gpus) {
    for (std::size_t i = 0; i < gpu.candidates.size(); ++i) {
      text += candidate_line(gpu, i, limits);
    }
  }
  return text;
}

}  // namespace stepcast
