// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_lexer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kWordEnds = " \t\r\n;&|()<>";

}  // namespace

void ShellLexer::fail(const std::string& message) const {
  throw ConfigError({file_, line_, 0}, message);
}

void ShellLexer::unclosed(const std::string& what, int line) const {
  throw ConfigError({file_, line, 0}, "has " + what + " that nothing closes");
}

void ShellLexer::go_to(std::size_t place) {
  place = std::min(place, text_.size());
  line_ += static_cast<int>(
      std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                 text_.begin() + static_cast<std::ptrdiff_t>(std::max(at_, place)), '\n'));
  at_ = std::max(at_, place);
}

void ShellLexer::end_line() {
  skip(1);
  go_to(std::exchange(document_end_, 0));
}

void ShellLexer::skip_blanks() {
  while (!at_end()) {
    if (peek() == ' ' || peek() == '\t' || peek() == '\r') {
      skip(1);
    } else if (starts_with("\\\n") || starts_with("\\\r\n")) {
      skip(starts_with("\\\n") ? 2 : 3);
    } else if (peek() == '#' &&
               (at_ == 0 || kWordEnds.find(text_[at_ - 1]) != std::string_view::npos)) {
      go_to(std::min(text_.find('\n', at_), text_.size()));
    } else {
      return;
    }
  }
}

void ShellLexer::skip_lines() {
  skip_blanks();
  while (peek() == '\n' && !at_end()) {
    end_line();
    skip_blanks();
  }
}

bool ShellLexer::at_word() const {
  return !at_end() && (kWordEnds.find(peek()) == std::string_view::npos || starts_with("<(") ||
                       starts_with(">(") || placeholder_length() > 0);
}

std::size_t ShellLexer::placeholder_length() const {
  std::string_view line = rest().substr(0, rest().find('\n'));
  if (line.size() < 3 || line[0] != '<' || !ascii::is_letter(line[1])) {
    return 0;
  }
  line.remove_suffix(line.size() - 1 - line.find_last_not_of(" \t\r\\"));
  const bool plain = line.find_first_of("<}'\"`$&|", 1) == std::string_view::npos;
  return plain && line.find('>') == line.size() - 1 ? line.size() : 0;
}

std::string_view ShellLexer::next_word() const {
  std::size_t end = at_;
  while (end < text_.size() && kWordEnds.find(text_[end]) == std::string_view::npos) {
    ++end;
  }
  return text_.substr(at_, end - at_);
}

ShellRawWord ShellLexer::word() {
  const int line = line_;
  const std::size_t begin = at_;
  if (starts_with("<(") || starts_with(">(")) {
    go_to(end_of_parentheses(text_, at_ + 1));
  }
  std::string text(text_.substr(begin, at_ - begin));
  while (at_word()) {
    if (starts_with("\\\n") || starts_with("\\\r\n")) {
      skip(starts_with("\\\n") ? 2 : 3);
      continue;
    }
    if (const std::size_t length = placeholder_length(); length > 0) {
      text += "${" + std::string(rest().substr(0, length)) + "}";  // which no expansion knows
      skip(length);
      continue;
    }
    const std::size_t from = at_;
    construct(line);
    text += text_.substr(from, at_ - from);
  }
  return {std::move(text), line};
}

void ShellLexer::construct(int line) {
  constexpr std::string_view kOpening = "'\"`";
  const char open = peek();
  const std::size_t end = end_of_construct(text_, at_);
  const bool closes_itself = open == '$' && end == at_ + 1;
  const bool quotes = kOpening.find(open) != std::string_view::npos;
  const bool closed =
      closes_itself || end < text_.size() || (!quotes && open != '$') || is_closed(at_, end);
  if (!closed) {
    unclosed(open == '$'    ? "a '" + std::string(text_.substr(at_, 2)) + "'"
             : open == '\'' ? "a single quote"
                            : "a quote",
             line);
  }
  go_to(end);
}

bool ShellLexer::is_closed(std::size_t begin, std::size_t end) const {
  const std::string_view whole = text_.substr(begin, end - begin);
  const char open = whole.front();
  if (open == '$' && whole.size() > 1) {
    const char close = whole[1] == '(' ? ')' : whole[1] == '{' ? '}' : whole[1];
    return (whole[1] != '\'' || whole.size() > 2) && whole.back() == close;
  }
  return whole.size() > 1 && whole.back() == open;
}

ShellAssignment ShellLexer::assignment() {
  ShellAssignment made;
  made.line = line_;
  const std::size_t length = shell_assignment_length(rest());
  const std::string_view sign = rest().substr(0, length);
  made.appends = sign.ends_with("+=");
  made.name = sign.substr(0, shell_name_length(sign));
  const std::size_t open = sign.find('[');
  if (open != std::string_view::npos) {
    made.subscript = sign.substr(open + 1, sign.rfind(']') - open - 1);
  }
  skip(length);
  made.array = peek() == '(' && !at_end();
  if (made.array) {
    array_items(made);
  } else {
    made.words.push_back(at_word() ? word() : ShellRawWord{{}, line_});
  }
  return made;
}

void ShellLexer::array_items(ShellAssignment& made) {
  skip(1);
  skip_lines();
  while (peek() != ')') {
    if (at_end()) {
      unclosed("an array", made.line);
    }
    if (!at_word()) {
      fail("has '" + std::string(1, peek()) + "' inside an array");
    }
    made.words.push_back(word());
    skip_lines();
  }
  skip(1);
}

bool ShellLexer::at_redirection() const {
  std::size_t at = at_;
  while (at < text_.size() && ascii::is_digit(text_[at])) {
    ++at;
  }
  const std::string_view sign = text_.substr(at);
  if (placeholder_length() > 0) {
    return false;
  }
  const bool process = at == at_ && (sign.starts_with("<(") || sign.starts_with(">("));
  return !process &&
         (sign.starts_with('<') || sign.starts_with('>') || (at == at_ && sign.starts_with("&>")));
}

ShellRedirection ShellLexer::redirection() {
  ShellRedirection made;
  const std::size_t digits = rest().find_first_not_of("0123456789");
  const bool input = rest().substr(digits).starts_with('<');
  made.stream = digits > 0 ? rest()[digits - 1] - '0' : input ? 0 : 1;
  skip(digits);
  constexpr auto kSigns = std::to_array<std::string_view>(
      {"&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"});
  for (const std::string_view sign : kSigns) {
    if (starts_with(sign)) {
      made.sign = sign;
      break;
    }
  }
  skip(made.sign.size());
  skip_blanks();
  if (!at_word()) {
    fail("has '" + made.sign +
         "' without a file; where <...> stands for something of yours, put that there");
  }
  made.target = word();
  if (made.sign == "<<" || made.sign == "<<-") {
    read_document(made);
  }
  return made;
}

void ShellLexer::read_document(ShellRedirection& made) {
  std::string end;
  for (const char c : made.target.text) {
    const bool quote = c == '"' || c == '\'' || c == '\\';
    made.literal = made.literal || quote;
    end += quote ? "" : std::string(1, c);
  }
  std::size_t line = document_end_ > 0 ? document_end_ : text_.find('\n', at_) + 1;
  line = line == 0 ? text_.size() : line;
  const std::size_t begin = line;
  made.target.line = line_ + static_cast<int>(std::count(
                                 text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                 text_.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
  std::string document;
  bool closed = false;
  while (line < text_.size() && !closed) {
    const std::size_t line_end = std::min(text_.find('\n', line), text_.size());
    std::string_view content = text_.substr(line, line_end - line);
    content.remove_suffix(content.ends_with('\r') ? 1 : 0);
    if (made.sign == "<<-") {
      content.remove_prefix(std::min(content.find_first_not_of('\t'), content.size()));
    }
    line = std::min(line_end + 1, text_.size());
    closed = content == end;
    document += closed ? "" : std::string(content) + '\n';
  }
  document_end_ = line;
  made.sign = "<<";
  made.target.text = std::move(document);
}

}  // namespace stepcast
