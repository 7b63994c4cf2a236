// SPDX-License-Identifier: Apache-2.0
// `stepcast trace`.
#include "stepcast/experiment/project.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/gzip_text.hpp"
#include "cli/number_option.hpp"
#include "cli/output_file.hpp"
#include "stepcast/trace/step_trace.hpp"

namespace stepcast::cli {
namespace {

struct TraceOptions {
  ExperimentOptions experiment;
  std::string out;
  std::optional<std::int64_t> rank;
  std::string ranks;
};

// A priced step; other ones are told why they have no trace.
struct PricedStep {
  const Experiment& experiment;
  const Projection& projection;
  const CostModel& cost;
};

void write_trace(const PricedStep& step, std::int64_t rank, const std::string& name) {
  OutputFile file(name);
  const auto to_file = [&file](std::string_view text) { file.write(text); };
  if (name.ends_with(".gz")) {
    GzipText gzip(to_file);
    write_step_trace(step.experiment, step.projection, step.cost, rank,
                     [&gzip](std::string_view text) { gzip.write(text); });
    gzip.finish();
  } else {
    write_step_trace(step.experiment, step.projection, step.cost, rank, to_file);
  }
  file.keep();
}

// One of the ranks of each pipeline rank, named as TraceLens looks for the traces of a job.
void write_traces(const PricedStep& step, const std::filesystem::path& folder,
                  const ReadFiles& read) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw ConfigError({folder.string(), 0, 0}, "cannot make the folder: " + error.message());
  }
  const ParallelPlan& plan = step.projection.plan;
  for (std::int64_t pipeline = 0; pipeline < plan.pp; ++pipeline) {
    const std::string name = "rank" + std::to_string(pipeline) + "_trace.json.gz";
    if (const std::string why = read.why_kept(folder / name); !why.empty()) {
      throw ConfigError({"--out " + folder.string(), 0, 0},
                        "writes '" + name + "' in it, which " + why);
    }
    write_trace(step, pipeline * plan.apart().pp, (folder / name).string());
  }
}

int run_trace(const TraceOptions& options, const GlobalOptions& global) {
  if (!options.ranks.empty() && options.out.empty()) {
    throw ConfigError({"--out -", 0, 0}, "is one file; with --ranks give a folder");
  }
  const DataRoot data = data_root(global);
  Experiment experiment = load_experiment(options.experiment, data);
  const CostModel cost = cost_model(experiment, data);
  const Projection projection = project(experiment, cost);
  if (!projection.feasible) {
    for (const std::string& reason : projection.reasons) {
      std::fprintf(stderr, "%s\n", reason.c_str());
    }
    return kPlanCannotRun;
  }
  const PricedStep step{experiment, projection, cost};
  if (!options.ranks.empty()) {
    write_traces(step, options.out, global.read);
    return kDone;
  }
  const std::int64_t rank = options.rank.value_or(0);
  if (rank >= projection.plan.world()) {
    throw ConfigError({"--rank", 0, 0}, "is " + std::to_string(rank) + ", but the ranks are 0 to " +
                                            std::to_string(projection.plan.world() - 1));
  }
  write_trace(step, rank, options.out);
  return kDone;
}

}  // namespace

void add_trace(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "trace", "the projected step of a rank as a trace of PyTorch's profiler");
  auto options = std::make_shared<TraceOptions>();
  add_experiment_options(*command, options->experiment);
  add_out_option(*command, options->out,
                 "the file to write, compressed if its name ends in .gz; with --ranks all a "
                 "folder, for rank0_trace.json.gz and so on; Perfetto and TraceLens open it")
      ->required();
  CLI::Option* rank =
      command
          ->add_option("--rank", options->rank,
                       "a rank of the world, as Megatron counts (tp, cp, dp, pp); left out: 0")
          ->check(whole_number({0, kAnyWhole.highest}));
  command
      ->add_option("--ranks", options->ranks,
                   "all: one trace for each pipeline rank, which ranks that differ in tp, cp or dp "
                   "share")
      ->check(CLI::IsMember({"all"}))
      ->excludes(rank);
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_trace(*options, global); };
  });
}

}  // namespace stepcast::cli
