// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/validation_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/validation/accuracy_groups.hpp"
#include "stepcast/validation/error_summary.hpp"

namespace stepcast {
namespace {

std::string cell(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

std::string as_error(const Value& share) { return significant(100.0 * share.get<double>(), 3); }
std::string as_correlation(const Value& value) { return significant(value.get<double>(), 2); }
std::string as_indented(const Value& text) { return "  " + as_text(text); }

constexpr auto kValidatedColumns = std::to_array<Column<ValidationRow>>({
    {"file", "", member<&ValidationRow::file>},
    {"id", "", member<&ValidationRow::id>},
    {"gpu", "", member<&ValidationRow::gpu>},
    {"group", "", member<&ValidationRow::group>},
    {"metric", "", member<&ValidationRow::metric_text>},
    {"measured", "", member<&ValidationRow::measured>},
    {"predicted", "", member<&ValidationRow::predicted>},
    {"error", "",
     [](const ValidationRow& row) { return row.predicted ? Value(row.error()) : no_value(); }},
    {"skipped", "",
     [](const ValidationRow& row) { return row.predicted ? no_value() : Value(row.skipped); }},
    {"held_out", "", member<&ValidationRow::held_out>},
    {"probability", "", member<&ValidationRow::odds>},
    {"source", "", member<&ValidationRow::traits, &RunTraits::source>},
    {"expected_error", "",
     [](const ValidationRow& row) {
       return row.expected_error ? to_json(*row.expected_error) : no_value();
     }},
});
constexpr Columns<ValidationRow> kValidated{kValidatedColumns};

constexpr auto kConstantRateColumns = std::to_array<Column<ConstantRate>>({
    {"mean_abs_error", "mean", member<&ConstantRate::mean_abs_error>, as_error},
    {"median_abs_error", "median", member<&ConstantRate::median_abs_error>, as_error},
    {"p90_abs_error", "p90", member<&ConstantRate::p90_abs_error>, as_error},
});
constexpr Columns<ConstantRate> kConstantRates{kConstantRateColumns};

constexpr auto kSummaryColumns = std::to_array<Column<ErrorSummary>>({
    {"file", "", member<&ErrorSummary::file>},
    {"group", "group", member<&ErrorSummary::group>},
    {"metric", "metric", member<&ErrorSummary::metric>},
    {"count", "rows", member<&ErrorSummary::count>},
    {"skipped", "skipped", member<&ErrorSummary::skipped>},
    {"mean_abs_error", "mean", member<&ErrorSummary::mean_abs_error>, as_error},
    {"median_abs_error", "median", member<&ErrorSummary::median_abs_error>, as_error},
    {"p90_abs_error", "p90", member<&ErrorSummary::p90_abs_error>, as_error},
    {"bias", "bias", member<&ErrorSummary::bias>, as_error},
    {"within_10", "in 10 %", member<&ErrorSummary::within_10>, as_error},
    {"within_20", "in 20 %", member<&ErrorSummary::within_20>, as_error},
    {"spearman", "rank", member<&ErrorSummary::spearman>, as_correlation},
    {"constant_rate", "", nested<kConstantRates, &ErrorSummary::constant_rate>},
    {"balanced_accuracy", "", member<&ErrorSummary::fits, &FitRates::balanced_accuracy>, as_error},
    {"right_of_fitting", "", member<&ErrorSummary::fits, &FitRates::fitting>, as_error},
    {"right_of_not_fitting", "", member<&ErrorSummary::fits, &FitRates::not_fitting>, as_error},
});
constexpr Columns<ErrorSummary> kSummaries{kSummaryColumns};

constexpr auto kCoverageColumns = std::to_array<Column<IntervalCoverage>>({
    {"group", "  runs whose source is left out", member<&IntervalCoverage::group>, as_indented,
     Align::kLeft},
    {"runs", "runs", member<&IntervalCoverage::runs>},
    {"sources", "sources", member<&IntervalCoverage::sources>},
    {"inside_80", "in 80 %", member<&IntervalCoverage::inside_80>, as_percent<1>},
    {"inside_90", "in 90 %", member<&IntervalCoverage::inside_90>, as_percent<1>},
    {"half_width_80", "half of the 80 %, median", member<&IntervalCoverage::half_width_80>,
     as_percent<1>},
    {"score_80", "score 80 %", member<&IntervalCoverage::score_80>, as_number<3>},
    {"score_90", "score 90 %", member<&IntervalCoverage::score_90>, as_number<3>},
});
constexpr Columns<IntervalCoverage> kCoverages{kCoverageColumns};

constexpr auto kOddsColumns = std::to_array<Column<ToldOdds>>({
    {"from", "  from", member<&ToldOdds::from>, as_percent<0>},
    {"to", "to", member<&ToldOdds::to>, as_percent<0>},
    {"runs", "runs", member<&ToldOdds::runs>},
    {"told", "told, mean", member<&ToldOdds::told>, as_percent<1>},
    {"ran", "ran", member<&ToldOdds::ran>, as_percent<1>},
});
constexpr Columns<ToldOdds> kOdds{kOddsColumns};

constexpr auto kAccuracyColumns = std::to_array<Column<AccuracyGroup>>({
    {"axis", "  runs by", member<&AccuracyGroup::axis>, as_indented, Align::kLeft},
    {"name", "", member<&AccuracyGroup::name>, as_text, Align::kLeft},
    {"runs", "runs", member<&AccuracyGroup::runs>},
    {"sources", "sources", member<&AccuracyGroup::sources>},
    {"median_abs_error", "median", member<&AccuracyGroup::median_abs_error>, as_percent<1>},
    {"median_before", "before", member<&AccuracyGroup::median_before>, as_percent<1>},
    {"bias", "bias", member<&AccuracyGroup::bias>, as_percent<1>},
    {"inside_80", "in 80 %", member<&AccuracyGroup::inside_80>, as_percent<1>},
    {"inside_90", "in 90 %", member<&AccuracyGroup::inside_90>, as_percent<1>},
});
constexpr Columns<AccuracyGroup> kAccuracies{kAccuracyColumns};

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

// As many blanks follow a cell of the table of errors as its column is wide.
std::string error_line(const std::vector<std::string>& cells) {
  constexpr std::array<std::size_t, 10> kWidths = {36, 27, 6, 9, 8, 8, 8, 8, 9, 9};
  std::string text;
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    text += cell(cells[i], kWidths[i]);
  }
  return text + cells.back() + "\n";
}

std::string error_lines(const std::vector<ErrorSummary>& summaries) {
  constexpr std::string_view kShown =
      "group metric count skipped median_abs_error mean_abs_error p90_abs_error bias within_10 "
      "within_20 spearman";
  constexpr std::size_t kFirstError = 4;
  std::vector<std::string> titles;
  kSummaries.each(kShown, [&titles](const auto& column) { titles.emplace_back(column.title); });
  std::string text = error_line(titles);
  for (const ErrorSummary& s : summaries) {
    if (s.fits) {
      continue;
    }
    std::vector<std::string> cells = kSummaries.cells(kShown, s);
    cells.front() = s.group == "all" ? s.file : s.group;
    if (s.count == 0) {  // of nothing that was compared there is no error, not one of 0
      std::fill(cells.begin() + kFirstError, cells.end(), "-");
    }
    text += error_line(cells);
  }
  return text;
}

std::string right_share(std::string_view key, const ErrorSummary& s) {
  return has_value(kSummaries.value(key, s)) ? kSummaries.text(key, s) + " %" : "none here";
}

// Whether runs fit in memory, by class.
std::string fit_lines(const std::vector<ErrorSummary>& summaries) {
  std::string text;
  for (const ErrorSummary& s : summaries) {
    if (s.fits && s.count > 0) {
      text += "  " + cell(s.group, 36) + cell(std::to_string(s.count) + " runs", 12) +
              "balanced accuracy " + kSummaries.text("balanced_accuracy", s) +
              " %: right of those that fit " + right_share("right_of_fitting", s) +
              ", of those that do not " + right_share("right_of_not_fitting", s) + "\n";
    }
  }
  return text.empty() ? "" : "\nFits in memory or not\n" + text;
}

// What one rate a group, fitted on its own rows, would give.
std::string constant_rate_lines(const std::vector<ErrorSummary>& summaries) {
  std::string text;
  for (const ErrorSummary& s : summaries) {
    if (s.constant_rate) {
      const auto both = [&s](std::string_view key) {
        return kSummaries.text(key, s) + " against " + kConstantRates.text(key, *s.constant_rate);
      };
      text += "  " + cell(s.group, 36) + cell(s.metric, 27) + cell(both("median_abs_error"), 22) +
              both("mean_abs_error") + "\n";
    }
  }
  return text.empty()
             ? ""
             : "\nErrors in % against those of one TFLOP/s for every run, fitted on the same "
               "rows\n  " +
                   cell("group", 36) + cell("metric", 27) + cell("median", 22) + "mean\n" + text;
}

// Errors are known no better than this.
std::string thousandths_text(double value) { return fixed_decimal(value, 3); }

std::string json_string(const std::string& text) { return json_dump(nlohmann::json(text)); }

std::string traits_text(const RunTraits& traits) {
  return R"("gpu": )" + json_string(traits.gpu) + R"(, "family": )" +
         json_string(std::string(name(traits.family))) + R"(, "dtype": )" +
         json_string(std::string(name(traits.dtype))) + R"(, "software": )" +
         json_string(traits.software) + R"(, "stack": )" +
         json_string(std::string(name(traits.stack))) + R"(, "source": )" +
         json_string(traits.source);
}

// Runs that differ in the number of their GPUs alone.
struct AlikeRuns {
  std::string gpus;
  std::string errors;

  void add(std::int64_t count, double error) {
    gpus += (gpus.empty() ? "" : ", ") + std::to_string(count);
    errors += (errors.empty() ? "" : ", ") + thousandths_text(error);
  }
};

std::vector<std::string> run_lines(const std::map<std::string, AlikeRuns>& runs) {
  return each_of(runs, [](const auto& run) {
    const auto& [traits, alike] = run;
    return "{" + traits + R"(, "gpus": [)" + alike.gpus + R"(], "errors": [)" + alike.errors + "]}";
  });
}

// One line each.
std::string listed_lines(const std::vector<std::string>& lines) {
  return (lines.empty() ? "" : "\n    ") + text_list(lines, ",\n    ") + "\n  ";
}

}  // namespace

std::string coverage_to_text(const std::vector<IntervalCoverage>& groups) {
  return groups.empty()
             ? ""
             : "\nInside the intervals that are stated\n" +
                   kCoverages
                       .table(
                           "group runs sources inside_80 inside_90 half_width_80 score_80 "
                           "score_90",
                           groups)
                       .text();
}

std::string odds_to_text(const std::vector<ToldOdds>& groups) {
  return groups.empty() ? ""
                        : "\nHow sure to run they were told, and how many did\n" +
                              kOdds.table("from to runs told ran", groups).text();
}

std::string validation_to_text(const std::vector<ValidationRow>& rows, ErrorBaseline baseline) {
  const std::vector<ErrorSummary> summaries = summarize(rows);
  return "Predicted against measured; errors in % of the measured value\n\n" +
         error_lines(summaries) + fit_lines(summaries) + odds_to_text(told_odds(rows)) +
         (baseline == ErrorBaseline::kConstantRate ? constant_rate_lines(summaries) : "") +
         coverage_to_text(interval_coverage(rows)) + skipped_lines(rows);
}

std::string validation_to_csv(const std::vector<ValidationRow>& rows) {
  return kValidated.csv("file id gpu group metric measured predicted error skipped held_out", rows);
}

std::string validation_to_json(const std::vector<ValidationRow>& rows,
                               const std::string& program_version) {
  const Value object = {{"schema_version", kJsonSchemaVersion},
                        {"context", {{"program", "stepcast"}, {"version", program_version}}},
                        {"rows", kValidated.json_rows(rows)},
                        {"summary", kSummaries.json_rows(summarize(rows))},
                        {"coverage", kCoverages.json_rows(interval_coverage(rows))},
                        {"odds", kOdds.json_rows(told_odds(rows))}};
  return json_dump(object, 1) + "\n";
}

std::string groups_to_text(const std::vector<ValidationRow>& rows,
                           const std::vector<AccuracyGroup>& groups) {
  constexpr std::string_view kShown =
      "axis name runs sources median_abs_error bias inside_80 inside_90";
  constexpr std::string_view kBefore = "axis name runs median_abs_error median_before";
  const std::vector<AccuracyGroup> worse = worse_groups(groups);
  return "Errors of tokens/s, predicted against measured\n" +
         kAccuracies.table(kShown, groups).text() +
         (worse.empty() ? ""
                        : "\nWorse than before by two points or more\n" +
                              kAccuracies.table(kBefore, worse).text()) +
         odds_to_text(told_odds(rows)) + coverage_to_text(interval_coverage(rows));
}

nlohmann::ordered_json groups_to_json(const std::vector<ValidationRow>& rows,
                                      const std::vector<AccuracyGroup>& groups) {
  return {{"schema_version", kJsonSchemaVersion},
          {"context", {{"program", "stepcast"}}},
          {"groups", kAccuracies.json_rows(groups)},
          {"worse", kAccuracies.json_rows(worse_groups(groups))},
          {"coverage", kCoverages.json_rows(interval_coverage(rows))},
          {"odds", kOdds.json_rows(told_odds(rows))},
          {"summary", kSummaries.json_rows(summarize(rows))}};
}

std::string validation_to_accuracy(const std::vector<ValidationRow>& rows) {
  std::map<std::string, std::string> gpus;
  std::set<std::string> files;
  std::map<std::string, AlikeRuns> runs;
  for (const ValidationRow* row : timed_once(rows)) {
    if (row->held_out.value_or(false)) {
      const RunTraits& traits = *row->traits;
      gpus[traits.gpu] = json_string(traits.gpu) + R"(: {"architecture": )" +
                         json_string(traits.architecture) + R"(, "vendor": )" +
                         json_string(traits.vendor) + "}";
      files.insert(row->file);
      runs[traits_text(traits)].add(traits.gpus, std::log(row->rate_factor()));
    }
  }
  std::string source =
      "errors ln(measured / predicted) of the tokens/s of held-out runs, written by "
      "scripts/update_accuracy.sh from the held-out half (validation/held_out.hpp) of "
      "tests/validation:" +
      (files.empty() ? "" : " " + text_list(files));
  const std::vector<std::string> parts = each_of(gpus, [](const auto& gpu) { return gpu.second; });
  return "{\n  \"source\": " + json_string(source) + ",\n  \"gpus\": {" + listed_lines(parts) +
         "},\n  \"runs\": [" + listed_lines(run_lines(runs)) + "]\n}\n";
}

}  // namespace stepcast
