// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/text_layout.hpp"

#include <algorithm>

namespace stepcast {
namespace {

std::vector<std::string> lines_of(const std::string& cell) {
  std::vector<std::string> lines;
  std::size_t from = 0;
  for (std::size_t end = cell.find('\n'); end != std::string::npos; end = cell.find('\n', from)) {
    lines.push_back(cell.substr(from, end - from));
    from = end + 1;
  }
  lines.push_back(cell.substr(from));
  return lines;
}

}  // namespace

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

std::string filled(const std::string& start, const std::vector<std::string>& items,
                   std::size_t width) {
  const std::string indent(start.size(), ' ');
  std::string text;
  std::string line = start;
  for (const std::string& item : items) {
    if (line.size() > indent.size() && line.size() + 1 + item.size() > width) {
      text += line + "\n";
      line = indent;
    }
    line += (line.size() > indent.size() ? " " : "") + item;
  }
  return text + line + "\n";
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
      for (const std::string& part : lines_of(row.cells[i])) {
        widths[i] = std::max(widths[i], part.size());
      }
    }
  }
  std::string text;
  for (const Row& row : rows_) {
    text += row_text(row, widths);
  }
  return text;
}

std::string TextTable::row_text(const Row& row, const std::vector<std::size_t>& widths) const {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const std::string& cell : row.cells) {
    height = std::max(height, cells.emplace_back(lines_of(cell)).size());
  }
  std::string text;
  for (std::size_t at = 0; at < height; ++at) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string part = at < cells[i].size() ? cells[i][at] : std::string();
      const bool left = columns_[i].align == Align::kLeft;
      line += "  " + (left ? padded(part, widths[i]) : right(part, widths[i]));
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text + (row.note.empty() ? "" : "      " + row.note + "\n");
}

}  // namespace stepcast
