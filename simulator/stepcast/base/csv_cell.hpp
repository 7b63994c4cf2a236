// SPDX-License-Identifier: Apache-2.0
// A text as a cell of CSV (RFC 4180), for programs and for spreadsheets.
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

// In quotes, with its own doubled, where a comma, a quote or the end of a line stands in it. A
// spreadsheet computes what begins as a formula does, with = + - @, a tab or the end of a line:
// such a text gets an apostrophe before it, and so it is text; a number stays one.
std::string csv_cell(std::string_view text);

// Whether a cell, its quotes taken off, has the apostrophe that csv_cell puts before a text.
bool is_guarded(std::string_view cell);

}  // namespace stepcast
