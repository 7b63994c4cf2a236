// SPDX-License-Identifier: Apache-2.0
// Numbers and columns of the reports for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

// `text` filled with blanks on its right, or on its left, up to `width`.
std::string padded(std::string text, std::size_t width);
std::string right(const std::string& text, std::size_t width);
// An indented line of a key and its value.
std::string line(const std::string& key, const std::string& value);

// Items after `start` with a blank between them, in lines of at most `width` columns, those that
// follow as far to the right as `start` ends.
std::string filled(const std::string& start, const std::vector<std::string>& items,
                   std::size_t width);

enum class Align { kLeft, kRight };

// Rows in aligned columns, two blanks apart, each as wide as its widest cell. A cell with line
// feeds takes several lines.
class TextTable {
 public:
  struct Column {
    std::string_view title;
    Align align = Align::kLeft;
  };

  explicit TextTable(std::vector<Column> columns);
  // Cells that are missing at the end stay empty; `note` is a line of its own below the row.
  void add_row(std::vector<std::string> cells, std::string note = {});
  [[nodiscard]] std::string text() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string note;
  };

  [[nodiscard]] std::string row_text(const Row& row, const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace stepcast
