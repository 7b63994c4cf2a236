// SPDX-License-Identifier: Apache-2.0
// `stepcast sweep`.
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress_bar.hpp"
#include "cli/sweep_output.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/sweep/plan_search.hpp"
#include "stepcast/sweep/sweep_part.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast::cli {
namespace {

struct SweepOptions {
  ExperimentOptions experiment;
  SweepOutputOptions output;
  int threads = 0;
  std::string shard;  // empty: the whole, with its report
  bool resume = false;
};

// Plans of which the numbers are kept in memory where no file is asked for: 144 MiB.
constexpr std::int64_t kMostInMemory = 1 << 20;

// The journal: of a shard it is what was asked for; empty if nothing is written to a file.
std::string part_file(const SweepOptions& options) {
  const std::string& out = options.output.report.out;
  if (!options.shard.empty()) {
    return out;
  }
  const std::string& beside = out.empty() ? options.output.plans : out;
  return beside.empty() ? "" : beside + ".part";
}

void check_shard_output(const SweepOptions& options, Diagnostics& diagnostics) {
  const Location where{"--shard " + options.shard, 0, 0};
  if (options.output.report.out.empty()) {
    diagnostics.error(where, "give the file of its part with --out, e.g. --out shard.part");
  }
  if (!options.output.plans.empty() || options.output.report.format != "text" ||
      !options.output.save_dir.empty()) {
    diagnostics.error(where,
                      "a shard gives a part; --plans, --format and --save-dir are for "
                      "stepcast merge");
  }
}

Shard checked(const SweepOptions& options) {
  Diagnostics diagnostics;
  Shard shard;
  check_sweep_output(options.output, diagnostics);
  if (!options.shard.empty()) {
    try {
      shard = parse_shard(options.shard);
    } catch (const ConfigError& error) {
      diagnostics.error(error.diagnostics().front().where, error.diagnostics().front().message);
    }
    check_shard_output(options, diagnostics);
  }
  if (options.resume && options.shard.empty() && part_file(options).empty()) {
    diagnostics.error({"--resume", 0, 0}, "needs the --out or --plans of the sweep to go on with");
  }
  diagnostics.throw_if_any();
  return shard;
}

// A part beside the output, or what stands for it where none is asked for.
std::unique_ptr<ChunkStore> open_store(const std::string& file, const PartHeader& header,
                                       bool resume) {
  using Existing = SweepPart::Existing;
  if (!file.empty()) {
    auto part =
        std::make_unique<SweepPart>(file, header, resume ? Existing::kContinue : Existing::kRefuse);
    if (part->table().cut > 0) {
      std::fprintf(stderr, "%s: the last chunk was not written whole and is evaluated again\n",
                   file.c_str());
    }
    return part;
  }
  if (header.grid.plans <= kMostInMemory) {
    return std::make_unique<ChunksInMemory>();
  }
  const std::filesystem::path scratch = std::filesystem::temp_directory_path() /
                                        ("stepcast_sweep_" + std::to_string(::getpid()) + ".part");
  auto part = std::make_unique<SweepPart>(scratch, header, Existing::kRefuse);
  part->unlink();
  return part;
}

bool run_with_progress(SweepRun run, ChunkStore& store, const std::stop_token& stop,
                       const std::string& file, const GlobalOptions& global) {
  std::optional<ProgressBar> bar;
  if (!global.quiet) {
    bar.emplace();
    run.progress = [&bar](const SweepProgress& progress) { bar->show(progress); };
  }
  try {
    const bool whole = run_sweep(run, store, stop);
    if (auto* part = dynamic_cast<SweepPart*>(&store); part != nullptr && !file.empty()) {
      part->sync();
    }
    return whole;
  } catch (const FileFault& fault) {
    throw FileFault(std::string(fault.what()) +
                    (file.empty() ? "" : "; what is finished is kept, go on with --resume"));
  }
}

int interrupted(const std::string& file) {
  if (file.empty()) {
    std::fprintf(stderr, "interrupted; nothing is kept without --out or --plans\n");
  } else {
    std::fprintf(stderr, "interrupted; finished plans are kept in %s, go on with --resume\n",
                 file.c_str());
  }
  return kInterrupted;
}

int finish_shard(const SweepPart& part) {
  const std::int64_t chunks = part.table().chunks();
  std::printf("shard %s of %lld plans is finished: %lld of %lld chunks, in %s\n",
              to_text(part.header().shard).c_str(),
              static_cast<long long>(part.header().grid.plans), static_cast<long long>(chunks),
              static_cast<long long>(part.header().grid.chunks()), part.file().c_str());
  return kDone;
}

// What the plans are searched for. A shard keeps every plan unless it is asked for the best: what
// its merge will print is not known yet.
std::optional<SearchGoal> goal_of(const SweepOptions& options, const SweepSpace& space) {
  const std::optional<std::size_t> best =
      options.shard.empty() ? best_of_output(options.output) : options.output.top;
  return best && !options.output.every_plan ? stepcast::goal_of(space, *best) : std::nullopt;
}

int run_sweep_command(const SweepOptions& options, const GlobalOptions& global) {
  const Shard shard = checked(options);
  // A limit of file sizes is a fault to report, like a full disk, and not the end of the program.
  std::signal(SIGXFSZ, SIG_IGN);
  const Interrupt interrupt;
  const DataRoot data = data_root(global);
  SweepSource source = load_sweep(options.experiment, data);
  const SweepSpace space = read_sweep(source, data);
  const std::vector<CostModel> costs = cost_models_of(space, data, measured_in);
  source.folder = std::filesystem::absolute(source.folder.empty() ? "." : source.folder);
  const std::optional<SearchGoal> goal = goal_of(options, space);
  PartHeader header{space.digest(), ChunkGrid{space.size()}, shard, source};
  if (goal) {
    header.top = static_cast<std::int64_t>(goal->top);
  }
  const std::string file = part_file(options);
  const std::unique_ptr<ChunkStore> store = open_store(file, header, options.resume);

  SweepRun run;
  run.grid = header.grid;
  run.shard = shard;
  run.threads = options.threads > 0 ? options.threads : processors();
  run.evaluator = evaluators_of(space, costs, goal);
  if (!run_with_progress(run, *store, interrupt.token(), file, global)) {
    return interrupted(file);
  }
  if (!options.shard.empty()) {
    return finish_shard(dynamic_cast<const SweepPart&>(*store));
  }
  const int code = write_sweep(source, space, *store, header.grid, options.output, data,
                               run.threads, interrupt.token());
  if (code == kInterrupted) {
    return interrupted(file);
  }
  if (!file.empty()) {
    std::filesystem::remove(file);
  }
  return code;
}

}  // namespace

void add_sweep(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "sweep", "every plan of a space: the best, the Pareto set, why others cannot run");
  auto options = std::make_shared<SweepOptions>();
  add_experiment_options(*command, options->experiment);
  add_sweep_output_options(*command, options->output);
  command->add_option("--threads", options->threads, "threads; as many as there are processors")
      ->check(CLI::Range(1, 4096));
  command->add_option("--shard", options->shard,
                      "k/n: the k-th of n shares of the plans; --out is its part, for merge");
  command->add_flag("--all", options->output.every_plan,
                    "price every plan that can run, also those that cannot be among the best");
  command->add_flag("--resume", options->resume, "go on with what an earlier run finished");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_sweep_command(*options, global); };
  });
}

}  // namespace stepcast::cli
