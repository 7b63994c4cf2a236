// SPDX-License-Identifier: Apache-2.0
// `stepcast merge`.
#include <sys/resource.h>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/sweep_output.hpp"

namespace stepcast::cli {
namespace {

struct MergeOptions {
  std::vector<std::string> parts;
  bool partial = false;
  SweepOutputOptions output;
  int threads = 0;
};

// A merge has every part open at once; where the system grants more files than are usual, all are
// wanted.
void allow_many_files() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

void check(const MergeOptions& options) {
  Diagnostics diagnostics;
  check_sweep_output(options.output, diagnostics);
  diagnostics.throw_if_any();
  for (const std::string& part : Simulator::part_files(options.parts)) {
    if (part == options.output.report.out || part == options.output.plans) {
      diagnostics.error({part, 0, 0}, "is a part and an output; give another output");
    }
  }
  diagnostics.throw_if_any();
}

int run_merge(const MergeOptions& options, const GlobalOptions& global) {
  check(options);
  allow_many_files();
  const Interrupt interrupt;
  SweepConsole console;
  SweepOutput output(options.output, console);
  const SweepReport merged = simulator_of(global).merge_report(
      options.parts, options.partial ? Merge::kPartial : Merge::kWhole, output.settings(global),
      console.running(options.threads, interrupt.token()));
  return merged.complete ? output.keep(merged.report) : kInterrupted;
}

}  // namespace

void add_merge(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "merge", "the parts of a sweep's shards or pieces as one sweep's output");
  auto options = std::make_shared<MergeOptions>();
  command
      ->add_option("parts", options->parts, "the parts of all shards, or the folder that has them")
      ->required();
  command->add_flag("--partial", options->partial,
                    "merge what is there, and say which parts and how many plans are missing");
  add_sweep_output_options(*command, options->output);
  add_threads_option(*command, options->threads, "threads; as many as there are processors");
  on_choice(*command, run, [options, &global] { return run_merge(*options, global); });
}

}  // namespace stepcast::cli
