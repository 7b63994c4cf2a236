// SPDX-License-Identifier: Apache-2.0
#include "importers/measurement_files.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>

#include "importers/csv_rows.hpp"
#include "importers/measurement_formats.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/config/value_message.hpp"
#include "stepcast/validation/error_summary.hpp"
#include "trace_reader/step_trace.hpp"

namespace stepcast {
namespace {

bool is_blank_line(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

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
  const std::optional<ConfigNode> first = parse_json_object(line, json_line(file, 1), diagnostics);
  diagnostics.throw_if_any();
  std::vector<std::string> names;
  names.reserve(first->entries.size());
  for (const ConfigEntry& entry : first->entries) {
    names.push_back(entry.key);
  }
  return format_of(Syntax::kJsonLines, names, file);
}

std::string own_id(const ConfigNode& object) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  for (const char* key : {"id", "name", "case"}) {
    const ConfigNode* value = object.find(key);
    if (value != nullptr &&
        (value->quoted || scan_whole(*value, {-kLargest, kLargest}).fault == NumberFault::kNone)) {
      return shown(value->text, 200);
    }
  }
  return {};
}

// Reads the rows of a text one by one.
class RowReader {
 public:
  RowReader(const MeasurementFormat& format, std::string file, ProfileCache& profiles)
      : format_(format), file_(std::move(file)), profiles_(profiles) {}

  void read_lines(const std::string& text) {
    std::istringstream stream(text);
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
      if (is_blank_line(line)) {
        continue;
      }
      if (const auto* read = std::get_if<ReadStatedRow>(&format_.read)) {
        add_stated(*read, line, number);
      } else {
        add_row(parse_json_object(line, json_line(file_, number), diagnostics_), "line");
      }
    }
  }

  void read_table(const std::string& text) {
    const CsvTable table = parse_csv(text, file_, diagnostics_);
    for (const CsvRow& row : table.rows) {
      add_row(mapping_of(row, table.names, file_), "row");
    }
  }

  std::vector<RecordLine> finished() {
    if (rows_ == 0 && diagnostics_.empty()) {
      diagnostics_.error({file_, 1, 1}, "the file has no rows");
    }
    diagnostics_.throw_if_any();
    return std::move(records_);
  }

 private:
  void add_stated(ReadStatedRow read, const std::string& line, int number) {
    ++rows_;
    // The strict parser tells of keys that stand twice, and where.
    if (!parse_json_object(line, json_line(file_, number), diagnostics_)) {
      return;
    }
    std::vector<Record> records;
    read(nlohmann::json::parse(line), profiles_, records);
    keep(std::move(records), std::to_string(rows_), number);
  }

  void add_row(std::optional<ConfigNode> object, std::string_view what) {
    ++rows_;
    if (!object) {
      return;
    }
    std::string id = own_id(*object);
    id = id.empty() ? std::to_string(rows_) : id;
    const int line = object->line;
    std::vector<Record> records;
    try {
      ForeignRow row{std::move(*object), what, profiles_, diagnostics_};
      if (const auto* table = std::get_if<const KernelTable*>(&format_.read)) {
        read_kernel_table(**table, row, records);
      } else {
        std::get<ReadForeignRow>(format_.read)(row, records);
      }
    } catch (const RefusedRow& refusal) {
      records = {{{"measured", Record::object()}, {"skipped", refusal.reason}}};
    }
    keep(std::move(records), id, line);
  }

  // The id stands first; a record that has one of its own keeps it.
  void keep(std::vector<Record> records, const std::string& id, int line) {
    for (Record& record : records) {
      Record named = {{"id", record.contains("id") ? record["id"] : Record(id)}};
      record.erase("id");
      named.update(record);
      records_.push_back({std::move(named), file_, line});
    }
  }

  const MeasurementFormat& format_;
  std::string file_;
  ProfileCache& profiles_;
  Diagnostics diagnostics_;
  std::size_t rows_ = 0;
  std::vector<RecordLine> records_;
};

// One record for all of one operator, in the place of the first, with the median of their times.
std::vector<RecordLine> repeats_merged(const std::vector<RecordLine>& records) {
  std::vector<RecordLine> merged;
  std::map<std::string, std::size_t> first;  // its place in `merged`
  std::map<std::size_t, std::vector<double>> times;
  for (const RecordLine& line : records) {
    const Record& record = line.record;
    const bool single = record.contains("skipped") || record["measured"].size() != 1;
    const std::string key = single ? "" : json_dump(record["gpu"]) + json_dump(record["operator"]);
    const auto [known, is_new] =
        single ? std::pair(first.end(), true) : first.try_emplace(key, merged.size());
    if (!single) {
      times[known->second].push_back(record["measured"]["time_s"].get<double>());
    }
    if (is_new) {
      merged.push_back(line);
    }
  }
  for (const auto& [place, measured] : times) {
    merged[place].record["measured"]["time_s"] = quantile(measured, 0.5);
    if (measured.size() > 1) {
      merged[place].record["notes"] = "median of " + std::to_string(measured.size()) + " rows";
    }
  }
  return merged;
}

// One record for all of one run, in the place of the first, with the means of what was measured.
std::vector<RecordLine> repeats_averaged(const std::vector<RecordLine>& records) {
  std::vector<RecordLine> averaged;
  std::map<std::string, std::size_t> first;  // its place in `averaged`
  std::map<std::pair<std::size_t, std::string>, std::vector<double>> values;
  for (const RecordLine& line : records) {
    const Record& record = line.record;
    const bool read = record.contains("experiment");
    const std::string run =
        json_dump(record["id"]) + json_dump(record.value("experiment", Record()));
    const auto [known, is_new] =
        read ? first.try_emplace(run, averaged.size()) : std::pair(first.end(), true);
    if (is_new) {
      averaged.push_back(line);
    }
    for (const auto& [metric, value] : record["measured"].items()) {
      if (read && value.is_number()) {
        values[{known->second, metric}].push_back(value.get<double>());
      }
    }
  }
  for (const auto& [place, measured] : values) {
    Record& record = averaged[place.first].record;
    record["measured"][place.second] = sum_over(measured) / static_cast<double>(measured.size());
    if (measured.size() > 1 && place.second == "step_time_s") {
      const auto [least, most] = std::ranges::minmax(measured);
      record["notes"] = "mean of " + std::to_string(measured.size()) + " rows, " +
                        decimals(least, 3) + " to " + decimals(most, 3) + " s";
    }
  }
  return averaged;
}

}  // namespace

const Importers& all_importers() {
  static constexpr Importers kImporters{&import_records, &is_step_trace, &trace_rows};
  return kImporters;
}

std::vector<RecordLine> import_records(const std::string& text, const std::string& file,
                                       ProfileCache& profiles) {
  const MeasurementFormat& format = detected_format(text, file);
  RowReader reader(format, file, profiles);
  if (format.syntax == Syntax::kCsv) {
    reader.read_table(text);
  } else {
    reader.read_lines(text);
  }
  std::vector<RecordLine> records = reader.finished();
  switch (format.repeats) {
    case Repeats::kMerged:
      return repeats_merged(records);
    case Repeats::kAveraged:
      return repeats_averaged(records);
    case Repeats::kApart:
      break;
  }
  return records;
}

std::string to_json_lines(const std::vector<RecordLine>& records) {
  std::string text;
  for (const RecordLine& line : records) {
    text += json_dump(line.record) + "\n";
  }
  return text;
}

}  // namespace stepcast
