// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_output.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "cli/number_option.hpp"
#include "cli/terminal.hpp"

namespace stepcast::cli {
namespace {

bool is_lines(const OutputOptions& output) {
  return output.format == "csv" || output.format == "jsonl";
}

}  // namespace

void add_sweep_output_options(CLI::App& command, SweepOutputOptions& options) {
  add_output_options(command, options.report, {"text", "json", "csv", "jsonl"});
  command.add_option(
      "--plans", options.plans,
      "write every plan to this file as well, priced or with the reason why it cannot "
      "run, FILE.csv or FILE.jsonl");
  command
      .add_option("--top", options.top,
                  "plans in the report, the best first (text: 20, json: all), in pages and "
                  "pictures (10,000) and in the folder of --save-dir (3)")
      ->check(whole_number({1, std::int64_t{1} << 40}));
  add_save_dir_option(command, options.save_dir, "the best plans");
  add_page_option(command, options.report);
  command.add_option("--plot", options.report.plot,
                     "tokens/s/GPU over peak memory of the best plans as a picture (SVG)");
}

void check_sweep_output(const SweepOutputOptions& options, Diagnostics& diagnostics) {
  const std::string& plans = options.plans;
  if (!plans.empty() && !plans.ends_with(".csv") && !plans.ends_with(".jsonl")) {
    diagnostics.error({"--plans " + plans, 0, 0}, "give a file that ends with .csv or .jsonl");
  }
  if (options.top && options.save_dir.empty() && is_lines(options.report)) {
    diagnostics.error({"--top", 0, 0},
                      "csv and jsonl have every plan in the order of the sweep; give --format text "
                      "or json, or --save-dir, or leave --top out");
  }
  check_save_dir(options.save_dir, diagnostics);
  for (const std::string& file :
       {options.report.out, plans, options.report.html, options.report.plot}) {
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    std::error_code error;
    if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
      diagnostics.error({file, 0, 0}, "there is no folder " + folder.string() + "; make it first");
    }
  }
}

OutputFile& SweepOutput::open(std::unique_ptr<OutputFile>& file, const std::string& name) {
  if (!file) {
    console_.end_progress();
    file = std::make_unique<OutputFile>(name);
  }
  return *file;
}

SweepReportSettings SweepOutput::settings(const GlobalOptions& global) {
  SweepReportSettings settings;
  settings.form = form_of(options_.report, global);
  settings.top = options_.top;
  settings.every_plan = options_.every_plan;
  settings.report = [this](std::string_view text) {
    OutputFile& file = open(report_, options_.report.out);
    file.write(options_.report.format == "text"
                   ? shown_report(std::string(text), "text", options_.report.out)
                   : text);
  };
  if (!options_.plans.empty()) {
    settings.lines_format =
        options_.plans.ends_with(".csv") ? ReportFormat::kCsv : ReportFormat::kJsonLines;
    settings.lines = [this](std::string_view text) { open(lines_, options_.plans).write(text); };
  }
  settings.save = saved_.writer();
  return settings;
}

int SweepOutput::keep(const Report& report) {
  if (!options_.plans.empty()) {
    open(lines_, options_.plans).keep();
  }
  if (report_ || is_lines(options_.report)) {
    open(report_, options_.report.out).keep();
  }
  write_pictures(options_.report, report);
  saved_.finish();
  return report.feasible ? kDone : kPlanCannotRun;
}

}  // namespace stepcast::cli
