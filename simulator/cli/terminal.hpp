// SPDX-License-Identifier: Apache-2.0
// Reports for people: control characters of names are shown, never obeyed. On a terminal lines are
// folded to its width, headings and warnings in colour; what goes to a file or a pipe is not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepcast::cli {

enum class Colours { kNone, kAnsi };

struct Terminal {
  std::size_t width = 0;  // in columns; 0: lines stay as long as they are
  Colours colours = Colours::kNone;
};

// What standard output is: its width if it is a terminal, and colours unless NO_COLOR is set or the
// terminal is dumb (no-color.org).
Terminal standard_output();

// A report as its reader gets it: a text for people by for_terminal, of standard output where it
// goes there; other formats as they are.
std::string shown_report(const std::string& text, const std::string& format,
                         const std::string& out);

// `text` printable, folded at gaps between cells and between words, what is left of a line below
// its value, and coloured: the first line and headings bold, notes yellow, what cannot run red.
std::string for_terminal(std::string_view text, const Terminal& terminal);

}  // namespace stepcast::cli
