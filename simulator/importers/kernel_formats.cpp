// SPDX-License-Identifier: Apache-2.0
#include "importers/measurement_formats.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "importers/published_names.hpp"

namespace stepcast {
namespace {

double measured(const KernelResult& result, MappingReader& fields) {
  const Range<double> range = result.unit == 1.0 ? kMeasuredSeconds : kMeasuredMicroseconds;
  return fields.required_number(result.column, range) * result.unit;
}

Record refused(const KernelTable& table, const ForeignRow& row, MappingReader& fields,
               const std::string& reason) {
  Record record;
  const std::string gpu = row.text("gpu") + row.text("sku");
  record["gpu"] = gpu;
  record["skipped"] = reason;
  for (const KernelResult& result : table.results) {
    if (!result.column.empty() && fields.has(result.column)) {
      record["measured"][std::string(key_of(result.metric))] = measured(result, fields);
    }
  }
  record["group"] = gpu;
  return record;
}

bool same_operator(const KernelResult& a, const KernelResult& b) {
  return a.key == b.key && a.value == b.value;
}

Record record_of(const KernelTable& table, const ReadKernel& kernel, const RowPart& part) {
  Record record;
  record["gpu"] = part.name;
  record["operator"] = kernel.read.record;
  if (!kernel.result.key.empty()) {
    record["operator"][std::string(kernel.result.key)] = std::string(kernel.result.value);
  }
  record["measured"] = Record::object();
  record["group"] = part.name + " " + table.group(kernel);
  add_assumed(part, record);
  return record;
}

void add_records(const KernelTable& table, const ForeignRow& row, MappingReader& fields,
                 std::vector<Record>& records) {
  const RowPart part = part_of_row(row);
  const ForeignOperator read = operator_in(row, fields, row.profiles.gpu(part.name));
  const KernelResult* last = nullptr;
  for (const KernelResult& result : table.results) {
    if (result.column.empty() || (!result.required && !fields.has(result.column))) {
      continue;
    }
    const ReadKernel kernel{read, row, result};
    if (last == nullptr || !same_operator(*last, result)) {
      records.push_back(record_of(table, kernel, part));
      last = &result;
    }
    records.back()["measured"][std::string(key_of(result.metric))] = measured(result, fields);
    if (table.finish != nullptr) {
      table.finish(kernel, records.back());
    }
  }
}

}  // namespace

RowPart part_of_row(const ForeignRow& row) {
  for (const char* key : {"gpu", "sku"}) {
    if (const std::string named = row.text(key); !named.empty()) {
      return {required_gpu(named, row.profiles), ""};
    }
  }
  const std::filesystem::path file = std::filesystem::absolute(*row.object.file);
  const std::string folder = gpu_for(file.parent_path().filename().string(), row.profiles);
  return folder.empty() ? RowPart{"h200_sxm", "gpu h200_sxm: rows without one were taken on it"}
                        : RowPart{folder, "gpu " + folder + ": the name of the file's folder"};
}

void add_assumed(const RowPart& part, Record& record) {
  if (!part.assumed.empty()) {
    record["assumed"].push_back(part.assumed);
  }
}

void read_kernel_table(const KernelTable& table, ForeignRow& row, std::vector<Record>& records) {
  for (const KeyText& rename : table.renamed) {
    if (!rename.key.empty()) {
      row.rename(rename.key, std::string(rename.text));
    }
  }
  for (const KeyText& set : table.texts) {
    if (!set.key.empty()) {
      row.set_text(std::string(set.key), std::string(set.text));
    }
  }
  if (!table.launch.empty()) {
    row.set_text("launch", std::string(table.launch));
  }
  if (table.prepare != nullptr) {
    table.prepare(row);
  }
  MappingReader fields = row.fields();
  const std::size_t before = records.size();
  try {
    add_records(table, row, fields, records);
    std::vector<std::string_view> own = {"gpu", "sku"};
    std::ranges::remove_copy(table.ignored, std::back_inserter(own), std::string_view());
    const std::string unread = unread_key(row, fields, own);
    if (!unread.empty()) {
      throw RefusedRow{unread_reason(unread)};
    }
  } catch (const RefusedRow& refusal) {
    records.resize(before);
    records.push_back(refused(table, row, fields, refusal.reason));
  }
  fields.report_missing();
}

}  // namespace stepcast
