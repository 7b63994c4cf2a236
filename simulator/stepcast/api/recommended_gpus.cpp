// SPDX-License-Identifier: Apache-2.0
// Simulator::recommend_report().
#include <algorithm>
#include <nlohmann/json.hpp>

#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/recommended_runs.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/recommendation_report.hpp"
#include "stepcast/result/training_run.hpp"
#include "stepcast/stepcast.hpp"

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

RunQuestion question_of(const ExperimentSource& work, const RecommendSettings& settings,
                        const DataRoot& data) {
  RunQuestion question{sweep_source_of(work),
                       settings.gpus,
                       {},
                       {settings.days, settings.budget, settings.most_gpus},
                       settings.constraints,
                       settings.prove,
                       settings.threads};
  if (!gives_batch(question.work)) {
    question.work = with_usual_batch(question.work, settings.gpus.front(), data);
  }
  question.prices =
      prices_of(settings.gpu_hour_price, names_of_gpus(question, data), "recommend is given no");
  return question;
}

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
    const RunQuestion question = question_of(work, settings, data);
    const std::vector<RecommendedGpu> answers = recommended_runs(question, data);
    const RunLimits& limits = question.limits;
    const bool any = std::any_of(answers.begin(), answers.end(),
                                 [](const RecommendedGpu& gpu) { return gpu.fewest.has_value(); });
    return report_of(
        form,
        {any, [&] { return recommendation_to_text(answers, limits); },
         [&] { return recommendation_to_json(answers, limits, std::string(version())); },
         [&] { return recommendation_to_csv(answers, limits); }},
        {PageKind::kRecommendation, title_of(answers)});
  });
}

}  // namespace stepcast
