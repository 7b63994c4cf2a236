// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/validate.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "stepcast/experiment/project.hpp"
#include "stepcast/validation/json_fields.hpp"
#include "stepcast/validation/measured_steps.hpp"
#include "stepcast/validation/training_runs.hpp"

namespace stepcast {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestData = 256U << 20U;  // bytes

using ReadRow = MeasuredRun (*)(const json&, ProfileCache&);

ReadRow reader_for(const json& first, const std::string& file) {
  if (first.contains("parallel") && first.contains("measured")) {
    return &read_training_run;
  }
  if (first.contains("case") && first.contains("step_s")) {
    return &read_measured_step;
  }
  throw ConfigError({file, 1, 1},
                    "unknown format: rows need 'parallel' and 'measured' (training runs) or 'case' "
                    "and 'step_s' (measured steps)");
}

std::vector<json> parse_lines(const std::filesystem::path& file) {
  std::istringstream stream(read_file(file, kLargestData));
  Diagnostics diagnostics;
  std::vector<json> rows;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    json row = json::parse(line, nullptr, false);
    if (!row.is_object() && rows.empty() && diagnostics.empty() && !line.starts_with('{')) {
      throw ConfigError({file.string(), number, 1},
                        "the file is not JSON lines; give one JSON object a line");
    }
    if (!row.is_object()) {
      diagnostics.error({file.string(), number, 1},
                        "this line is no JSON object; write one a line");
      continue;
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty() && diagnostics.empty()) {
    diagnostics.error({file.string(), 1, 1}, "the file has no rows");
  }
  diagnostics.throw_if_any();
  return rows;
}

double predicted(const std::string& metric, const Projection& projection) {
  if (metric == "tokens_per_second_per_gpu") {
    return projection.tokens_per_second_per_gpu;
  }
  return metric == "step_time_s" ? projection.time.step.value() : projection.peak_memory().value();
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
    row.metric = quantity.metric;
    row.measured = quantity.value;
    row.predicted.reset();
    if (row.skipped.empty()) {
      row.predicted = predicted(quantity.metric, projection);
    }
    rows.push_back(row);
  }
}

}  // namespace

std::vector<ValidationRow> validate_files(const std::vector<std::filesystem::path>& files,
                                          const DataRoot& data, const CostModel& cost) {
  std::vector<ValidationRow> rows;
  ProfileCache profiles(data);
  for (const std::filesystem::path& file : files) {
    const std::vector<json> lines = parse_lines(file);
    const ReadRow read = reader_for(lines.front(), file.string());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const MeasuredRun run = read(lines[i], profiles);
      ValidationRow row;
      row.file = file.filename().string();
      row.id = run.id.empty() ? std::to_string(i + 1) : run.id;
      add_rows(run, std::move(row), cost, rows);
    }
  }
  return rows;
}

}  // namespace stepcast
