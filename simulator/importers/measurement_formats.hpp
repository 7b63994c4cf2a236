// SPDX-License-Identifier: Apache-2.0
// The formats of files of measurements, told apart by the names on their first line.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "importers/foreign_row.hpp"

namespace stepcast {

// --- tables of kernels ------------------------------------------------------------------------
// Those of measured kernels as lists of what to rename and to set: a row is an operator line with
// columns of its own names, and each of its results is a record.

// A measured column: a metric of the operator with `key` set to `value`. Results with the same key
// and value are metrics of one record.
struct KernelResult {
  std::string_view column;
  Metric metric = Metric::kTime;
  double unit = 1.0;          // in seconds, MHz or watts
  std::string_view key = {};  // of the operator, e.g. pass; empty: the row's operator as it is
  std::string_view value = {};
  bool required = true;
};

struct KeyText {
  std::string_view key;
  std::string_view text;
};

// The operator of a row, and which of its results is looked at.
struct ReadKernel {
  const ForeignOperator& read;
  const ForeignRow& row;
  const KernelResult& result;
};

// Lists are as long as the longest one; what is empty is none.
struct KernelTable {
  std::array<KeyText, 2> renamed{};  // column, key of the operator
  std::array<KeyText, 3> texts{};    // keys set for every row
  std::string_view launch{};         // empty: as the row says
  std::array<KernelResult, 3> results{};
  std::array<std::string_view, 5> ignored{};  // columns that say nothing about the operator
  // What only code can say about a row: before it is read, the end of its group's name, and of a
  // record when it is written.
  void (*prepare)(ForeignRow& row) = nullptr;
  std::string (*group)(const ReadKernel& kernel) = nullptr;
  void (*finish)(const ReadKernel& kernel, Record& record) = nullptr;
};

// The part that a row was measured on: the one that it names as `gpu` or `sku`.
struct RowPart {
  std::string name;
  std::string assumed;  // whence it is known where the row names none
};
// Of a row that names none the part that the file's folder is called after, else the H200 that the
// formats without one were taken on. Throws RefusedRow for a part without a profile.
RowPart part_of_row(const ForeignRow& row);
void add_assumed(const RowPart& part, Record& record);

void read_kernel_table(const KernelTable& table, ForeignRow& row, std::vector<Record>& records);

// --- all formats ------------------------------------------------------------------------------

enum class Syntax { kJsonLines, kCsv };

// Adds the records of a nested row, whose fields may be absent or null.
using ReadStatedRow = void (*)(const nlohmann::json& row, ProfileCache& profiles,
                               std::vector<Record>& records);

// Merged: rows of one operator are judged on their median. Averaged: those of one run on their
// mean.
enum class Repeats { kApart, kMerged, kAveraged };

struct MeasurementFormat {
  std::string_view name;
  Syntax syntax = Syntax::kJsonLines;
  std::array<std::string_view, 5> names;  // keys or columns that the first line must have
  std::string_view example;               // a row, of a CSV below its header
  std::variant<ReadStatedRow, ReadForeignRow, const KernelTable*> read;
  Repeats repeats = Repeats::kApart;
};

// The first one that fits counts.
std::span<const MeasurementFormat> measurement_formats();

// The format of a file whose first line has these keys or columns. Throws ConfigError if there is
// none.
const MeasurementFormat& format_of(Syntax syntax, const std::vector<std::string>& names,
                                   const std::string& file);

}  // namespace stepcast
