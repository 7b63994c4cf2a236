// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/validate.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "stepcast/experiment/project.hpp"
#include "stepcast/validation/measurement_files.hpp"

namespace stepcast {
namespace {

using nlohmann::json;

// --- runs -------------------------------------------------------------------------------------

std::vector<json> parse_lines(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  Diagnostics diagnostics;
  std::vector<json> rows;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (is_blank_line(line)) {
      continue;
    }
    json row = json::parse(line, nullptr, false);
    if (!row.is_object()) {
      diagnostics.error({file, number, 1}, "this line is no JSON object; write one a line");
      continue;
    }
    rows.push_back(std::move(row));
  }
  diagnostics.throw_if_any();
  return rows;
}

Bytes predicted_memory(const MeasuredRun& run, const MeasuredQuantity& quantity,
                       const Projection& projection) {
  Bytes most;
  for (const StageMemory& stage : projection.memory) {
    if (!quantity.rank || *quantity.rank == stage.rank) {
      most = max(most, run.reserved_memory ? stage.reserved : stage.total());
    }
  }
  return most;
}

double predicted(const MeasuredRun& run, const MeasuredQuantity& quantity,
                 const Projection& projection) {
  if (quantity.metric == "tokens_per_second_per_gpu") {
    return projection.tokens_per_second_per_gpu;
  }
  return quantity.metric == "step_time_s" ? projection.time.step.value()
                                          : predicted_memory(run, quantity, projection).value();
}

std::string joined(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) {
    text += (text.empty() ? "" : "; ") + reason;
  }
  return text;
}

void add_rows(const MeasuredRun& run, ValidationRow row, const CostModel& cost,
              std::vector<ValidationRow>& rows) {
  const std::string id = row.id;
  row.gpu = run.gpu;
  row.group = run.group;
  row.skipped = run.skipped;
  Projection projection;
  if (run.experiment) {
    projection = project(*run.experiment, cost);
    if (!projection.priced) {
      row.skipped = "plan refused: " + joined(projection.reasons);
    }
  }
  if (run.quantities.empty()) {
    row.metric = "tokens_per_second_per_gpu";
    row.skipped = row.skipped.empty() ? "input missing: no tokens/s or step time" : row.skipped;
    rows.push_back(row);
  }
  for (const MeasuredQuantity& quantity : run.quantities) {
    row.id = quantity.rank ? id + ":rank" + std::to_string(*quantity.rank) : id;
    row.metric = quantity.metric;
    row.measured = quantity.value;
    row.predicted.reset();
    if (row.skipped.empty()) {
      row.predicted = predicted(run, quantity, projection);
    }
    rows.push_back(row);
  }
}

// --- kernels ----------------------------------------------------------------------------------

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
    row.group = kernel.group;
    row.metric = quantity.metric;
    row.measured = quantity.value;
    row.skipped = kernel.skipped;
    if (row.skipped.empty()) {
      row.predicted = prediction.of(quantity.metric);
    }
    rows.push_back(std::move(row));
  }
}

void add_runs(ReadRun read, const std::string& text, const std::filesystem::path& file,
              ProfileCache& profiles, const CostModel& cost, std::vector<ValidationRow>& rows) {
  const std::vector<json> lines = parse_lines(text, file.string());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const MeasuredRun run = read(lines[i], profiles);
    ValidationRow row;
    row.file = file.filename().string();
    row.id = run.id.empty() ? std::to_string(i + 1) : run.id;
    add_rows(run, std::move(row), cost, rows);
  }
}

}  // namespace

std::vector<ValidationRow> validate_files(const std::vector<std::filesystem::path>& files,
                                          const DataRoot& data, const CostModel& cost) {
  std::vector<ValidationRow> rows;
  ProfileCache profiles(data);
  for (const std::filesystem::path& file : files) {
    const MeasurementFile measured = read_measurements(file);
    if (const auto* read_run = std::get_if<ReadRun>(&measured.format->read)) {
      add_runs(*read_run, measured.text, file, profiles, cost, rows);
      continue;
    }
    for (const MeasuredKernel& kernel : kernels_of(measured, profiles)) {
      add_rows(kernel, file.filename().string(), profiles, cost, rows);
    }
  }
  return rows;
}

}  // namespace stepcast
