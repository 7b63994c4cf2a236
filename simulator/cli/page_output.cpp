// SPDX-License-Identifier: Apache-2.0
#include "cli/page_output.hpp"

#include <CLI/CLI.hpp>

#include "cli/output_file.hpp"
#include "cli/terminal.hpp"

namespace stepcast::cli {
void add_page_option(CLI::App& command, OutputOptions& options) {
  command.add_option("--html", options.html,
                     "the report as a page for a browser, one file that needs no other; - is "
                     "standard output, in place of the report");
}

bool writes_report(const OutputOptions& options) {
  return options.html != kStandardOutput || !options.out.empty();
}

void write_page(const OutputOptions& options, const std::string& command,
                const PageSource& source) {
  if (options.html.empty()) {
    return;
  }
  OutputFile file(options.html == kStandardOutput ? "" : options.html);
  file.write(page_text({source.kind, source.title, command, source.report(),
                        source.charts ? source.charts() : nullptr}));
  file.keep();
}

void write_report(const OutputOptions& options, const std::string& text) {
  write_output(options, shown_report(text, options.format, options.out));
}

void write_output(const OutputOptions& options, const GlobalOptions& global,
                  const std::string& text, const PageSource& source) {
  if (writes_report(options)) {
    write_report(options, text);
  }
  write_page(options, global.command, source);
}

std::string page_title(const Projection& projection) {
  return projection.model + " on " + std::to_string(projection.gpus) + " x " + projection.gpu;
}

}  // namespace stepcast::cli
