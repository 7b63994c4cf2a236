// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/validate.hpp"

#include <algorithm>
#include <iterator>

#include "stepcast/base/sum.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/validation/held_out.hpp"
#include "stepcast/validation/timed_runs.hpp"

namespace stepcast {
namespace {

// --- runs -------------------------------------------------------------------------------------

Bytes read_memory(const StageMemory& stage, MemoryReading reading) {
  switch (reading) {
    case MemoryReading::kAllocated:
      return stage.allocated();
    case MemoryReading::kReserved:
      return stage.reserved;
    case MemoryReading::kDevice:
      break;
  }
  return stage.in_use();
}

Bytes predicted_memory(const MeasuredRun& run, const MeasuredQuantity& quantity,
                       const Projection& projection) {
  Bytes most;
  for (const StageMemory& stage : projection.memory) {
    if (!quantity.rank || *quantity.rank == stage.rank) {
      most = max(most, read_memory(stage, run.memory));
    }
  }
  return most;
}

Seconds exchange_time(const LayerStudy& report, ExchangePhase phase) {
  return sum_over(report.exchanges, [phase](const ExchangeWay& way) {
    return way.runs && way.phase == phase ? way.time : Seconds{};
  });
}

// Of a layer that was measured by itself.
double predicted(const LayerStudy& report, Metric metric) {
  switch (metric) {
    case Metric::kForwardTime:
      return report.passes.forward.time.value();
    case Metric::kBackwardTime:
      return report.passes.backward ? report.passes.backward->time.value() : 0.0;
    case Metric::kSavedBytes:
      return report.saved_by_experts().value();
    case Metric::kDispatchTime:
      return exchange_time(report, ExchangePhase::kDispatch).value();
    default:
      return exchange_time(report, ExchangePhase::kCombine).value();
  }
}

double predicted(const MeasuredRun& run, const MeasuredQuantity& quantity,
                 const Projection& projection) {
  switch (quantity.metric) {
    case Metric::kFits:
      return odds_on(projection.memory) >= 0.5 ? 1.0 : 0.0;
    case Metric::kTokenRate:
      return projection.tokens_per_second_per_gpu;
    case Metric::kStepTime:
      return projection.time.step.value();
    case Metric::kModelRate:
      return projection.model_rate_per_gpu.value() / 1e12;
    case Metric::kModelShare:
      return projection.mfu;
    case Metric::kModelWork:
      return projection.flops_per_token.value();
    default:
      return predicted_memory(run, quantity, projection).value();
  }
}

// The metric of a GPU that does one model FLOP a second; empty for metrics that are no speed.
std::optional<double> at_unit_rate(Metric metric, const Projection& projection) {
  const double flops = projection.flops_per_token.value();
  const double tokens = static_cast<double>(projection.training.global_batch_size) *
                        static_cast<double>(projection.training.sequence_length) /
                        static_cast<double>(projection.gpus);
  if (metric == Metric::kTokenRate) {
    return 1.0 / flops;
  }
  return metric == Metric::kStepTime ? std::optional(flops * tokens) : std::nullopt;
}

// The projection of a step or of a layer, whichever was measured; nothing where none is compared.
struct RunPrediction {
  const Projection& step;
  std::optional<LayerStudy> layer = std::nullopt;

  [[nodiscard]] const Projection& projection() const { return layer ? layer->projection : step; }
};

bool has_comparison(const MeasuredRun& run) {
  return run.experiment &&
         std::ranges::any_of(run.quantities, &std::string::empty, &MeasuredQuantity::skipped);
}

// Beside rates and times of steps.
void add_expected_errors(const std::vector<HeldOutRun>& known, std::vector<ValidationRow>& rows) {
  for (ValidationRow& row : rows) {
    if (row.traits) {
      row.expected_error = expected_error(known, *row.traits);
    }
  }
}

std::optional<double> odds(Metric metric, const Projection& projection) {
  return metric == Metric::kFits ? std::optional(odds_on(projection.memory)) : std::nullopt;
}

// A run whose rate or time of a step was measured, as others find it.
PublishedRun published_run(const MeasuredRun& run, const MeasuredQuantity& quantity,
                           const Projection& projection) {
  const double tokens = projection.tokens_per_second_per_gpu * projection.time.step.value();
  PublishedRun published;
  published.id = run.id;
  published.model = projection.model;
  published.parameters = projection.parameters;
  published.family = accuracy_family(run.experiment->model);
  published.gpu = projection.gpu;
  published.gpus = projection.gpus;
  published.dtype = projection.training.dtype;
  published.sequence_length = projection.training.sequence_length;
  published.software = projection.software;
  published.tokens_per_second_per_gpu =
      quantity.metric == Metric::kTokenRate ? quantity.value : tokens / quantity.value;
  published.model_rate_per_gpu =
      projection.flops_per_token * published.tokens_per_second_per_gpu / Seconds(1.0);
  published.source = run.source;
  return published;
}

// What all rows of a run have alike.
void describe_run(const MeasuredRun& run, const Projection& projection, ValidationRow& row) {
  row.gpu = run.gpu;
  row.group = run.group;
  row.skipped = run.skipped;
  if (!run.layer || !run.split.empty()) {
    // Samples of a part that is only announced say nothing of how far parts that are sold are off.
    const bool sold =
        !run.experiment || run.experiment->cluster.device.standing == PartStanding::kShipped;
    row.held_out = sold && !run.in_view && is_held_out(run.split.empty() ? row.id : run.split);
  }
  if (run.experiment) {
    row.family = name(accuracy_family(run.experiment->model));
  }
  if (has_comparison(run) && !projection.priced) {
    row.skipped = "plan refused: " + text_list(projection.reasons, "; ");
  }
}

// The rows of one run; `row` says which file and row it is.
std::vector<ValidationRow> rows_of(const MeasuredRun& run, ValidationRow row,
                                   const RunPrediction& prediction) {
  const Projection& projection = prediction.projection();
  std::vector<ValidationRow> rows;
  describe_run(run, projection, row);
  if (run.quantities.empty()) {
    row.skipped = row.skipped.empty() ? "input missing: no tokens/s or step time" : row.skipped;
    rows.push_back(row);
  }
  for (const MeasuredQuantity& quantity : run.quantities) {
    ValidationRow& own = rows.emplace_back(row);
    own.id = quantity.rank ? row.id + ":rank" + std::to_string(*quantity.rank) : row.id;
    own.metric = quantity.metric;
    own.measured = quantity.value;
    own.group = quantity.group.empty() ? row.group : quantity.group;
    own.skipped = row.skipped.empty() ? quantity.skipped : row.skipped;
    if (own.skipped.empty()) {
      own.predicted = prediction.layer ? predicted(*prediction.layer, quantity.metric)
                                       : predicted(run, quantity, projection);
      own.at_unit_rate = at_unit_rate(quantity.metric, projection);
      own.odds = odds(quantity.metric, projection);
    }
    if (own.at_unit_rate && !run.layer) {
      own.traits = traits_of(*run.experiment);
      own.traits->source = run.source_id.empty() ? row.file : run.source_id;
      own.published = published_run(run, quantity, projection);
    }
  }
  return rows;
}

// --- kernels ----------------------------------------------------------------------------------

// A call that the host is slower to make than the GPUs to run says nothing of the library: its rows
// are a group of their own.
std::string group_of(const MeasuredKernel& kernel, const KernelPrediction& prediction) {
  return prediction.waits_for_host ? kernel.group + " bound by the host" : kernel.group;
}

void add_rows(const MeasuredKernel& kernel, const std::string& file, ProfileCache& profiles,
              const CostModel& cost, std::vector<ValidationRow>& rows) {
  KernelPrediction prediction;
  if (kernel.skipped.empty()) {
    prediction = predict(kernel, cost, profiles.fabric(kernel.gpu));
  }
  for (const MeasuredQuantity& quantity : kernel.quantities) {
    ValidationRow row;
    row.file = file;
    row.id = kernel.id;
    row.gpu = kernel.gpu;
    row.group = group_of(kernel, prediction);
    row.metric = quantity.metric;
    row.measured = quantity.value;
    row.skipped = kernel.skipped;
    if (!kernel.split.empty()) {
      row.held_out = is_held_out(kernel.split);
    }
    if (row.skipped.empty()) {
      row.predicted = prediction.of(quantity.metric);
    }
    rows.push_back(std::move(row));
  }
}

// --- files ------------------------------------------------------------------------------------

void add_rows_of_file(const std::vector<MeasuredRow>& measured, const std::string& file,
                      ProfileCache& profiles, const CostModel& cost,
                      std::vector<ValidationRow>& rows) {
  std::vector<const Experiment*> compared(measured.size());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto* run = std::get_if<MeasuredRun>(&measured[i]);
    const bool steps = run != nullptr && !run->layer && has_comparison(*run);
    compared[i] = steps ? &*run->experiment : nullptr;
  }
  const std::vector<Projection> projections = projections_of(compared, cost);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (const auto* kernel = std::get_if<MeasuredKernel>(&measured[i])) {
      add_rows(*kernel, file, profiles, cost, rows);
      continue;
    }
    const auto& run = std::get<MeasuredRun>(measured[i]);
    ValidationRow row;
    row.file = file;
    row.id = run.id;
    RunPrediction prediction{projections[i]};
    if (run.layer && has_comparison(run)) {
      prediction.layer = study_layer(*run.experiment, *run.layer, cost);
    }
    std::ranges::move(rows_of(run, std::move(row), prediction), std::back_inserter(rows));
  }
}

}  // namespace

std::vector<ValidationRow> validate_files(const std::vector<std::filesystem::path>& files,
                                          const DataRoot& data, const CostModel& cost,
                                          const Importers& importers,
                                          const std::optional<Experiment>& of_traces) {
  std::vector<ValidationRow> rows;
  ProfileCache profiles(data);
  for (const std::filesystem::path& file : files) {
    if (importers.is_trace(file)) {
      std::ranges::move(importers.trace_rows(file, of_traces, profiles, cost),
                        std::back_inserter(rows));
      continue;
    }
    add_rows_of_file(read_measurements(file, importers, profiles), file.filename().string(),
                     profiles, cost, rows);
  }
  add_expected_errors(load_accuracy(data), rows);
  return rows;
}

}  // namespace stepcast
