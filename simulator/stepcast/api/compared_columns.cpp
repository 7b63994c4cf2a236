// SPDX-License-Identifier: Apache-2.0
// Calls of the public header that compare: experiments side by side, and GPUs for a training run.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "pages/page_charts.hpp"
#include "pages/svg_plot.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/column_set.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/report/comparison_report.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {
namespace {

// "llama3.1_8b on mi300x, h200_sxm, each with 128 nodes"; of many columns the first ones.
std::string title_of(const std::vector<ComparedColumn>& columns) {
  constexpr std::size_t kMostNamed = 5;
  ColumnLabels labels = labels_apart(columns);
  const std::size_t more = columns.size() > kMostNamed ? columns.size() - kMostNamed + 1 : 0;
  labels.own.resize(columns.size() - more);
  return columns.front().projection.model + " on " + text_list(labels.own) +
         (more > 0 ? " and " + std::to_string(more) + " more" : "") +
         (labels.shared.empty() ? "" : ", each with " + labels.shared);
}

}  // namespace

Report Simulator::columns_report(const std::vector<ColumnSource>& columns, const ReportForm& form,
                                 const CompareSettings& settings) const {
  return answer_of([&] {
    Diagnostics diagnostics;
    check_threads(settings.threads, diagnostics);
    if (columns.empty()) {
      diagnostics.error({"experiments", 0, 0}, "there is none to compare; give at least one");
    }
    diagnostics.throw_if_any();
    const DataRoot data{data_};
    const ColumnSet set(columns, settings, data);
    const std::vector<ComparedColumn>& all = set.columns();
    const bool any = std::ranges::any_of(
        all, [](const ComparedColumn& column) { return column.projection.feasible(); });
    Report report =
        report_of(form,
                  {any, [&] { return comparison_to_text(all, form.width); },
                   [&] { return comparison_to_json(all, std::string(version())); },
                   [&] { return comparison_to_csv(all); }},
                  {PageKind::kComparison, title_of(all), [&] { return comparison_charts(all); },
                   [&] { return comparison_to_svg(title_of(all), all); }});
    set.save();
    return report;
  });
}

Report Simulator::compare_report(const std::vector<ExperimentSource>& experiments,
                                 const ReportForm& form) const {
  std::vector<ColumnSource> columns;
  for (const ExperimentSource& experiment : experiments) {
    ColumnSource& column = columns.emplace_back(ColumnSource{experiment});
    for (const Assignment& setting : experiment.settings) {
      const std::size_t equals = std::min(setting.text.find('='), setting.text.size());
      column.options.emplace_back(setting.text.substr(0, equals),
                                  setting.text.substr(std::min(equals + 1, setting.text.size())));
    }
  }
  return columns_report(columns, form);
}

}  // namespace stepcast
