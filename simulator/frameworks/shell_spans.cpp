// SPDX-License-Identifier: Apache-2.0
// Where the constructs of a shell's words end: quotes, ${ }, $( ), with one inside the other.
#include <algorithm>

#include "frameworks/shell_syntax.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

constexpr int kDeepestConstruct =
    100;  // constructs inside each other; what is deeper is taken as unclosed

// Whether what stands inside ${ } is itself inside double quotes, where single ones are letters.
enum class Around { kNothing, kDoubleQuotes };

std::size_t behind_parentheses(std::string_view text, std::size_t at, int depth);
std::size_t behind_braces(std::string_view text, std::size_t at, Around around, int depth);

std::size_t behind(std::string_view text, char end, std::size_t at) {
  while (at < text.size() && text[at] != end) {
    at += text[at] == '\\' ? 2 : 1;
  }
  return std::min(at + 1, text.size());
}

std::size_t behind_dollar(std::string_view text, std::size_t at, Around around, int depth) {
  const char next = at + 1 < text.size() ? text[at + 1] : '\0';
  if (next == '(') {
    return behind_parentheses(text, at + 1, depth + 1);
  }
  if (next == '{') {
    return behind_braces(text, at + 1, around, depth + 1);
  }
  if (next == '\'' && around == Around::kNothing) {
    return behind(text, '\'', at + 2);
  }
  return at + 1;
}

std::size_t behind_double_quotes(std::string_view text, std::size_t at, int depth) {
  for (++at; at < text.size() && text[at] != '"';) {
    if (text[at] == '\\') {
      at += 2;
    } else if (text[at] == '`') {
      at = behind(text, '`', at + 1);
    } else {
      at = text[at] == '$' ? behind_dollar(text, at, Around::kDoubleQuotes, depth) : at + 1;
    }
  }
  return std::min(at + 1, text.size());
}

// One character, or the construct that it begins.
std::size_t behind_one(std::string_view text, std::size_t at, Around around, int depth) {
  if (depth > kDeepestConstruct) {
    return text.size();
  }
  switch (text[at]) {
    case '\\':
      return std::min(at + 2, text.size());
    case '\'':
      return around == Around::kDoubleQuotes
                 ? at + 1
                 : std::min(text.find('\'', at + 1), text.size() - 1) + 1;
    case '"':
      return behind_double_quotes(text, at, depth + 1);
    case '`':
      return behind(text, '`', at + 1);
    case '$':
      return behind_dollar(text, at, around, depth);
    default:
      return at + 1;
  }
}

std::size_t behind_braces(std::string_view text, std::size_t at, Around around, int depth) {
  for (++at; at < text.size() && text[at] != '}';) {
    at = behind_one(text, at, around, depth + 1);
  }
  return std::min(at + 1, text.size());
}

// Behind the line that ends the here-document whose sign "<<" stands at `at`; `at` + 2 where its
// text does not begin before the end.
std::size_t behind_document(std::string_view text, std::size_t at) {
  std::size_t begin = at + 2;
  const bool tabs = begin < text.size() && text[begin] == '-';
  begin = text.find_first_not_of(" \t", begin + (tabs ? 1 : 0));
  std::string end;
  while (begin < text.size() && !ascii::is_space(text[begin]) && text[begin] != ')') {
    const char c = text[begin++];
    if (c != '"' && c != '\'' && c != '\\') {
      end += c;
    }
  }
  std::size_t line = begin >= text.size() ? begin : text.find('\n', begin);
  while (line < text.size()) {
    const std::size_t first = line + 1;
    line = text.find('\n', first);
    std::string_view content = text.substr(std::min(first, text.size()), line - first);
    content.remove_prefix(tabs ? std::min(content.find_first_not_of('\t'), content.size()) : 0);
    if (content == end) {
      return std::min(line, text.size());
    }
  }
  return at + 2;
}

bool begins_word(std::string_view text, std::size_t at) {
  return ascii::is_space(text[at - 1]) || text[at - 1] == ';' || text[at - 1] == '(';
}

std::size_t behind_parentheses(std::string_view text, std::size_t at, int depth) {
  const bool computes = text.substr(at).starts_with("((");
  for (++at; at < text.size() && text[at] != ')';) {
    const std::string_view rest = text.substr(at);
    if (depth > kDeepestConstruct) {
      return text.size();
    }
    if (rest.front() == '(') {
      at = behind_parentheses(text, at, depth + 1);
    } else if (!computes && rest.front() == '#' && begins_word(text, at)) {
      at = std::min(text.find('\n', at), text.size());
    } else if (!computes && rest.starts_with("<<") && !rest.starts_with("<<<")) {
      at = behind_document(text, at);
    } else if (rest.starts_with("<<<")) {
      at += 3;
    } else {
      at = behind_one(text, at, Around::kNothing, depth + 1);
    }
  }
  return std::min(at + 1, text.size());
}

}  // namespace

std::size_t end_of_construct(std::string_view text, std::size_t at) {
  return behind_one(text, at, Around::kNothing, 0);
}

std::size_t end_of_quoted_construct(std::string_view text, std::size_t at) {
  return behind_one(text, at, Around::kDoubleQuotes, 0);
}

std::size_t end_of_parentheses(std::string_view text, std::size_t at) {
  return behind_parentheses(text, at, 0);
}

std::string without_backquotes(std::string_view text) {
  std::string inner;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes = text[i] == '\\' && i + 1 < text.size() &&
                         std::string_view("`\\$").find(text[i + 1]) != std::string_view::npos;
    i += escapes ? 1 : 0;
    inner += text[i];
  }
  return inner;
}

std::size_t shell_name_length(std::string_view text) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), ascii::is_word);
  return text.empty() || ascii::is_digit(text.front())
             ? 0
             : static_cast<std::size_t>(end - text.begin());
}

std::size_t shell_assignment_length(std::string_view text) {
  std::size_t end = shell_name_length(text);
  if (end == 0) {
    return 0;
  }
  if (text.substr(end).starts_with('[')) {
    const std::size_t close = text.find(']', end);
    const bool one_line = close != std::string_view::npos &&
                          text.substr(end, close - end).find_first_of("\n;") == std::string::npos;
    end = one_line ? close + 1 : end;
  }
  end += text.substr(end).starts_with('+') ? 1 : 0;
  return text.substr(end).starts_with('=') ? end + 1 : 0;
}

}  // namespace stepcast
