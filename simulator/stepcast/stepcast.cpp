// SPDX-License-Identifier: Apache-2.0
#include "stepcast/stepcast.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/catalogue.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/recommended_runs.hpp"
#include "stepcast/api/swept_plans.hpp"
#include "stepcast/base/worker_arena.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/comparison.hpp"
#include "stepcast/experiment/explain.hpp"
#include "stepcast/experiment/nearest_fit.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/provenance_shares.hpp"
#include "stepcast/report/comparison_report.hpp"
#include "stepcast/report/difference_report.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/operator_report.hpp"
#include "stepcast/report/priced_lines.hpp"
#include "stepcast/report/provenance_report.hpp"
#include "stepcast/report/recommendation_report.hpp"
#include "stepcast/report/text_report.hpp"
#include "stepcast/report/training_run_report.hpp"
#include "stepcast/result/training_run.hpp"

namespace stepcast {
namespace {

std::filesystem::path folder_of(const ExperimentSource& source) {
  return source.file.empty() ? source.folder : source.file.parent_path();
}

std::vector<Override> overrides_of(const ExperimentSource& source) {
  return {source.settings.begin(), source.settings.end()};
}

Experiment experiment_of(const ExperimentSource& source, const DataRoot& data) {
  if (!source.file.empty()) {
    return load_experiment(source.file, overrides_of(source), data);
  }
  ConfigNode root = parse_config(source.text, source.name);
  apply_overrides(root, overrides_of(source));
  return read_experiment(root, folder_of(source), data);
}

SweepSource sweep_source_of(const ExperimentSource& source) {
  const std::string version(stepcast::version());
  return source.file.empty()
             ? SweepSource{source.name, source.folder, source.text, overrides_of(source), version}
             : load_sweep_source(source.file, overrides_of(source), version);
}

// An experiment with the backends that it asks for.
struct Job {
  Experiment experiment;
  CostModel cost;
};

Job job_of(const ExperimentSource& source, const DataRoot& data) {
  Experiment experiment = experiment_of(source, data);
  CostModel cost = cost_model_of(experiment, data);
  return {std::move(experiment), std::move(cost)};
}

Projection projection_of(const Job& job, const DataRoot& data) {
  Projection projection = project(job.experiment, job.cost);
  projection.expected_error = expected_error(load_accuracy(data), job.experiment);
  projection.nearest_fit = nearest_fit(projection, job.experiment, job.cost);
  return projection;
}

// As reports of it show it.
Projection with_provenance(const Job& job, const DataRoot& data) {
  Projection projection = projection_of(job, data);
  projection.provenance = provenance_shares(job.experiment, projection, job.cost);
  return projection;
}

Projection projection_of(const ExperimentSource& source, const DataRoot& data) {
  return projection_of(job_of(source, data), data);
}

Explanation explanation_of(const ExperimentSource& source, const DataRoot& data) {
  const Job job = job_of(source, data);
  return explain(job.experiment, job.cost);
}

// A report in JSON, with the library's version in its context.
std::string json_text(nlohmann::ordered_json json) {
  json["context"]["version"] = version();
  return json_dump(json, 2) + "\n";
}

Report report_of(const Projection& projection, ReportFormat format) {
  return {projection.feasible, format == ReportFormat::kJson  ? json_text(to_json(projection))
                               : format == ReportFormat::kCsv ? to_csv(projection)
                                                              : to_text(projection)};
}

StageBytes stage_bytes(const StageMemory& stage) {
  return {stage.rank,
          stage.parameters.value(),
          stage.gradients.value(),
          stage.optimizer.value(),
          stage.activations.value(),
          stage.buffers().value(),
          stage.total().value(),
          stage.reserved.value(),
          stage.outside.value()};
}

StepNumbers numbers_of(const Projection& p) {
  return {p.tokens_per_second_per_gpu,
          p.time.step.value(),
          p.model_rate_per_gpu.value() / 1e12,
          p.mfu,
          p.peak_memory().value(),
          p.clock.value() / 1e6,
          p.power.value(),
          seconds_by_kind(p.time.breakdown)};
}

std::optional<RunNumbers> run_numbers_of(const Projection& p) {
  if (!p.run) {
    return std::nullopt;
  }
  RunNumbers numbers{p.run->spec.tokens,
                     p.run->steps,
                     p.run->days(),
                     std::nullopt,
                     p.run->gpu_hours(),
                     p.run->kilowatt_hours(),
                     p.run->energy_per_token().value(),
                     p.run->goodput.share};
  if (const std::optional<RateInterval> at80 = days_at_80(p)) {
    numbers.days_80 = {at80->low, at80->high};
  }
  return numbers;
}

StepProjection step_of(const Projection& projection) {
  StepProjection step{projection.feasible,
                      projection.reasons,
                      projection.notes,
                      std::nullopt,
                      {},
                      projection.memory_capacity.value(),
                      run_numbers_of(projection)};
  if (projection.priced) {
    step.numbers = numbers_of(projection);
    step.memory.reserve(projection.memory.size());
    for (const StageMemory& stage : projection.memory) {
      step.memory.push_back(stage_bytes(stage));
    }
  }
  return step;
}

LinePricing line_pricing(const OperatorPricing& pricing, const DataRoot& data) {
  CostModel model = cost_model_of(pricing.backends, "backends", data);
  DeviceSpec device = load_gpu(pricing.gpu, data, {"gpu", 0, 0});
  std::optional<Hertz> clock;
  if (pricing.gpu_clock_mhz) {
    clock = locked_clock(*pricing.gpu_clock_mhz, device, {"gpu_clock_mhz", 0, 0});
  }
  if (!pricing.power_limit.empty()) {
    device.power.limit = power_limit(pricing.power_limit, device.power, {"power_limit", 0, 0});
  }
  const HostSpec host = load_named_host(std::string(kUsualHost), data, {"gpu", 0, 0});
  return {std::move(model), fabric_of(device, host), clock,
          pricing.terms ? Detail::kTerms : Detail::kDuration};
}

// The columns of a comparison; a column is called by the values that its source sets, or by its
// GPU.
std::vector<ComparedColumn> columns_of(const std::vector<ExperimentSource>& sources,
                                       const DataRoot& data) {
  std::vector<ComparedColumn> columns;
  columns.reserve(sources.size());
  for (const ExperimentSource& source : sources) {
    ComparedColumn column{{}, with_provenance(job_of(source, data), data), std::nullopt};
    for (const std::string& setting : source.settings) {
      const std::size_t equals = setting.find('=');  // is there, or the source was refused
      column.options.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

void check_threads(int threads, Diagnostics& diagnostics) {
  if (threads < 0 || threads > kMostThreads) {
    diagnostics.error({"threads", 0, 0},
                      "must be 0, for all processors, to " + std::to_string(kMostThreads));
  }
}

void check_limits(const RecommendSettings& settings, Diagnostics& diagnostics) {
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
  if (!settings.currency.empty() && !is_currency(settings.currency)) {
    diagnostics.error({"currency", 0, 0}, "must be a sign or a short word without digits: EUR");
  }
}

// With every problem of it but those of the work.
RunQuestion question_of(const ExperimentSource& work, const RecommendSettings& settings,
                        const DataRoot& data) {
  Diagnostics diagnostics;
  if (settings.gpus.empty()) {
    diagnostics.error({"gpus", 0, 0}, "there is none to recommend; give at least one");
  }
  if (settings.budget && settings.gpu_hour_price.empty()) {
    diagnostics.error({"budget", 0, 0}, "needs the price of a GPU-hour; give gpu_hour_price");
  }
  check_limits(settings, diagnostics);
  RunQuestion question{sweep_source_of(work),
                       settings.gpus,
                       {},
                       {settings.days, settings.budget, settings.most_gpus},
                       settings.constraints,
                       settings.prove,
                       settings.threads};
  for (const auto& [gpu, amount] : settings.gpu_hour_price) {
    GpuHourPrice price{amount};
    price.currency = settings.currency.empty() ? price.currency : settings.currency;
    const bool asked =
        std::find(settings.gpus.begin(), settings.gpus.end(), gpu) != settings.gpus.end();
    if (!is_amount(amount) || !asked) {
      diagnostics.error(
          {"gpu_hour_price", 0, 0},
          "of " + gpu + (asked ? " must be above 0 and below 10^12" : " is of none of the GPUs"));
    }
    question.prices.insert_or_assign(gpu, price);
  }
  diagnostics.throw_if_any();
  if (!gives_batch(question.work)) {
    question.work = with_usual_batch(question.work, settings.gpus.front(), data);
  }
  return question;
}

}  // namespace

std::string_view version() { return STEPCAST_VERSION; }

Simulator::Simulator(std::filesystem::path data) : data_(std::move(data)) {
  for (const char* part : {"configs", "hardware_profiles"}) {
    std::error_code error;
    if (!std::filesystem::is_directory(data_ / part, error)) {
      const Problem problem{data_.string(), 0, 0,
                            "has no folder " + std::string(part) + "; give the data of stepcast"};
      throw InputError(problem.file + ": error: " + problem.message, {problem});
    }
  }
}

StepProjection Simulator::project(const ExperimentSource& experiment) const {
  return answer_of([&] { return step_of(projection_of(experiment, {data_})); });
}

Report Simulator::project_report(const ExperimentSource& experiment, ReportFormat format) const {
  return answer_of(
      [&] { return report_of(with_provenance(job_of(experiment, {data_}), {data_}), format); });
}

Report Simulator::memory_report(const ExperimentSource& experiment, ReportFormat format) const {
  return answer_of([&]() -> Report {
    const Projection projection = projection_of(experiment, {data_});
    return {projection.feasible, format == ReportFormat::kJson
                                     ? json_text(memory_to_json(projection))
                                 : format == ReportFormat::kCsv ? memory_to_csv(projection)
                                                                : memory_to_text(projection)};
  });
}

Report Simulator::explain_report(const ExperimentSource& experiment, ReportFormat format) const {
  return answer_of([&]() -> Report {
    const Explanation explained = explanation_of(experiment, {data_});
    constexpr Detail kDetail = Detail::kDuration;
    return {explained.projection.feasible,
            format == ReportFormat::kJson  ? json_text(to_json(explained, kDetail))
            : format == ReportFormat::kCsv ? to_csv(explained, kDetail)
                                           : to_text(explained, kDetail)};
  });
}

Report Simulator::provenance_report(const ExperimentSource& experiment, ReportFormat format) const {
  return answer_of([&]() -> Report {
    const Projection projection = with_provenance(job_of(experiment, {data_}), {data_});
    return {projection.feasible, format == ReportFormat::kJson
                                     ? json_text(constants_to_json(projection))
                                 : format == ReportFormat::kCsv ? constants_to_csv(projection)
                                                                : constants_to_text(projection)};
  });
}

Report Simulator::explain_report(const ExperimentSource& first, const ExperimentSource& second,
                                 ReportFormat format) const {
  return answer_of([&]() -> Report {
    const Explanation a = explanation_of(first, {data_});
    const Explanation b = explanation_of(second, {data_});
    return {a.projection.feasible && b.projection.feasible,
            format == ReportFormat::kJson  ? json_text(difference_to_json(a, b))
            : format == ReportFormat::kCsv ? difference_to_csv(a, b)
                                           : difference_to_text(a, b)};
  });
}

Report Simulator::compare_report(const std::vector<ExperimentSource>& experiments,
                                 ReportFormat format) const {
  return answer_of([&]() -> Report {
    if (experiments.empty()) {
      throw ConfigError({"experiments", 0, 0}, "there is none to compare; give at least one");
    }
    const std::vector<ComparedColumn> columns = columns_of(experiments, {data_});
    const bool any = std::any_of(columns.begin(), columns.end(), [](const ComparedColumn& column) {
      return column.projection.feasible;
    });
    return {any, format == ReportFormat::kJson
                     ? json_text(comparison_to_json(columns, std::string(version())))
                 : format == ReportFormat::kCsv ? comparison_to_csv(columns)
                                                : comparison_to_text(columns)};
  });
}

SweepAnswer Simulator::sweep(const ExperimentSource& sweep, const SweepSettings& settings) const {
  return answer_of([&] {
    const DataRoot data{data_};
    Diagnostics diagnostics;
    check_threads(settings.threads, diagnostics);
    if (settings.top < 0) {
      diagnostics.error({"top", 0, 0}, "must be at least 0");
    }
    diagnostics.throw_if_any();
    const SweepSpace space = read_sweep(sweep_source_of(sweep), data);
    return swept_plans(space, cost_models_of(space, data), settings);
  });
}

Report Simulator::recommend_report(const ExperimentSource& work, const RecommendSettings& settings,
                                   ReportFormat format) const {
  return answer_of([&]() -> Report {
    const DataRoot data{data_};
    const RunQuestion question = question_of(work, settings, data);
    const std::vector<RecommendedGpu> answers = recommended_runs(question, data);
    const RunLimits& limits = question.limits;
    const bool any = std::any_of(answers.begin(), answers.end(),
                                 [](const RecommendedGpu& gpu) { return gpu.fewest.has_value(); });
    return {any, format == ReportFormat::kJson
                     ? json_text(recommendation_to_json(answers, limits, std::string(version())))
                 : format == ReportFormat::kCsv ? recommendation_to_csv(answers, limits)
                                                : recommendation_to_text(answers, limits)};
  });
}

std::string Simulator::cost(std::string_view lines, const OperatorPricing& pricing) const {
  return answer_of(
      [&] { return priced_lines(lines, "operators", line_pricing(pricing, {data_})); });
}

std::vector<std::string> Simulator::list(Listing kind) const { return listed_names(kind, {data_}); }

std::string Simulator::describe(const std::string& name) const {
  return answer_of([&] { return description_of(name, {data_}, {"name", 0, 0}); });
}

}  // namespace stepcast
