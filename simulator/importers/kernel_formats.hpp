// SPDX-License-Identifier: Apache-2.0
// Tables of measured kernels as lists of what to rename and to set: a row is an operator line with
// columns of its own names, and each of its results is a record.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "importers/foreign_row.hpp"

namespace stepcast {

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

struct KernelTable {
  std::span<const KeyText> renamed;  // column, key of the operator
  std::span<const KeyText> texts;    // keys set for every row
  std::string_view launch;           // empty: as the row says
  std::span<const KernelResult> results;
  std::span<const std::string_view> ignored;  // columns that say nothing about the operator
  // What only code can say about a row: before it is read, the end of its group's name, and of a
  // record when it is written.
  void (*prepare)(ForeignRow& row) = nullptr;
  std::string (*group)(const ForeignOperator& read, const ForeignRow& row,
                       const KernelResult& result) = nullptr;
  void (*finish)(const ForeignOperator& read, const ForeignRow& row, Record& record) = nullptr;
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

}  // namespace stepcast
