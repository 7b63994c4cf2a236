// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/validation_report.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/validation/error_summary.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

std::string cell(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

std::string as_percent(double share) { return significant(100.0 * share, 3); }

Json row_json(const ValidationRow& row) {
  Json object = {{"file", row.file},
                 {"id", row.id},
                 {"gpu", row.gpu},
                 {"group", row.group},
                 {"metric", row.metric_text()},
                 {"measured", row.measured}};
  if (row.predicted) {
    object["predicted"] = *row.predicted;
    object["error"] = row.error();
  } else {
    object["skipped"] = row.skipped;
  }
  if (row.held_out) {
    object["held_out"] = *row.held_out;
  }
  if (row.traits) {
    object["source"] = row.traits->source;
  }
  if (row.expected_error) {
    object["expected_error"] = to_json(*row.expected_error);
  }
  return object;
}

Json summary_json(const ErrorSummary& s) {
  Json object = {{"file", s.file},
                 {"group", s.group},
                 {"metric", s.metric},
                 {"count", s.count},
                 {"skipped", s.skipped},
                 {"mean_abs_error", s.mean_abs_error},
                 {"median_abs_error", s.median_abs_error},
                 {"p90_abs_error", s.p90_abs_error},
                 {"bias", s.bias},
                 {"within_10", s.within_10},
                 {"within_20", s.within_20},
                 {"spearman", s.spearman}};
  if (s.constant_rate) {
    object["constant_rate"] = {{"mean_abs_error", s.constant_rate->mean_abs_error},
                               {"median_abs_error", s.constant_rate->median_abs_error},
                               {"p90_abs_error", s.constant_rate->p90_abs_error}};
  }
  if (s.fits) {
    object["balanced_accuracy"] = s.fits->balanced_accuracy();
    if (s.fits->fitting) {
      object["right_of_fitting"] = *s.fits->fitting;
    }
    if (s.fits->not_fitting) {
      object["right_of_not_fitting"] = *s.fits->not_fitting;
    }
  }
  return object;
}

Json coverage_json(const IntervalCoverage& coverage) {
  return {{"group", coverage.group},         {"runs", coverage.runs},
          {"sources", coverage.sources},     {"inside_80", coverage.inside_80},
          {"inside_90", coverage.inside_90}, {"half_width_80", coverage.half_width_80}};
}

std::string skipped_lines(const std::vector<ValidationRow>& rows) {
  std::map<std::string, std::size_t> reasons;
  for (const ValidationRow& row : rows) {
    if (!row.predicted) {
      ++reasons[row.skipped];
    }
  }
  std::string text = reasons.empty() ? "" : "\nSkipped rows, by reason\n";
  for (const auto& [reason, count] : reasons) {
    text += "  " + cell(std::to_string(count), 6) + reason + "\n";
  }
  return text;
}

std::string right_share(const std::optional<double>& share) {
  return share ? as_percent(*share) + " %" : "none here";
}

// Whether runs fit in memory, by class.
std::string fit_lines(const std::vector<ErrorSummary>& summaries) {
  std::string text;
  for (const ErrorSummary& s : summaries) {
    if (s.fits && s.count > 0) {
      text += "  " + cell(s.group, 36) + cell(std::to_string(s.count) + " runs", 12) +
              "balanced accuracy " + as_percent(s.fits->balanced_accuracy()) +
              " %: right of those that fit " + right_share(s.fits->fitting) +
              ", of those that do not " + right_share(s.fits->not_fitting) + "\n";
    }
  }
  return text.empty() ? "" : "\nFits in memory or not\n" + text;
}

// What one rate a group, fitted on its own rows, would give.
std::string constant_rate_lines(const std::vector<ErrorSummary>& summaries) {
  std::string text;
  for (const ErrorSummary& s : summaries) {
    if (s.constant_rate) {
      text += "  " + cell(s.group, 36) + cell(s.metric, 27) +
              cell(as_percent(s.median_abs_error) + " against " +
                       as_percent(s.constant_rate->median_abs_error),
                   22) +
              as_percent(s.mean_abs_error) + " against " +
              as_percent(s.constant_rate->mean_abs_error) + "\n";
    }
  }
  return text.empty()
             ? ""
             : "\nErrors in % against those of one TFLOP/s for every run, fitted on the same "
               "rows\n  " +
                   cell("group", 36) + cell("metric", 27) + cell("median", 22) + "mean\n" + text;
}

}  // namespace

std::string coverage_to_text(const std::vector<IntervalCoverage>& groups) {
  if (groups.empty()) {
    return "";
  }
  TextTable table({{"  runs whose source is left out"},
                   {"runs", Align::kRight},
                   {"sources", Align::kRight},
                   {"in 80 %", Align::kRight},
                   {"in 90 %", Align::kRight},
                   {"half of the 80 %, median", Align::kRight}});
  for (const IntervalCoverage& group : groups) {
    table.add_row({"  " + group.group, std::to_string(group.runs), std::to_string(group.sources),
                   decimals(100.0 * group.inside_80, 1) + " %",
                   decimals(100.0 * group.inside_90, 1) + " %",
                   decimals(100.0 * group.half_width_80, 1) + " %"});
  }
  return "\nInside the intervals that are stated\n" + table.text();
}

std::string validation_to_text(const std::vector<ValidationRow>& rows, ErrorBaseline baseline) {
  const std::vector<ErrorSummary> summaries = summarize(rows);
  std::string text = "Predicted against measured; errors in % of the measured value\n\n";
  text += cell("group", 36) + cell("metric", 27) + cell("rows", 6) + cell("skipped", 9) +
          cell("median", 8) + cell("mean", 8) + cell("p90", 8) + cell("bias", 8) +
          cell("in 10 %", 9) + cell("in 20 %", 9) + "rank\n";
  for (const ErrorSummary& s : summaries) {
    const bool total = s.group == "all";
    // Of nothing that was compared there is no error, not one of 0.
    const auto error = [&s](double value) { return s.count > 0 ? as_percent(value) : "-"; };
    if (!s.fits) {
      text += cell(total ? s.file : s.group, 36) + cell(s.metric, 27) +
              cell(std::to_string(s.count), 6) + cell(std::to_string(s.skipped), 9) +
              cell(error(s.median_abs_error), 8) + cell(error(s.mean_abs_error), 8) +
              cell(error(s.p90_abs_error), 8) + cell(error(s.bias), 8) +
              cell(error(s.within_10), 9) + cell(error(s.within_20), 9) +
              (s.count > 0 ? significant(s.spearman, 2) : "-") + "\n";
    }
  }
  return text + fit_lines(summaries) +
         (baseline == ErrorBaseline::kConstantRate ? constant_rate_lines(summaries) : "") +
         coverage_to_text(interval_coverage(rows)) + skipped_lines(rows);
}

std::string validation_to_csv(const std::vector<ValidationRow>& rows) {
  std::string text = "file,id,gpu,group,metric,measured,predicted,error,skipped,held_out\n";
  for (const ValidationRow& row : rows) {
    for (const std::string& name : {row.file, row.id, row.gpu, row.group, row.metric_text()}) {
      text += csv_cell(name) + ",";
    }
    text += shortest_text(row.measured) + ",";
    text += row.predicted ? shortest_text(*row.predicted) + "," + shortest_text(row.error()) : ",";
    const char* half = row.held_out.value_or(false) ? "true" : "false";
    text += "," + csv_cell(row.skipped) + "," + (row.held_out ? half : "") + "\n";
  }
  return text;
}

std::string validation_to_json(const std::vector<ValidationRow>& rows,
                               const std::string& program_version) {
  Json object = {{"schema_version", 1},
                 {"context", {{"program", "stepcast"}, {"version", program_version}}},
                 {"rows", Json::array()},
                 {"summary", Json::array()},
                 {"coverage", Json::array()}};
  for (const ValidationRow& row : rows) {
    object["rows"].push_back(row_json(row));
  }
  for (const ErrorSummary& summary : summarize(rows)) {
    object["summary"].push_back(summary_json(summary));
  }
  for (const IntervalCoverage& coverage : interval_coverage(rows)) {
    object["coverage"].push_back(coverage_json(coverage));
  }
  return json_dump(object, 1) + "\n";
}

}  // namespace stepcast
