// SPDX-License-Identifier: Apache-2.0
// `stepcast sweep`.
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/number_option.hpp"
#include "cli/output_file.hpp"
#include "cli/progress_bar.hpp"
#include "cli/sweep_output.hpp"
#include "cli/sweep_pieces.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/base/worker_arena.hpp"
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
  PieceOptions pieces;
  bool resume = false;
};

// Plans of which the numbers are kept in memory where no file is asked for: 144 MiB.
constexpr std::int64_t kMostInMemory = 1 << 20;

// The journal: of a shard it is what was asked for; empty if no file takes the place of another.
std::string part_file(const SweepOptions& options) {
  const std::string& out = options.output.report.out;
  if (!options.shard.empty()) {
    return out;
  }
  for (const std::string& beside : {out, options.output.plans}) {
    if (!beside.empty() && replaced_file(beside)) {
      return beside + ".part";
    }
  }
  return "";
}

// Whether more is asked for than a part: what a merge gives.
bool has_merged_output(const SweepOutputOptions& output) {
  return !output.plans.empty() || output.report.format != "text" || !output.save_dir.empty() ||
         !output.report.html.empty() || !output.plot.empty();
}

void check_shard_output(const SweepOptions& options, Diagnostics& diagnostics) {
  const Location where{"--shard " + options.shard, 0, 0};
  if (options.output.report.out.empty()) {
    diagnostics.error(where, "give the file of its part with --out, e.g. --out shard.part");
  }
  if (has_merged_output(options.output)) {
    diagnostics.error(
        where,
        "a shard gives a part; --plans, --format, --html, --plot and --save-dir are for "
        "stepcast merge");
  }
}

// A task gives parts and nothing else.
void check_pieces_output(const SweepOptions& options, Diagnostics& diagnostics) {
  check_piece_options(options.pieces, diagnostics);
  const bool has_output = !options.output.report.out.empty() || has_merged_output(options.output);
  if (options.pieces.given() && (has_output || !options.shard.empty() || options.resume)) {
    diagnostics.error({"--pieces " + options.pieces.folder, 0, 0},
                      "pieces are shards and go on by themselves, without --shard and --resume; "
                      "--out, --plans, --format, --html, --plot and --save-dir are for stepcast "
                      "merge");
  }
}

Shard checked(const SweepOptions& options) {
  Diagnostics diagnostics;
  Shard shard;
  check_sweep_output(options.output, diagnostics);
  check_pieces_output(options, diagnostics);
  if (!options.shard.empty()) {
    try {
      shard = parse_shard(options.shard);
    } catch (const ConfigError& error) {
      diagnostics.error(error.diagnostics().front().where, error.diagnostics().front().message);
    }
    check_shard_output(options, diagnostics);
  }
  if (options.resume && options.shard.empty() && !options.pieces.given() &&
      part_file(options).empty()) {
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
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(file, error);
    std::fprintf(stderr, "interrupted; finished plans are kept in %s (%s), go on with --resume\n",
                 file.c_str(), readable(Bytes(error ? 0.0 : static_cast<double>(bytes))).c_str());
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

// What is swept, and how many of the best plans are asked for; nothing: every plan.
struct AskedSweep {
  SweepSource source;
  std::optional<std::size_t> best;
};

// A shard keeps every plan unless it is asked for the best: what its merge will print is not known
// yet. A folder of pieces says by itself what it is of.
AskedSweep asked_sweep(const SweepOptions& options, const DataRoot& data) {
  const bool in_parts = !options.shard.empty() || options.pieces.given();
  AskedSweep asked{{}, in_parts ? options.output.top : best_of_output(options.output)};
  std::optional<PartHeader> begun;
  if (options.pieces.given() && options.experiment == ExperimentOptions{}) {
    begun = sweep_of_pieces(options.pieces);
  }
  asked.source = begun ? begun->source : load_sweep(options.experiment, data);
  if (begun && begun->top && !asked.best) {
    asked.best = static_cast<std::size_t>(*begun->top);
  }
  if (options.output.every_plan) {
    asked.best.reset();
  }
  return asked;
}

PartHeader header_of(const SweepSpace& space, const SweepSource& source, const Shard& shard,
                     const std::optional<SearchGoal>& goal) {
  PartHeader header{space.digest(), chunk_grid(space.size()), shard, source};
  if (goal) {
    header.top = static_cast<std::int64_t>(goal->top);
  }
  return header;
}

int run_sweep_command(const SweepOptions& options, const GlobalOptions& global) {
  const Shard shard = checked(options);
  const Interrupt interrupt;
  const DataRoot data = data_root(global);
  auto [source, best] = asked_sweep(options, data);
  const SweepSpace space = read_sweep(source, data);
  const std::vector<CostModel> costs = cost_models_of(space, data, measured_in);
  source.folder = std::filesystem::absolute(source.folder.empty() ? "." : source.folder);
  const std::optional<SearchGoal> goal = best ? goal_of(space, *best) : std::nullopt;
  const PartHeader header = header_of(space, source, shard, goal);
  const int threads = options.threads > 0 ? options.threads : processors();
  const MakeEvaluator evaluator = evaluators_of(space, costs, goal);
  if (options.pieces.given()) {
    return run_piece_task(options.pieces, header, evaluator, threads, global, interrupt.token());
  }
  const std::string file = part_file(options);
  const std::unique_ptr<ChunkStore> store = open_store(file, header, options.resume);

  const SweepRun run{header.grid, shard, threads, evaluator};
  if (!run_with_progress(run, *store, interrupt.token(), file, global)) {
    return interrupted(file);
  }
  if (!options.shard.empty()) {
    return finish_shard(dynamic_cast<const SweepPart&>(*store));
  }
  const int code = write_sweep(source, space, *store, header.grid, options.output, data, threads,
                               interrupt.token());
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
      ->check(whole_number({1, kMostThreads}));
  command->add_option("--shard", options->shard,
                      "k/n: the k-th of n shares of the plans; --out is its part, for merge");
  add_piece_options(*command, options->pieces);
  command->add_flag("--all", options->output.every_plan,
                    "price every plan that can run, also those that cannot be among the best");
  command->add_flag("--resume", options->resume, "go on with what an earlier run finished");
  command->callback([options, &global, &run] {
    run = [options, &global] {
      options->output.command = global.command;
      return run_sweep_command(*options, global);
    };
  });
}

}  // namespace stepcast::cli
