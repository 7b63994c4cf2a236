// SPDX-License-Identifier: Apache-2.0
// Calls of the public header that read measurements: validation and canonical records.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "importers/measurement_files.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/config/told_name.hpp"
#include "stepcast/report/published_runs_report.hpp"
#include "stepcast/report/validation_report.hpp"
#include "stepcast/stepcast.hpp"
#include "stepcast/validation/accuracy_groups.hpp"
#include "stepcast/validation/error_summary.hpp"
#include "stepcast/validation/timed_runs.hpp"
#include "stepcast/validation/validate.hpp"
#include "trace_reader/step_trace.hpp"

namespace stepcast {
namespace {

using Files = std::vector<std::filesystem::path>;

bool is_metric(Metric metric, const std::string& wanted) {
  const bool memory = metric == Metric::kPeakMemory || metric == Metric::kFits;
  return wanted == "all" || memory == (wanted == "memory");
}

std::optional<Experiment> experiment_of_traces(const ValidateSettings& settings, const Files& files,
                                               const DataRoot& data) {
  if (settings.experiment.empty()) {
    return std::nullopt;
  }
  if (std::ranges::none_of(files, is_step_trace)) {
    throw ConfigError({"experiment " + settings.experiment, 0, 0},
                      "none of the files is a profiler trace, which it is for");
  }
  return load_experiment(std::filesystem::path(settings.experiment), {}, data);
}

// What takes several runs at a time: the choice among plans, the ratio of two GPUs.
Report report_on_groups(const std::vector<TimedRun>& runs, ValidateSettings::Of of,
                        const ReportForm& form) {
  if (of == ValidateSettings::Of::kRegret) {
    return report_of(
        form, {true, [&] { return regret_to_text(runs); }, [&] { return regret_to_json(runs); }});
  }
  const std::vector<SkuPair> pairs = sku_pairs(runs);
  return report_of(form, {true, [&] { return sku_pairs_to_text(pairs); },
                          [&] { return sku_pairs_to_json(pairs); }});
}

std::string text_of(const std::vector<ValidationRow>& rows, const ValidateSettings& settings,
                    ReportFormat format) {
  if (settings.of == ValidateSettings::Of::kAccuracy) {
    return validation_to_accuracy(rows);
  }
  if (settings.of == ValidateSettings::Of::kPublished) {
    return validation_to_published(rows);
  }
  const ErrorBaseline baseline =
      settings.baseline ? ErrorBaseline::kConstantRate : ErrorBaseline::kNone;
  return format == ReportFormat::kJson  ? validation_to_json(rows, std::string(version()))
         : format == ReportFormat::kCsv ? validation_to_csv(rows)
                                        : validation_to_text(rows, baseline);
}

// Measured against predicted tokens/s, of each run once, for the page.
nlohmann::ordered_json points_of(const std::vector<ValidationRow>& rows) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const ValidationRow* run : timed_once(rows)) {
    points.push_back({run->id, run->traits->source, run->traits->gpu, run->rate_factor()});
  }
  return {{"columns", {"id", "source", "gpu", "measured_over_predicted"}},
          {"runs", std::move(points)}};
}

Report report_on_accuracy(const std::vector<ValidationRow>& rows, const ValidateSettings& settings,
                          const ReportForm& form) {
  std::vector<AccuracyGroup> groups = accuracy_groups(rows);
  if (!settings.against.empty()) {
    compare_groups(
        text_of(TextSource{.file = settings.against, .text = {}, .seen = {}}, kLargestLines),
        settings.against, groups);
  }
  return report_of(form,
                   {!groups.empty(), [&] { return groups_to_text(rows, groups); },
                    [&] { return groups_to_json(rows, groups); }},
                   {PageKind::kAccuracy, "What stepcast predicts, and what was measured",
                    [&] { return points_of(rows); }});
}

}  // namespace

Report Simulator::validate_report(const ValidateSettings& settings, const ReportForm& form) const {
  return answer_of([&]() -> Report {
    using Of = ValidateSettings::Of;
    const DataRoot data{data_};
    const CostModel cost = cost_model_of(settings.backends, data);
    const Files files(settings.files.begin(), settings.files.end());
    if (settings.of == Of::kRegret || settings.of == Of::kSkuRatios) {
      return report_on_groups(timed_runs(files, data, cost, all_importers()), settings.of, form);
    }
    const std::optional<Experiment> of_traces = experiment_of_traces(settings, files, data);
    std::vector<ValidationRow> rows = validate_files(files, data, cost, all_importers(), of_traces);
    const bool compared = std::ranges::any_of(
        rows, [](const ValidationRow& row) { return row.predicted.has_value(); });
    std::erase_if(
        rows, [&](const ValidationRow& row) { return !is_metric(row.metric, settings.metric); });
    if (settings.groups || form.page) {
      return report_on_accuracy(rows, settings, form);
    }
    return {compared, text_of(rows, settings, form.format)};
  });
}

std::string Simulator::canonical_records(const TextSource& rows) const {
  return answer_of([&] {
    ProfileCache profiles({data_});
    return to_json_lines(
        import_records(text_of(rows, kLargestLines), told_name(rows.file), profiles));
  });
}

}  // namespace stepcast
