// SPDX-License-Identifier: Apache-2.0
// What `sweep` and `merge` write: the report, its page and its plot, every plan as a line, and a
// folder of the best plans.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/common_options.hpp"
#include "cli/output_file.hpp"
#include "cli/saved_plans.hpp"
#include "cli/sweep_console.hpp"

namespace stepcast::cli {

struct SweepOutputOptions {
  OutputOptions report;
  std::string plans;                // FILE.csv or FILE.jsonl
  std::optional<std::int64_t> top;  // plans in the report and the folder
  bool every_plan = false;          // is priced, whatever the report has
  std::string save_dir;             // a folder for the best plans; empty: none
};

void add_sweep_output_options(CLI::App& command, SweepOutputOptions& options);

// What keeps the options from being followed, found before any work is done.
void check_sweep_output(const SweepOutputOptions& options, Diagnostics& diagnostics);

// Writes what the library answers. Outputs are there whole, once they are kept, or not at all.
class SweepOutput {
 public:
  SweepOutput(const SweepOutputOptions& options, SweepConsole& console)
      : options_(options), console_(console), saved_(options.save_dir) {}
  // To be asked of the library; holds as long as this lives.
  [[nodiscard]] SweepReportSettings settings(const GlobalOptions& global);
  // The exit code of a report that is complete.
  int keep(const Report& report);

 private:
  OutputFile& open(std::unique_ptr<OutputFile>& file, const std::string& name);

  const SweepOutputOptions& options_;
  SweepConsole& console_;
  SavedPlans saved_;
  std::unique_ptr<OutputFile> report_;
  std::unique_ptr<OutputFile> lines_;
};

}  // namespace stepcast::cli
