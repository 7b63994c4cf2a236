// SPDX-License-Identifier: Apache-2.0
// `stepcast sweep`: a sweep whole, one of its shards, or as one of the tasks that price it piece by
// piece, of a folder that all of them see. `stepcast merge`: what shards and tasks made.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/sweep_console.hpp"
#include "cli/sweep_output.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast::cli {
namespace {

struct SweepOptions {
  ExperimentOptions experiment;
  SweepOutputOptions output;
  int threads = 0;
  std::string shard;  // empty: the whole, with its report
  PieceSettings pieces;
  bool resume = false;
};

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The job array, or the job, that Slurm runs this in; empty outside of Slurm.
std::string slurm_submission() {
  const std::string array = environment("SLURM_ARRAY_JOB_ID");
  const std::string job = array.empty() ? environment("SLURM_JOB_ID") : array;
  return job.empty() ? "" : "slurm_" + job;
}

// The task of the array, the step and the process of it: the same when Slurm starts it again.
std::string slurm_task() {
  return slurm_submission().empty()
             ? ""
             : environment("SLURM_ARRAY_TASK_ID") + "." + environment("SLURM_STEP_ID") + "." +
                   environment("SLURM_PROCID");
}

void check_name(const std::string& option, const std::string& name, Diagnostics& diagnostics) {
  constexpr std::size_t kLongest = 200;
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:@";
  if (name.empty() || name.size() > kLongest ||
      name.find_first_not_of(kAllowed) != std::string::npos) {
    diagnostics.error({option + " " + name, 0, 0},
                      "a submission is named with letters, digits and . _ - : @");
  }
}

void add_piece_options(CLI::App& command, PieceSettings& options) {
  command.add_option("--pieces", options.folder,
                     "price the sweep piece by piece with all other tasks that are given this "
                     "folder, until none is left; alone: go on with the sweep that it is of");
  command.add_option("--submission", options.submission,
                     "what tasks that were started together call themselves; the Slurm job, else "
                     "each process by itself");
  command
      .add_option("--beside", options.beside,
                  "a submission that still runs, whose claims are left to it; repeatable")
      ->allow_extra_args(false);
}

void check_piece_options(const PieceSettings& options, Diagnostics& diagnostics) {
  if (options.folder.empty()) {
    if (!options.submission.empty() || !options.beside.empty()) {
      diagnostics.error({options.submission.empty() ? "--beside" : "--submission", 0, 0},
                        "is of tasks that share a folder; give it with --pieces FOLDER");
    }
    return;
  }
  if (!options.submission.empty()) {
    check_name("--submission", options.submission, diagnostics);
  }
  for (const std::string& name : options.beside) {
    check_name("--beside", name, diagnostics);
  }
}

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
         !output.report.html.empty() || !output.report.plot.empty();
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
  if (!options.pieces.folder.empty() && (has_output || !options.shard.empty() || options.resume)) {
    diagnostics.error({"--pieces " + options.pieces.folder, 0, 0},
                      "pieces are shards and go on by themselves, without --shard and --resume; "
                      "--out, --plans, --format, --html, --plot and --save-dir are for stepcast "
                      "merge");
  }
}

void check(const SweepOptions& options) {
  Diagnostics diagnostics;
  check_sweep_output(options.output, diagnostics);
  check_pieces_output(options, diagnostics);
  if (!options.shard.empty()) {
    if (const std::string problem = Simulator::shard_problem(options.shard); !problem.empty()) {
      diagnostics.error({"--shard " + options.shard, 0, 0}, problem);
    }
    check_shard_output(options, diagnostics);
  }
  if (options.resume && options.shard.empty() && options.pieces.folder.empty() &&
      part_file(options).empty()) {
    diagnostics.error({"--resume", 0, 0}, "needs the --out or --plans of the sweep to go on with");
  }
  diagnostics.throw_if_any();
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

// A folder of pieces says by itself what it is of.
int run_pieces(const SweepOptions& options, const Simulator& simulator, SweepConsole& console,
               const SweepRunning& running) {
  PieceSettings pieces = options.pieces;
  pieces.submission = pieces.submission.empty() ? slurm_submission() : pieces.submission;
  pieces.task = slurm_task();
  pieces.top = options.output.top;
  pieces.every_plan = options.output.every_plan;
  std::optional<ExperimentSource> sweep;
  if (options.experiment != ExperimentOptions{} || !Simulator::has_pieces(pieces.folder)) {
    sweep = source_of(options.experiment, simulator);
  }
  const SweepReport done = simulator.sweep_pieces(sweep, pieces, running);
  console.end_progress();
  if (!done.complete) {
    std::fprintf(stderr, "interrupted; pieces that are finished are kept, others go on with: %s\n",
                 done.report.text.c_str());
    return kInterrupted;
  }
  std::fputs(done.report.text.c_str(), stdout);
  return kDone;
}

// A shard keeps every plan unless it is asked for the best: what its merge will print is not known
// yet.
int run_shard(const SweepOptions& options, const SweepPartSettings& part,
              const Simulator& simulator, SweepConsole& console, const SweepRunning& running) {
  const SweepReport done =
      simulator.sweep_shard(source_of(options.experiment, simulator), part, running);
  console.end_progress();
  if (!done.complete) {
    return interrupted(part.file);
  }
  std::fputs(done.report.text.c_str(), stdout);
  return kDone;
}

int run_sweep(const SweepOptions& options, const GlobalOptions& global) {
  check(options);
  const Interrupt interrupt;
  const Simulator simulator = simulator_of(global);
  SweepConsole console(global);
  const SweepRunning running = console.running(options.threads, interrupt.token());
  if (!options.pieces.folder.empty()) {
    return run_pieces(options, simulator, console, running);
  }
  const SweepPartSettings part{part_file(options), options.resume, options.shard,
                               options.output.top, options.output.every_plan};
  if (!options.shard.empty()) {
    return run_shard(options, part, simulator, console, running);
  }
  SweepOutput output(options.output, console);
  const SweepReport done = simulator.sweep_report(source_of(options.experiment, simulator),
                                                  output.settings(global), part, running);
  console.end_progress();
  if (!done.complete) {
    return interrupted(part.file);
  }
  const int code = output.keep(done.report);
  if (!part.file.empty()) {
    std::filesystem::remove(part.file);
  }
  return code;
}

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

void add_sweep(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "sweep", "every plan of a space: the best, the Pareto set, why others cannot run");
  auto options = std::make_shared<SweepOptions>();
  add_experiment_options(*command, options->experiment);
  add_sweep_output_options(*command, options->output);
  add_threads_option(*command, options->threads, "threads; as many as there are processors");
  command->add_option("--shard", options->shard,
                      "k/n: the k-th of n shares of the plans; --out is its part, for merge");
  add_piece_options(*command, options->pieces);
  command->add_flag("--all", options->output.every_plan,
                    "price every plan that can run, also those that cannot be among the best");
  command->add_flag("--resume", options->resume, "go on with what an earlier run finished");
  on_choice(*command, run, [options, &global] { return run_sweep(*options, global); });
}

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
