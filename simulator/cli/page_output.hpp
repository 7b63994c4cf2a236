// SPDX-License-Identifier: Apache-2.0
// The page of a report, beside the report: --html FILE.
#pragma once

#include <functional>

#include "cli/common_options.hpp"
#include "pages/page.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast::cli {

// --html.
void add_page_option(CLI::App& command, OutputOptions& options);

// A page without its command. `charts` are made only for a page.
struct PageSource {
  PageKind kind = PageKind::kProjection;
  std::string title;
  std::function<std::string()> report;  // JSON
  std::function<nlohmann::ordered_json()> charts;
};

// Writes the page that `command` makes, if one is asked for, whole or not at all.
void write_page(const OutputOptions& options, const std::string& command, const PageSource& source);

// The report as `text` and its page. A page on standard output takes the place of a report there.
void write_output(const OutputOptions& options, const GlobalOptions& global,
                  const std::string& text, const PageSource& source);

// A report without a page.
void write_report(const OutputOptions& options, const std::string& text);

// Whether the report itself is written.
bool writes_report(const OutputOptions& options);

// "llama3.1_8b on 64 x mi300x", of a report of one experiment.
std::string page_title(const Projection& projection);

}  // namespace stepcast::cli
