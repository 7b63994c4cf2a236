// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/text_layout.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/units_text.hpp"

namespace stepcast {

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string right(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string line(const std::string& key, const std::string& value) {
  return "  " + padded(key, 26) + value + "\n";
}

std::string decimals(double value, int digits) {
  const double scale = digits == 1 ? 10.0 : 100.0;
  const auto scaled = std::llround(value * scale);
  const auto unit = static_cast<long long>(scale);
  std::string fraction = std::to_string(scaled % unit);
  fraction.insert(0, static_cast<std::size_t>(digits) - fraction.size(), '0');
  return with_separators(scaled / unit) + "." + fraction;
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  Row titles;
  for (const Column& column : columns_) {
    titles.cells.emplace_back(column.title);
  }
  rows_.push_back(std::move(titles));
}

void TextTable::add_row(std::vector<std::string> cells, std::string note) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), std::move(note)});
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], row.cells[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows_) {
    text += row_text(row, widths);
  }
  return text;
}

std::string TextTable::row_text(const Row& row, const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const bool left = columns_[i].align == Align::kLeft;
    text += "  " + (left ? padded(row.cells[i], widths[i]) : right(row.cells[i], widths[i]));
  }
  text.resize(text.find_last_not_of(' ') + 1);
  return text + "\n" + (row.note.empty() ? "" : "      " + row.note + "\n");
}

}  // namespace stepcast
