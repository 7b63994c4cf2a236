// SPDX-License-Identifier: Apache-2.0
// Simulator::diagnose_report(): why a run is slower than its projection.
#include <nlohmann/json.hpp>

#include "importers/csv_rows.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/diagnosis/diagnose.hpp"
#include "stepcast/diagnosis/measured_figure.hpp"
#include "stepcast/diagnosis/measured_point.hpp"
#include "stepcast/diagnosis/memory_savings.hpp"
#include "stepcast/diagnosis/varied_run.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/report/diagnosis_report.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {
namespace {

// What is measured of the experiment itself, by the field that says so.
std::vector<std::pair<std::string, std::string>> given_figures(const DiagnoseSettings& settings) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const auto& [field, text] :
       {std::pair("measured", settings.measured), std::pair("step", settings.step),
        std::pair("tflops", settings.tflops), std::pair("mfu", settings.mfu),
        std::pair("memory", settings.memory)}) {
    if (!text.empty()) {
      given.emplace_back(field, text);
    }
  }
  return given;
}

void add_figures(const DiagnoseSettings& settings, std::vector<MeasuredPoint>& points,
                 Diagnostics& diagnostics) {
  std::string rate;  // the first that says how fast the run is
  for (const auto& [field, text] : given_figures(settings)) {
    const auto* const option =
        std::ranges::find(kFigureOptions, field, [](const auto& known) { return known.first; });
    const Location where{field + " " + text, 0, 0};
    const std::optional<Figure> figure = parse_figure(text, option->second);
    if (!figure) {
      diagnostics.error(
          where, "is no such figure; write e.g. " + std::string(figure_example(option->second)));
    } else if (is_of_pace(figure->metric) && !rate.empty()) {
      diagnostics.error(where, "says the same as " + rate + "; leave one of them out");
    } else {
      rate = is_of_pace(figure->metric) ? field : rate;
      points.push_back({{}, *figure});
    }
  }
}

void add_table(const TextSource& source, std::vector<MeasuredPoint>& points,
               Diagnostics& diagnostics) {
  const std::string file = source.file.string();
  const CsvTable table = parse_csv(text_of(source), file, diagnostics);
  for (const CsvRow& csv : table.rows) {
    PointsRow row{{file, csv.line, 0}, {}};
    for (std::size_t i = 0; i < csv.fields.size(); ++i) {
      if (!csv.fields[i].text.empty()) {
        row.cells.emplace_back(table.names[i], csv.fields[i].text);
      }
    }
    const std::vector<MeasuredPoint> of_row = points_of(row, diagnostics);
    points.insert(points.end(), of_row.begin(), of_row.end());
  }
}

// Every point that is given, one of pace first.
std::vector<MeasuredPoint> points_of(const DiagnoseSettings& settings) {
  std::vector<MeasuredPoint> points;
  Diagnostics diagnostics;
  add_figures(settings, points, diagnostics);
  for (const std::string& text : settings.points) {
    try {
      points.push_back(parse_point(text));
    } catch (const ConfigError& error) {
      diagnostics.error(error.diagnostics().front().where, error.diagnostics().front().message);
    }
  }
  if (settings.points_file) {
    add_table(*settings.points_file, points, diagnostics);
  }
  const auto first = std::ranges::find_if(
      points, [](const MeasuredPoint& point) { return is_of_pace(point.measured.metric); });
  if (first == points.end() && diagnostics.empty()) {
    diagnostics.error({"measured", 0, 0},
                      "nothing says how fast the run is; give 200tok/s, or a step, TFLOP/s or MFU");
  }
  diagnostics.throw_if_any();
  std::rotate(points.begin(), first, first + 1);
  return points;
}

// What the request that failed asked for.
std::optional<Bytes> tried_of(const DiagnoseSettings& settings) {
  if (settings.tried.empty()) {
    return std::nullopt;
  }
  const std::optional<Figure> figure = parse_figure(settings.tried, Metric::kPeakMemory);
  if (!figure) {
    throw ConfigError({"tried " + settings.tried, 0, 0}, "is no size; write e.g. 2GiB");
  }
  return Bytes(figure->value);
}

// Nothing that is measured says more of a run that did not run.
void check_out_of_memory(const DiagnoseSettings& settings) {
  Diagnostics diagnostics;
  if (!settings.tried.empty() && !settings.out_of_memory) {
    diagnostics.error({"tried " + settings.tried, 0, 0},
                      "is of a run that is out of memory; add --out-of-memory");
  }
  const bool measured = !given_figures(settings).empty() || !settings.points.empty() ||
                        settings.points_file.has_value();
  if (settings.out_of_memory && measured) {
    diagnostics.error({"out_of_memory", 0, 0},
                      "is of a run that was not measured; leave the figures out");
  }
  diagnostics.throw_if_any();
}

Report memory_report_of(const ExperimentTree& tree, const Job& job, ProfileCache& profiles,
                        const DiagnoseSettings& settings, const ReportForm& form) {
  const VariedRun run(tree, job.experiment, profiles, job.cost);
  const MemoryDiagnosis d = diagnose_memory(run, job.experiment, tried_of(settings));
  return report_of(form, {d.projection.priced, [&] { return to_text(d); },
                          [&] { return to_json(d); }, [&] { return to_csv(d); }});
}

}  // namespace

Report Simulator::diagnose_report(const ExperimentSource& experiment,
                                  const DiagnoseSettings& settings, const ReportForm& form) const {
  return answer_of([&] {
    const DataRoot data{data_};
    check_out_of_memory(settings);
    std::vector<MeasuredPoint> points =
        settings.out_of_memory ? std::vector<MeasuredPoint>{} : points_of(settings);
    const ExperimentTree tree = tree_of(experiment, data);
    const Job job = job_of(tree, data);
    ProfileCache profiles(data);
    if (settings.out_of_memory) {
      return memory_report_of(tree, job, profiles, settings, form);
    }
    const Diagnosis d = diagnose({tree, job.experiment, std::move(points),
                                  expected_error(load_accuracy(data), job.experiment)},
                                 profiles, job.cost);
    return report_of(form, {d.projection.priced, [&] { return to_text(d); },
                            [&] { return to_json(d); }, [&] { return to_csv(d); }});
  });
}

}  // namespace stepcast
