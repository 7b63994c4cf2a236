// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/validate.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "stepcast/experiment/project.hpp"
#include "stepcast/validation/csv_rows.hpp"
#include "stepcast/validation/measurement_formats.hpp"

namespace stepcast {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestData = 256U << 20U;  // bytes

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

// The first line that is not blank.
std::string first_line(const std::string& text) {
  std::istringstream stream(text);
  std::string line;
  while (std::getline(stream, line) && is_blank(line)) {
  }
  return line;
}

const MeasurementFormat& detected_format(const std::string& text, const std::string& file) {
  const std::string line = first_line(text);
  if (is_blank(line)) {
    throw ConfigError({file, 1, 1}, "the file has no rows");
  }
  if (!line.starts_with('{')) {
    return format_of(Syntax::kCsv, csv_names(text), file);
  }
  Diagnostics diagnostics;
  const std::optional<JsonObject> first = parse_json_object(line, json_line(file, 1), diagnostics);
  diagnostics.throw_if_any();
  std::vector<std::string> names;
  for (const auto& [key, value] : *first) {
    names.push_back(key);
  }
  return format_of(Syntax::kJsonLines, names, file);
}

// --- runs -------------------------------------------------------------------------------------

std::vector<json> parse_lines(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  Diagnostics diagnostics;
  std::vector<json> rows;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (is_blank(line)) {
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

// --- kernels ----------------------------------------------------------------------------------

std::string own_id(const JsonObject& object) {
  for (const char* key : {"id", "name", "case"}) {
    const auto found = object.find(key);
    if (found != object.end() && found->second.kind == JsonValue::Kind::kText) {
      return shown(found->second.text, 200);
    }
    if (found != object.end() && found->second.kind == JsonValue::Kind::kInteger) {
      return std::to_string(found->second.integer);
    }
  }
  return {};
}

// Reads the kernels of a file, row by row.
class KernelFile {
 public:
  KernelFile(ReadKernels read, std::string file, ProfileCache& profiles)
      : read_(read), file_(std::move(file)), profiles_(profiles) {}

  std::vector<MeasuredKernel> from_lines(const std::string& text) {
    std::istringstream stream(text);
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
      const JsonSource source = json_line(file_, number);
      if (!is_blank(line)) {
        add_row(parse_json_object(line, source, diagnostics_), source);
      }
    }
    return finished();
  }

  std::vector<MeasuredKernel> from_table(const std::string& text) {
    const CsvTable table = parse_csv(text, file_, diagnostics_);
    for (const CsvRow& row : table.rows) {
      add_row(object_of(row, table.names), table_row(file_, row.line));
    }
    return finished();
  }

 private:
  void add_row(std::optional<JsonObject> object, const JsonSource& source) {
    ++rows_;
    if (!object) {
      return;
    }
    std::string id = own_id(*object);
    id = id.empty() ? std::to_string(rows_) : id;
    const std::size_t before = kernels_.size();
    read_({std::move(*object), source, profiles_, diagnostics_}, kernels_);
    for (std::size_t i = before; i < kernels_.size(); ++i) {
      kernels_[i].id = id;
    }
  }

  std::vector<MeasuredKernel> finished() {
    if (rows_ == 0) {
      diagnostics_.error({file_, 1, 1}, "the file has no rows");
    }
    diagnostics_.throw_if_any();
    return repeats_merged(std::move(kernels_));
  }

  ReadKernels read_;
  std::string file_;
  ProfileCache& profiles_;
  Diagnostics diagnostics_;
  std::size_t rows_ = 0;
  std::vector<MeasuredKernel> kernels_;
};

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
    const std::string text = read_file(file, kLargestData);
    const MeasurementFormat& format = detected_format(text, file.string());
    if (const auto* read_run = std::get_if<ReadRun>(&format.read)) {
      add_runs(*read_run, text, file, profiles, cost, rows);
      continue;
    }
    KernelFile reader(std::get<ReadKernels>(format.read), file.string(), profiles);
    const std::vector<MeasuredKernel> kernels =
        format.syntax == Syntax::kCsv ? reader.from_table(text) : reader.from_lines(text);
    for (const MeasuredKernel& kernel : kernels) {
      add_rows(kernel, file.filename().string(), profiles, cost, rows);
    }
  }
  return rows;
}

}  // namespace stepcast
