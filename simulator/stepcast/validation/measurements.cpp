// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/measurements.hpp"

#include "stepcast/config/json_node.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLargestData = 256U << 20U;  // bytes

// Whether the first line that is not blank is a canonical record.
bool begins_canonical(const std::string& text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || text[start] != '{') {
    return false;
  }
  const std::string line = text.substr(start, text.find('\n', start) - start);
  Diagnostics ignored;  // are told of where the line is read
  const std::optional<ConfigNode> record = parse_json_object(line, {}, ignored);
  return record && is_canonical(*record);
}

std::vector<MeasuredRow> canonical_rows(const std::string& text, const std::string& file,
                                        ProfileCache& profiles) {
  Diagnostics diagnostics;
  std::vector<MeasuredRow> rows;
  for (const ConfigNode& record : parse_records(text, file, diagnostics)) {
    try {
      rows.push_back(read_record(record, profiles));
    } catch (const ConfigError& error) {
      for (const Diagnostic& problem : error.diagnostics()) {
        const bool placed = problem.where.line > 0;
        diagnostics.error(placed ? problem.where : record.location(), problem.message);
      }
    }
  }
  diagnostics.throw_if_any();
  return rows;
}

void number(std::vector<MeasuredRow>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::visit(
        [i](auto& row) {
          if (row.id.empty()) {
            row.id = std::to_string(i + 1);
          }
        },
        rows[i]);
  }
}

template <typename Row>
std::vector<Row> rows_of(const std::filesystem::path& file, const char* held_instead,
                         const Importers& importers, ProfileCache& profiles) {
  std::vector<Row> rows;
  for (MeasuredRow& row : read_measurements(file, importers, profiles)) {
    if (auto* own = std::get_if<Row>(&row)) {
      rows.push_back(std::move(*own));
    }
  }
  if (rows.empty()) {
    throw ConfigError({file.string(), 1, 1}, std::string("the file holds ") + held_instead);
  }
  return rows;
}

std::optional<Seconds> time_of(const MeasuredKernel& kernel) {
  for (const MeasuredQuantity& quantity : kernel.quantities) {
    if (info(quantity.metric).unit == MetricUnit::kSeconds) {
      return Seconds(quantity.value);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<MeasuredRow> read_measurements(const std::filesystem::path& file,
                                           const Importers& importers, ProfileCache& profiles) {
  const std::string text = read_file(file, kLargestData);
  std::vector<MeasuredRow> rows;
  if (begins_canonical(text)) {
    rows = canonical_rows(text, file.string(), profiles);
  } else {
    for (const RecordLine& line : importers.records(text, file.string(), profiles)) {
      rows.push_back(read_imported(line, profiles));
    }
  }
  number(rows);
  return rows;
}

std::vector<MeasuredRun> measured_runs(const std::filesystem::path& file,
                                       const Importers& importers, ProfileCache& profiles) {
  return rows_of<MeasuredRun>(file, "kernels and no runs", importers, profiles);
}

std::vector<MeasuredKernel> measured_kernels(const std::filesystem::path& file,
                                             const Importers& importers, ProfileCache& profiles) {
  return rows_of<MeasuredKernel>(file, "runs and no kernels", importers, profiles);
}

MeasuredOperators measured_operators(const std::filesystem::path& file, const Importers& importers,
                                     ProfileCache& profiles) {
  MeasuredOperators measured;
  measured.file = file.string();
  for (MeasuredKernel& kernel : measured_kernels(file, importers, profiles)) {
    const std::optional<Seconds> time = time_of(kernel);
    if (!kernel.skipped.empty() || !kernel.before.empty() || !time) {
      continue;
    }
    measured.machines.try_emplace(kernel.gpu, profiles.fabric(kernel.gpu));
    measured.rows.push_back({std::move(kernel.work), std::move(kernel.gpu), *time, kernel.duty});
  }
  return measured;
}

}  // namespace stepcast
