// SPDX-License-Identifier: Apache-2.0
#include "importers/csv_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/config/value_message.hpp"

namespace stepcast {
namespace {

// Takes records off the front of a text.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string file, Diagnostics& diagnostics)
      : text_(text), file_(std::move(file)), diagnostics_(&diagnostics) {}

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] bool good() const { return good_; }  // whether the last record was well-formed

  // The next record: everything up to a line end outside quotes.
  CsvRow record() {
    good_ = true;
    CsvRow row{line_, {}};
    while (true) {
      CsvField field{{}, column()};
      if (peek() == '"') {
        quoted(field.text);
      } else {
        plain(field.text);
      }
      if (is_guarded(field.text)) {
        field.text.erase(0, 1);
        field.guarded = true;
      }
      row.fields.push_back(std::move(field));
      if (peek() != ',') {
        break;
      }
      ++at_;
    }
    end_line();
    return row;
  }

  void error(int line, int column, std::string message) {
    good_ = false;
    diagnostics_->error({file_, line, column}, std::move(message));
  }

 private:
  [[nodiscard]] char peek() const { return done() ? '\n' : text_[at_]; }
  [[nodiscard]] bool at_line_end() const {
    return peek() == '\n' ||
           (peek() == '\r' && (at_ + 1 >= text_.size() || text_[at_ + 1] == '\n'));
  }
  [[nodiscard]] int column() const { return static_cast<int>(at_ - line_start_) + 1; }

  void plain(std::string& field) {
    const std::size_t start = at_;
    while (peek() != ',' && !at_line_end()) {
      if (peek() == '"' && good_) {
        error(line_, column(), "a quote inside a field; put the whole field in quotes");
      }
      ++at_;
    }
    field = text_.substr(start, at_ - start);
  }

  void quoted(std::string& field) {
    const int line = line_;
    const int start = column();
    ++at_;
    while (!done()) {
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') {
          ++at_;
          after_quotes();
          return;
        }
        ++at_;
      }
      field += text_[at_];
      if (text_[at_] == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      }
      ++at_;
    }
    error(line, start, "a quoted field has no end; close it with a quote");
  }

  void after_quotes() {
    if (peek() != ',' && !at_line_end()) {
      error(line_, column(), "text after a quoted field; write a comma or a new line");
      while (peek() != ',' && !at_line_end()) {
        ++at_;
      }
    }
  }

  void end_line() {
    at_ += peek() == '\r' ? 2 : 1;
    ++line_;
    line_start_ = at_;
  }

  std::string_view text_;
  std::string file_;
  Diagnostics* diagnostics_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  bool good_ = true;
};

bool is_blank(const CsvRow& row) { return row.fields.size() == 1 && row.fields[0].text.empty(); }

std::vector<std::string> texts_of(const CsvRow& row) {
  std::vector<std::string> texts;
  std::ranges::transform(row.fields, std::back_inserter(texts), &CsvField::text);
  return texts;
}

// The whole number that a field is, without zeros before it, or another number, or a text, as a
// guarded one always is.
ConfigNode value_of(const CsvField& field, const ConfigPlace& place) {
  const std::string& text = field.text;
  const char* end = text.data() + text.size();
  std::int64_t count = 0;
  const auto whole = std::from_chars(text.data(), end, count);
  double number = 0.0;
  const auto [stopped, fault] = std::from_chars(text.data(), end, number);
  const bool is_number = stopped == end && fault == std::errc{} && std::isfinite(number);
  const bool is_whole = whole.ptr == end && whole.ec == std::errc{};
  ConfigNode value = scalar_at(place, is_whole ? std::to_string(count) : text);
  value.quoted = field.guarded || !is_number;
  return value;
}

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  CsvReader reader(text, file, diagnostics);
  CsvTable table;
  const CsvRow header = reader.record();
  table.names = texts_of(header);
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    const auto here = table.names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(table.names.begin(), here, *here) != here) {
      reader.error(1, header.fields[i].column, "duplicate column '" + shown(*here) + "'");
    }
  }
  while (!reader.done()) {
    CsvRow row = reader.record();
    if (is_blank(row)) {
      continue;
    }
    if (reader.good() && row.fields.size() != table.names.size()) {
      reader.error(row.line, 1,
                   std::to_string(row.fields.size()) + " fields, but the header has " +
                       std::to_string(table.names.size()));
    }
    if (reader.good()) {
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::vector<std::string> csv_names(std::string_view text) {
  Diagnostics ignored;
  return texts_of(CsvReader(text.substr(0, text.find('\n')), {}, ignored).record());
}

ConfigNode mapping_of(const CsvRow& row, const std::vector<std::string>& names,
                      const std::string& file) {
  ConfigNode mapping = empty_at({std::make_shared<const std::string>(file), row.line, 1},
                                ConfigNode::Kind::kMapping);
  for (std::size_t i = 0; i < row.fields.size() && i < names.size(); ++i) {
    const CsvField& field = row.fields[i];
    if (!field.text.empty()) {
      mapping.entries.push_back({names[i], row.line, field.column,
                                 value_of(field, {mapping.file, row.line, field.column})});
    }
  }
  return mapping;
}

}  // namespace stepcast
