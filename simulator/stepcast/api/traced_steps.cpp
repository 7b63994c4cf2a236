// SPDX-License-Identifier: Apache-2.0
// Calls of the public header that write a trace of a step, or read one of a profiler.
#include <nlohmann/json.hpp>

#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/compared_trace.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/report/trace_report.hpp"
#include "stepcast/stepcast.hpp"
#include "stepcast/trace_writer/step_trace.hpp"

namespace stepcast {
namespace {

std::string lines_of(const std::vector<std::string>& texts) {
  return text_list(texts, "", [](const std::string& text) { return text + "\n"; });
}

}  // namespace

Report Simulator::trace(const ExperimentSource& experiment, const TraceSettings& settings) const {
  return answer_of([&]() -> Report {
    const Job job = job_of(experiment, {data_});
    const Projection projection = stepcast::project(job.experiment, job.cost);
    if (!projection.feasible()) {
      return {false, lines_of(projection.reasons)};
    }
    const ParallelPlan& plan = projection.plan;
    if (!settings.every_pipeline_rank && settings.rank >= plan.world()) {
      throw ConfigError({"rank", 0, 0}, "is " + std::to_string(settings.rank) +
                                            ", but the ranks are 0 to " +
                                            std::to_string(plan.world() - 1));
    }
    const std::int64_t traces = settings.every_pipeline_rank ? plan.pp : 1;
    for (std::int64_t number = 0; number < traces; ++number) {
      const std::int64_t rank =
          settings.every_pipeline_rank ? number * plan.apart().pp : settings.rank;
      settings.file(number, [&](const TakeText& take) {
        write_step_trace(job.experiment, projection, job.cost, rank, take);
      });
    }
    return {true};
  });
}

Report Simulator::trace_comparison_report(const ExperimentSource& experiment,
                                          const TraceComparisonSettings& settings,
                                          const ReportForm& form) const {
  return answer_of([&] {
    if (settings.traces.empty()) {
      throw ConfigError({"traces", 0, 0}, "give a trace after the experiment");
    }
    const StepComparison comparison = comparison_of(job_of(experiment, {data_}), settings, {data_});
    return report_of(form,
                     {comparison.input.predicted.priced, [&] { return to_text(comparison); },
                      [&] { return to_json(comparison); }, [&] { return to_csv(comparison); }},
                     {PageKind::kTraceComparison, page_title(comparison.input.projection) +
                                                      " beside " + comparison.input.file});
  });
}

}  // namespace stepcast
