// SPDX-License-Identifier: Apache-2.0
// Calls of the public header that are about one step: its projection, its memory, what explains it,
// one layer of it.
#include <nlohmann/json.hpp>

#include "pages/page_charts.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/api/step_numbers.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/advice.hpp"
#include "stepcast/experiment/comparison.hpp"
#include "stepcast/experiment/deciding_defaults.hpp"
#include "stepcast/experiment/dispatcher_map.hpp"
#include "stepcast/experiment/explain.hpp"
#include "stepcast/experiment/lone_layer_study.hpp"
#include "stepcast/experiment/varied_run.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/step_reports.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {
namespace {

// What an hour of the experiment's GPU costs; it is of a run that the price is asked.
std::optional<GpuHourPrice> price_of(const GpuHourPrices& given, const Experiment& experiment) {
  const std::string& gpu = experiment.cluster.device.name;
  const auto prices = prices_of(given, {gpu}, "the experiment does not run on");
  if (prices.empty()) {
    return std::nullopt;
  }
  if (!experiment.run) {
    throw ConfigError(place_of(given.prices.front(), "price"),
                      "there is no run to have a price; add --tokens 15T");
  }
  return prices.at(gpu);
}

// Of the words of an experiment's layer.
template <typename E, std::size_t N>
E value_of(const std::array<NamedValue<E>, N>& values, const std::string& field,
           const std::string& word) {
  std::string known;
  for (const auto& [name, value] : values) {
    if (name == word) {
      return value;
    }
    known += (known.empty() ? "" : " or ") + std::string(name);
  }
  throw ConfigError({field, 0, 0}, "there is no '" + word + "'; give " + known);
}

LayerQuestion question_of(const LayerSettings& settings) {
  LayerQuestion question;
  question.layer = settings.layer;
  if (!settings.block.empty()) {
    question.part = value_of(kLayerParts, "block", settings.block);
  }
  question.use = settings.forward_only ? LayerUse::kInference : LayerUse::kTraining;
  question.state = value_of(kUnlockedStates, "state", settings.state);
  return question;
}

void refuse(const std::string& field, const std::string& problem) {
  if (!problem.empty()) {
    throw ConfigError({field, 0, 0}, problem);
  }
}

Explanation explanation_of(const Job& job) { return explain(job.experiment, job.cost); }

Explanation advised_explanation_of(const ExperimentTree& tree, const Job& job,
                                   const DataRoot& data) {
  Explanation explanation = explanation_of(job);
  ProfileCache profiles(data);
  explanation.advice =
      advice(VariedRun(tree, job.experiment, profiles, job.cost), explanation.projection);
  return explanation;
}

}  // namespace

StepProjection Simulator::project(const ExperimentSource& experiment) const {
  return answer_of([&] { return step_of(expected_of(job_of(experiment, {data_}), {data_})); });
}

Report Simulator::project_report(const ExperimentSource& experiment, const ReportForm& form,
                                 const ProjectSettings& settings) const {
  return answer_of([&] {
    const DataRoot data{data_};
    const Job job = job_of(experiment, data);
    const std::optional<GpuHourPrice> gpu_hour = price_of(settings.prices, job.experiment);
    Projection p = projection_of(job, data);
    p.gpu_hour = gpu_hour;
    if (form.format != ReportFormat::kCsv || form.page) {
      if (std::string note = note_of(deciding_defaults(job.experiment, p, job.cost, data));
          !note.empty()) {
        p.notes.insert(p.notes.begin(), std::move(note));
      }
      p = with_provenance(job, std::move(p));
    }
    return report_of(form,
                     {p.feasible(), [&] { return to_text(p); }, [&] { return to_json(p); },
                      [&] { return to_csv(p); }, is_tight(p.memory)},
                     {PageKind::kProjection, page_title(p),
                      [&] { return projection_charts(job.experiment, p, job.cost); }});
  });
}

Report Simulator::schedules_report(const ExperimentSource& experiment,
                                   const ReportForm& form) const {
  return answer_of([&] {
    const DataRoot data{data_};
    const Job job = job_of(experiment, data);
    std::vector<Projection> all = compare_schedules(job.experiment, job.cost);
    // What the error is expected from, GPU, model and software, is one for all of them.
    const ExpectedError expected = expected_error(load_accuracy(data), job.experiment);
    for (Projection& projection : all) {
      projection.expected_error = expected;
    }
    return report_of(
        form,
        {any_feasible(all), [&] { return schedules_to_text(all); },
         [&] { return schedules_to_json(all); }, [&] { return schedules_to_csv(all); }},
        {PageKind::kSchedules, page_title(all.front()) + ": pipeline schedules"});
  });
}

Report Simulator::memory_report(const ExperimentSource& experiment, const ReportForm& form) const {
  return answer_of([&] {
    const Projection p = projection_of(job_of(experiment, {data_}), {data_});
    return report_of(
        form, {p.feasible(), [&] { return memory_to_text(p); }, [&] { return memory_to_json(p); },
               [&] { return memory_to_csv(p); }, is_tight(p.memory)});
  });
}

Report Simulator::explain_report(const ExperimentSource& experiment, const ReportForm& form,
                                 OperatorDetail of_operators) const {
  return answer_of([&] {
    const DataRoot data{data_};
    const ExperimentTree tree = tree_of(experiment, data);
    const Job job = job_of(tree, data);
    const Explanation e = advised_explanation_of(tree, job, data);
    const Detail detail =
        of_operators == OperatorDetail::kTerms ? Detail::kTerms : Detail::kDuration;
    return report_of(form,
                     {e.projection.feasible(), [&] { return to_text(e, detail); },
                      [&] { return to_json(e, detail); }, [&] { return to_csv(e, detail); }},
                     {PageKind::kExplanation, page_title(e.projection),
                      [&] { return explanation_charts(job.experiment, e, job.cost); }});
  });
}

Report Simulator::explain_report(const ExperimentSource& first, const ExperimentSource& second,
                                 const ReportForm& form) const {
  return answer_of([&] {
    const Explanation a = explanation_of(job_of(first, {data_}));
    const Explanation b = explanation_of(job_of(second, {data_}));
    return report_of(
        form,
        {a.projection.feasible() && b.projection.feasible(),
         [&] { return difference_to_text(a, b); }, [&] { return difference_to_json(a, b); },
         [&] { return difference_to_csv(a, b); }},
        {PageKind::kDifference, page_title(a.projection) + " and " + page_title(b.projection)});
  });
}

Report Simulator::provenance_report(const ExperimentSource& experiment,
                                    const ReportForm& form) const {
  return answer_of([&] {
    const Job job = job_of(experiment, {data_});
    const Projection p = with_provenance(job, stepcast::project(job.experiment, job.cost));
    return report_of(form,
                     {p.feasible(), [&] { return constants_to_text(p); },
                      [&] { return constants_to_json(p); }, [&] { return constants_to_csv(p); }},
                     {PageKind::kConstants, page_title(p) + ": what the time rests on"});
  });
}

Report Simulator::layer_report(const ExperimentSource& experiment, const LayerSettings& settings,
                               const ReportForm& form) const {
  return answer_of([&] {
    Experiment settled = experiment_of(experiment, {data_});
    const LayerQuestion question = question_of(settings);
    refuse("layer", layer_problem(settled.model, question));
    const CostModel cost = cost_model_of(settled, {data_});
    const LayerStudy layer = study_layer(settled, question, cost);
    return report_of(form, {layer.projection.feasible(), [&] { return to_text(layer); },
                            [&] { return to_json(layer); }});
  });
}

Report Simulator::layer_map_report(const ExperimentSource& experiment,
                                   const LayerMapSettings& settings, const ReportForm& form) const {
  return answer_of([&] {
    Experiment settled = experiment_of(experiment, {data_});
    const MapAxes axes{settings.ranks, settings.nodes, settings.topk, settings.tokens};
    refuse("map", map_problem(settled.model, axes));
    const CostModel cost = cost_model_of(settled, {data_});
    const DispatcherMap map = dispatcher_map(settled, axes, cost);
    return report_of(form, {map.projection.feasible(), [&] { return to_text(map); },
                            [&] { return to_json(map); }});
  });
}

}  // namespace stepcast
