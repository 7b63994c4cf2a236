// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "stepcast/base/printable.hpp"

namespace stepcast::cli {
namespace {

constexpr std::size_t kNarrowest = 40;  // narrower terminals fold lines themselves
constexpr std::size_t kValueColumn = 28;
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kPlain = "\x1b[0m";

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

std::size_t width_of(int descriptor) {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

bool starts_with_key(std::string_view line) {
  return line.size() > kValueColumn && line.starts_with("  ") && line[2] != ' ' &&
         line.substr(kValueColumn - 2, 2) == "  " && line[kValueColumn] != ' ';
}

// Where the rest of a folded line starts: below its value, or two columns into its text.
std::size_t indent_of(std::string_view line) {
  if (starts_with_key(line)) {
    return kValueColumn;
  }
  const std::size_t text = line.find_first_not_of(' ');
  const bool item = text != std::string_view::npos && line.substr(text).starts_with("- ");
  return (text == std::string_view::npos ? 0 : text) + (item ? 2 : 4);
}

// The last place at which a line can be folded to `width`: a gap of cells rather than of words.
std::size_t fold_at(std::string_view line, std::size_t from, std::size_t width) {
  const std::size_t gap = line.rfind("  ", width - 1);
  const std::size_t blank = line.rfind(' ', width);
  const bool has_gap = gap != std::string_view::npos && gap > std::max(from, width / 2);
  const std::size_t at = has_gap ? gap : blank;
  return at == std::string_view::npos || at <= from ? std::string_view::npos : at;
}

std::string folded(std::string_view line, std::size_t width) {
  if (width < kNarrowest || line.size() <= width) {
    return std::string(line);
  }
  const std::size_t indent = std::min(indent_of(line), width / 2);
  std::string text;
  std::string rest(line);
  std::size_t from = line.find_first_not_of(' ');
  while (rest.size() > width) {
    const std::size_t at = fold_at(rest, from, width);
    if (at == std::string::npos) {
      break;
    }
    const std::size_t next = rest.find_first_not_of(' ', at);
    text += rest.substr(0, at) + "\n";
    rest = std::string(indent, ' ') + (next == std::string::npos ? "" : rest.substr(next));
    from = indent;
  }
  text += rest;
  return text;
}

std::string_view colour_of(std::string_view line, bool first) {
  if (line.starts_with("  note ")) {
    return kYellow;
  }
  if (line.find("cannot run") != std::string_view::npos && line.ends_with(":")) {
    return kRed;
  }
  const bool heading = !line.empty() && line.front() != ' ' && line.front() != '|';
  return first || heading ? kBold : std::string_view();
}

}  // namespace

Terminal standard_output() {
  if (::isatty(STDOUT_FILENO) == 0) {
    return {};
  }
  const bool plain = !variable("NO_COLOR").empty() || variable("TERM") == "dumb";
  return {width_of(STDOUT_FILENO), plain ? Colours::kNone : Colours::kAnsi};
}

std::string shown_report(const std::string& text, const std::string& format,
                         const std::string& out) {
  if (format != "text") {
    return text;
  }
  return for_terminal(text, out.empty() ? standard_output() : Terminal{});
}

std::string for_terminal(std::string_view text, const Terminal& terminal) {
  std::string shown;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = printable(text.substr(0, end));
    const std::string_view colour =
        terminal.colours == Colours::kNone ? std::string_view() : colour_of(line, first);
    shown += colour;
    shown += folded(line, terminal.width);
    shown += colour.empty() ? std::string_view() : kPlain;
    shown += end < text.size() ? "\n" : "";
    text.remove_prefix(std::min(end + 1, text.size()));
    first = false;
  }
  return shown;
}

}  // namespace stepcast::cli
