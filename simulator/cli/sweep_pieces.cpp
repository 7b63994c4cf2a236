// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_pieces.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/progress_bar.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/sweep/piece_run.hpp"
#include "stepcast/sweep/sweep_merge.hpp"

namespace stepcast::cli {
namespace {

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

std::int64_t parts_in(const PieceFolder& folder) {
  const PieceStates states = folder.states();
  return std::count_if(states.begin(), states.end(),
                       [](const auto& state) { return state.second.there; });
}

int finished(std::int64_t priced, const PieceFolder& folder) {
  const std::int64_t there = parts_in(folder);
  const std::string place = folder.folder().string();
  std::printf("%s of %s pieces priced here; ", with_separators(priced).c_str(),
              with_separators(folder.pieces()).c_str());
  if (there == folder.pieces()) {
    std::printf("all are there: stepcast merge %s\n", place.c_str());
  } else {
    std::printf("%s are there, the others are with tasks that have claimed them\n",
                with_separators(there).c_str());
  }
  return kDone;
}

}  // namespace

void add_piece_options(CLI::App& command, PieceOptions& options) {
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

void check_piece_options(const PieceOptions& options, Diagnostics& diagnostics) {
  if (!options.given()) {
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

std::optional<PartHeader> sweep_of_pieces(const PieceOptions& options) {
  std::optional<PartHeader> found = sweep_in(options.folder);
  if (found) {
    found->source.version = STEPCAST_VERSION;
  }
  return found;
}

int run_piece_task(const PieceOptions& options, const PartHeader& sweep,
                   const MakeEvaluator& evaluator, int threads, const GlobalOptions& global,
                   const std::stop_token& stop) {
  const std::string submission =
      options.submission.empty() ? slurm_submission() : options.submission;
  PieceFolder folder(options.folder, sweep, this_task(submission, slurm_task()), options.beside);
  PieceRun run;
  run.threads = threads;
  run.evaluator = evaluator;
  std::optional<ProgressBar> bar;
  if (!global.quiet) {
    bar.emplace();
    run.progress = [&bar](const SweepProgress& progress) { bar->show(progress); };
  }
  const std::int64_t priced = run_pieces(run, folder, stop);
  bar.reset();
  if (stop.stop_requested()) {
    std::fprintf(stderr, "interrupted; pieces that are finished are kept, others go on with: %s\n",
                 fill_command(options.folder).c_str());
    return kInterrupted;
  }
  return finished(priced, folder);
}

}  // namespace stepcast::cli
