// SPDX-License-Identifier: Apache-2.0
// `stepcast merge`.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/number_option.hpp"
#include "cli/sweep_output.hpp"
#include "stepcast/base/worker_arena.hpp"
#include "stepcast/sweep/sweep_merge.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast::cli {
namespace {

struct MergeOptions {
  std::vector<std::string> parts;
  bool partial = false;
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

// A merge has every part open at once; where the system grants more files than are usual, all are
// wanted.
void allow_many_files() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

PartFiles checked(const MergeOptions& options) {
  Diagnostics diagnostics;
  check_sweep_output(options.output, diagnostics);
  diagnostics.throw_if_any();
  PartFiles parts = part_files({options.parts.begin(), options.parts.end()});
  for (const std::filesystem::path& part : parts.files) {
    if (part == options.output.report.out || part == options.output.plans) {
      diagnostics.error({part.string(), 0, 0}, "is a part and an output; give another output");
    }
  }
  diagnostics.throw_if_any();
  return parts;
}

// Lines have no place for it: said whatever the output is.
void say_missing(const MergedParts& merged) {
  if (const std::optional<MissingParts> missing = merged.missing()) {
    std::fprintf(stderr, "missing: %s\n",
                 missing_text(*missing, merged.header().grid.plans).c_str());
  }
}

int run_merge(const MergeOptions& options, const GlobalOptions& global) {
  const PartFiles parts = checked(options);
  allow_many_files();
  const Interrupt interrupt;
  const DataRoot data = data_root(global);
  using Missing = MergedParts::Missing;
  const MergedParts merged(parts, options.partial ? Missing::kAccept : Missing::kRefuse);
  const PartHeader& header = merged.header();
  check_kept(header, options.output);
  const SweepSpace space = space_of(header, merged.parts().front()->file().string(), data);
  say_missing(merged);
  return write_sweep(header.source, space, merged, header.grid, options.output, data,
                     options.threads > 0 ? options.threads : processors(), interrupt.token());
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
  command->add_option("--threads", options->threads, "threads; as many as there are processors")
      ->check(whole_number({1, kMostThreads}));
  command->callback([options, &global, &run] {
    run = [options, &global] {
      options->output.command = global.command;
      return run_merge(*options, global);
    };
  });
}

}  // namespace stepcast::cli
