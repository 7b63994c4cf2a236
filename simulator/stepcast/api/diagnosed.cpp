// SPDX-License-Identifier: Apache-2.0
// Simulator::diagnose_report(): why a run is slower than its projection.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "importers/csv_rows.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/compared_trace.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/diagnosis/diagnose.hpp"
#include "stepcast/diagnosis/fastest_way.hpp"
#include "stepcast/diagnosis/measured_figure.hpp"
#include "stepcast/diagnosis/measured_point.hpp"
#include "stepcast/diagnosis/memory_savings.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/published_runs.hpp"
#include "stepcast/experiment/varied_run.hpp"
#include "stepcast/report/diagnosis_report.hpp"
#include "stepcast/stepcast.hpp"
#include "trace_reader/step_parts.hpp"

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
  if (first == points.end() && settings.traces.empty() && diagnostics.empty()) {
    diagnostics.error(
        {"measured", 0, 0},
        "nothing says how fast the run is; give 200tok/s, or a step, TFLOP/s, MFU or a "
        "trace");
  }
  diagnostics.throw_if_any();
  if (first != points.end()) {
    std::rotate(points.begin(), first, first + 1);
  }
  return points;
}

// Parts of a step that neither the trace nor the projection has say nothing.
std::vector<std::size_t> parts_there(const StepParts& traced, const StepParts& projected) {
  std::vector<std::size_t> there;
  for (std::size_t part = 0; part < kStepParts; ++part) {
    if (traced[part] > Seconds{} || projected[part] > Seconds{}) {
      there.push_back(part);
    }
  }
  return there;
}

// A traced step with its parts, and what a variant of the experiment makes of them on the rank that
// was traced, in the state in which it was.
TraceQuestion trace_question_of(const StepComparison& comparison, const CostModel& cost) {
  const ComparisonInput& input = comparison.input;
  const StepParts traced = parts_of(input.measured);
  const StepParts projected = parts_of(input.predicted);
  const std::vector<std::size_t> there = parts_there(traced, projected);
  TraceQuestion question;
  question.traced = {input.file, input.measured.summary.step, {}, input.doubts, input.notes};
  for (const std::size_t part : there) {
    question.traced.parts.push_back(
        {std::string(name_of_part(part)), traced[part], projected[part], part == kWaitingPart});
  }
  question.projected = [there, &cost, rank = input.pipeline_rank,
                        state = input.state](const Variant& variant) {
    const StepParts parts =
        parts_of(predicted_step(variant.experiment, variant.projection, cost, rank, state));
    return each_of(there, [&parts](std::size_t part) { return parts[part]; });
  };
  return question;
}

// Without a figure of pace the traced step is one.
void add_traced_step(const TraceQuestion& trace, std::vector<MeasuredPoint>& points) {
  if (points.empty() || !is_of_pace(points.front().measured.metric)) {
    points.insert(points.begin(), {{}, {Metric::kStepTime, trace.traced.step.value()}});
  }
}

// What the run could be, and what others measured.
void add_what_could_be(const VariedRun& run, const DataRoot& data, Diagnosis& d) {
  constexpr std::size_t kShown = 5;
  const Projection base = run.projected({});
  if (!base.priced) {
    return;  // points with other settings alone divide
  }
  d.best_plan = fastest_plan(run, base);
  d.best_software = fastest_software(run, base, data);
  d.published = nearest_runs(load_published_runs(data), base,
                             accuracy_family(run.experiment().model), kShown);
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
void check_out_of_memory(const DiagnoseSettings& settings, const ReportForm& form) {
  Diagnostics diagnostics;
  if (!settings.tried.empty() && !settings.out_of_memory) {
    diagnostics.error({"tried " + settings.tried, 0, 0},
                      "is of a run that is out of memory; add --out-of-memory");
  }
  const bool measured = !given_figures(settings).empty() || !settings.points.empty() ||
                        settings.points_file.has_value() || !settings.traces.empty();
  if (settings.out_of_memory && measured) {
    diagnostics.error({"out_of_memory", 0, 0},
                      "is of a run that was not measured; leave the figures and traces out");
  }
  if (settings.out_of_memory && form.page) {
    diagnostics.error({"page", 0, 0},
                      "is of a run that was measured; stepcast memory has what a plan needs, and "
                      "stepcast project --html its page");
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

// A figure of the experiment itself and a trace of it must be of steps alike.
void doubt_contradictions(Diagnosis& d) {
  constexpr double kAlike = 1.1;
  const Seconds step = d.projection.time.step;
  if (!d.trace || !d.projection.priced || !d.points.front().settings.empty()) {
    return;
  }
  const Seconds told = (1.0 / d.pace_ratio) * step;
  const double apart = std::max(told / d.trace->step, d.trace->step / told);
  if (apart > kAlike) {
    d.trace->doubts.push_back("the measured figure stands for a step of " + readable(told) +
                              ", the trace has one of " + readable(d.trace->step) +
                              ": give figures of one run");
  }
}

}  // namespace

Report Simulator::diagnose_report(const ExperimentSource& experiment,
                                  const DiagnoseSettings& settings, const ReportForm& form) const {
  return answer_of([&] {
    const DataRoot data{data_};
    check_out_of_memory(settings, form);
    std::vector<MeasuredPoint> points =
        settings.out_of_memory ? std::vector<MeasuredPoint>{} : points_of(settings);
    const ExperimentTree tree = tree_of(experiment, data);
    const Job job = job_of(tree, data);
    ProfileCache profiles(data);
    if (settings.out_of_memory) {
      return memory_report_of(tree, job, profiles, settings, form);
    }
    std::optional<TraceQuestion> trace;
    if (!settings.traces.empty()) {
      trace = trace_question_of(comparison_of(job, {.traces = settings.traces}, data), job.cost);
      add_traced_step(*trace, points);
    }
    Diagnosis d = diagnose({tree, job.experiment, std::move(points),
                            expected_error(load_accuracy(data), job.experiment), std::move(trace)},
                           profiles, job.cost);
    doubt_contradictions(d);
    if (d.projection.priced) {
      add_what_could_be(VariedRun(tree, job.experiment, profiles, job.cost), data, d);
    }
    return report_of(form,
                     {d.projection.priced, [&] { return to_text(d); }, [&] { return to_json(d); },
                      [&] { return to_csv(d); }},
                     {PageKind::kDiagnosis, page_title(d.projection) + ": diagnosis of a run"});
  });
}

}  // namespace stepcast
