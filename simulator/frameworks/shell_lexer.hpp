// SPDX-License-Identifier: Apache-2.0
// Characters, words, assignments and redirections of a script, as shell_parser.cpp puts them
// together.
#pragma once

#include <string>
#include <string_view>

#include "frameworks/shell_syntax.hpp"

namespace stepcast {

class ShellLexer {
 public:
  ShellLexer(std::string_view text, std::string file, int line)
      : text_(text), file_(std::move(file)), line_(line) {}

 protected:
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  [[nodiscard]] bool starts_with(std::string_view what) const { return rest().starts_with(what); }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] const std::string& file() const { return file_; }

  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void unclosed(const std::string& what, int line) const;

  void go_to(std::size_t place);
  void skip(std::size_t count) { go_to(at_ + count); }
  // The end of a line; here-documents that began in it lie behind it.
  void end_line();
  void skip_blanks();
  void skip_lines();

  [[nodiscard]] bool at_word() const;
  // The word here as it would be read, without reading it.
  [[nodiscard]] std::string_view next_word() const;
  [[nodiscard]] bool at_keyword(std::string_view word) const { return next_word() == word; }
  // "<Specify a path>" at the end of a line, which examples have where their user is to write
  // something; bash takes it for redirections, of which the last has no file.
  [[nodiscard]] std::size_t placeholder_length() const;
  ShellRawWord word();
  // One character of a word, or what it opens and something must close.
  void construct(int line);
  ShellAssignment assignment();
  [[nodiscard]] bool at_redirection() const;
  ShellRedirection redirection();

 private:
  [[nodiscard]] bool is_closed(std::size_t begin, std::size_t end) const;
  void array_items(ShellAssignment& made);
  void read_document(ShellRedirection& made);

  std::string_view text_;
  std::string file_;
  int line_;
  std::size_t at_ = 0;
  std::size_t document_end_ = 0;  // of here-documents that began in this line
};

}  // namespace stepcast
