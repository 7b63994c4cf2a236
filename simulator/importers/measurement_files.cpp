// SPDX-License-Identifier: Apache-2.0
#include "importers/measurement_files.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "importers/csv_rows.hpp"
#include "importers/step_trace.hpp"
#include "importers/trace_rows.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLargestData = 256U << 20U;  // bytes

// The first line that is not blank.
std::string first_line(const std::string& text) {
  std::istringstream stream(text);
  std::string line;
  while (std::getline(stream, line) && is_blank_line(line)) {
  }
  return line;
}

const MeasurementFormat& detected_format(const std::string& text, const std::string& file) {
  const std::string line = first_line(text);
  if (is_blank_line(line)) {
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

std::vector<nlohmann::json> parse_lines(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  Diagnostics diagnostics;
  std::vector<nlohmann::json> rows;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (is_blank_line(line)) {
      continue;
    }
    nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
    if (!row.is_object()) {
      diagnostics.error({file, number, 1}, "this line is no JSON object; write one a line");
      continue;
    }
    rows.push_back(std::move(row));
  }
  diagnostics.throw_if_any();
  return rows;
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
      if (!is_blank_line(line)) {
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

Measurements measurements_in(const std::filesystem::path& file, ProfileCache& profiles) {
  const MeasurementFile measured = read_measurements(file);
  Measurements result{measured.name, std::string(measured.format->name), {}};
  if (std::holds_alternative<ReadKernels>(measured.format->read)) {
    result.rows = kernels_of(measured, profiles);
  } else {
    result.rows = runs_of(measured, profiles);
  }
  return result;
}

}  // namespace

const Importers& all_importers() {
  static constexpr Importers kImporters{&measurements_in, &is_step_trace, &trace_rows};
  return kImporters;
}

bool is_blank_line(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

MeasurementFile read_measurements(const std::filesystem::path& file) {
  MeasurementFile measured{file.string(), read_file(file, kLargestData)};
  measured.format = &detected_format(measured.text, measured.name);
  return measured;
}

std::vector<MeasuredRun> runs_of_table(ReadTableRun read, const MeasurementFile& file,
                                       ProfileCache& profiles) {
  Diagnostics diagnostics;
  const CsvTable table = parse_csv(file.text, file.name, diagnostics);
  std::vector<MeasuredRun> runs;
  for (const CsvRow& row : table.rows) {
    runs.push_back(
        read({object_of(row, table.names), table_row(file.name, row.line), profiles, diagnostics}));
  }
  if (table.rows.empty() && diagnostics.empty()) {
    diagnostics.error({file.name, 1, 1}, "the file has no rows");
  }
  diagnostics.throw_if_any();
  return runs;
}

std::vector<MeasuredRun> runs_of(const MeasurementFile& file, ProfileCache& profiles) {
  if (const auto* read_row = std::get_if<ReadTableRun>(&file.format->read)) {
    return runs_of_table(*read_row, file, profiles);
  }
  const auto* read = std::get_if<ReadRun>(&file.format->read);
  if (read == nullptr) {
    throw ConfigError({file.name, 1, 1},
                      "the file holds " + std::string(file.format->name) + " and no runs");
  }
  std::vector<MeasuredRun> runs;
  for (const nlohmann::json& line : parse_lines(file.text, file.name)) {
    runs.push_back((*read)(line, profiles));
  }
  return runs;
}

std::vector<MeasuredKernel> kernels_of(const MeasurementFile& file, ProfileCache& profiles) {
  const auto* read = std::get_if<ReadKernels>(&file.format->read);
  if (read == nullptr) {
    throw ConfigError({file.name, 1, 1},
                      "the file holds " + std::string(file.format->name) + " and no kernels");
  }
  KernelFile reader(*read, file.name, profiles);
  return file.format->syntax == Syntax::kCsv ? reader.from_table(file.text)
                                             : reader.from_lines(file.text);
}

}  // namespace stepcast
