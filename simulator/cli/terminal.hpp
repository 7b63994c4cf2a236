// SPDX-License-Identifier: Apache-2.0
// Reports on a terminal: lines folded to its width, headings and warnings in colour. What goes to a
// file or a pipe is never changed.
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

// A report as its reader gets it: for_terminal of standard output where it is a terminal and the
// report a text for people that goes there, else as it is.
std::string shown_report(const std::string& text, const std::string& format,
                         const std::string& out);

// `text` folded at gaps between cells and between words, what is left of a line below its value,
// and coloured: the first line and headings bold, notes yellow, what cannot run red.
std::string for_terminal(std::string_view text, const Terminal& terminal);

}  // namespace stepcast::cli
