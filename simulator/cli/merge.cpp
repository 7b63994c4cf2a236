// SPDX-License-Identifier: Apache-2.0
// `stepcast merge`.
#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/sweep_output.hpp"
#include "stepcast/sweep/sweep_merge.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast::cli {
namespace {

struct MergeOptions {
  std::vector<std::string> parts;
  SweepOutputOptions output;
  int threads = 0;
};

// The sweep that the parts are of, read again from what they hold.
SweepSpace space_of(const PartHeader& header, const std::string& part, const DataRoot& data) {
  SweepSource source = header.source;
  source.version = STEPCAST_VERSION;
  SweepSpace space = read_sweep(source, data);
  if (space.digest() != header.digest || space.size() != header.grid.plans) {
    const std::string version = header.source.version == source.version
                                    ? "other profiles"
                                    : "version " + header.source.version + " of the program";
    throw ConfigError({part, 0, 0}, "the part was made with " + version +
                                        "; merge it with those, or run the sweep again");
  }
  return space;
}

// Parts that were made for the best plans alone have no others.
void check_kept(const PartHeader& header, const SweepOutputOptions& output) {
  if (!header.top) {
    return;
  }
  const std::optional<std::size_t> best = best_of_output(output);
  if (!best || static_cast<std::int64_t>(*best) > *header.top) {
    throw ConfigError({"merge", 0, 0},
                      "the parts were made with --top " + std::to_string(*header.top) +
                          " and have no other plans; give --format text or json with --top " +
                          std::to_string(*header.top) + ", or make them without --top");
  }
}

int run_merge(const MergeOptions& options, const GlobalOptions& global) {
  Diagnostics diagnostics;
  check_sweep_output(options.output, diagnostics);
  for (const std::string& part : options.parts) {
    if (part == options.output.report.out || part == options.output.plans) {
      diagnostics.error({part, 0, 0}, "is a part and an output; give another output");
    }
  }
  diagnostics.throw_if_any();
  std::signal(SIGXFSZ, SIG_IGN);
  const Interrupt interrupt;
  const DataRoot data = data_root(global);
  const MergedParts merged({options.parts.begin(), options.parts.end()});
  const PartHeader& header = merged.header();
  check_kept(header, options.output);
  const SweepSpace space = space_of(header, merged.parts().front()->file().string(), data);
  return write_sweep(header.source, space, merged, header.grid, options.output, data,
                     options.threads > 0 ? options.threads : processors(), interrupt.token());
}

}  // namespace

void add_merge(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command =
      program.add_subcommand("merge", "the parts of a sweep's shards as one sweep's output");
  auto options = std::make_shared<MergeOptions>();
  command->add_option("parts", options->parts, "the parts of all shards")->required();
  add_sweep_output_options(*command, options->output);
  command->add_option("--threads", options->threads, "threads; as many as there are processors")
      ->check(CLI::Range(1, 4096));
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_merge(*options, global); };
  });
}

}  // namespace stepcast::cli
