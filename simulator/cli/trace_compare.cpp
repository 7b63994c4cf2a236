// SPDX-License-Identifier: Apache-2.0
// `stepcast trace-compare EXPERIMENT TRACE...`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/page_output.hpp"
#include "importers/published_names.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/report/trace_report.hpp"
#include "stepcast/trace/step_trace.hpp"

namespace stepcast::cli {
namespace {

struct TraceCompareOptions {
  ExperimentOptions experiment;
  std::vector<std::string> traces;
  std::string step;
  std::optional<std::int64_t> rank;
  std::optional<TraceState> state;
  OutputOptions output;
};

// Each trace is let go before the next is read. All are cut at the step of the first.
std::vector<MeasuredStep> measured_steps(const TraceCompareOptions& options) {
  std::vector<MeasuredStep> steps;
  for (const std::string& file : options.traces) {
    const std::string wanted = steps.empty() ? options.step : steps.front().name;
    const std::filesystem::path path = file;
    TraceRecording recording = read_recording(path);
    if (steps.empty() && options.rank) {
      recording.head.rank = *options.rank;
    }
    steps.push_back(measured_step(recording, file, wanted));
  }
  return steps;
}

std::string percent(double share) { return decimals(100.0 * share, 1) + " %"; }

void add_notes_on_ranks(const ComparisonInput& input, std::vector<std::string>& notes) {
  const std::int64_t gpus = input.projection.gpus;
  if (input.measured.head.rank >= gpus) {
    notes.push_back("rank " + std::to_string(input.measured.head.rank) +
                    " is none of the experiment's " + std::to_string(gpus) +
                    ", the last of which is compared");
  }
  std::set<std::int64_t> known;
  for (const RankTotals& rank : input.ranks ? input.ranks->ranks : std::vector<RankTotals>()) {
    if (rank.rank >= 0 && !known.insert(rank.rank).second) {
      notes.push_back("rank " + std::to_string(rank.rank) +
                      " is that of two traces: they are taken for two ranks");
    }
  }
}

// What keeps the two from being the same step.
std::vector<std::string> notes_on(const StepComparison& comparison, const Experiment& experiment,
                                  const DataRoot& data) {
  constexpr double kFew = 0.5;
  std::vector<std::string> notes;
  const MeasuredStep& step = comparison.input.measured;
  ProfileCache profiles(data);
  const std::string& gpu = experiment.named.gpu;
  if (!step.head.gpu.empty() && gpu_for(step.head.gpu, profiles.gpu_names()) != gpu) {
    notes.push_back("the trace was taken on '" + step.head.gpu + "', the experiment is on " + gpu);
  }
  const Projection& projection = comparison.input.projection;
  if (step.head.world > 0 && step.head.world != projection.gpus) {
    notes.push_back("the trace is of " + std::to_string(step.head.world) +
                    " ranks, the experiment of " + std::to_string(projection.gpus) + " GPUs");
  }
  add_notes_on_ranks(comparison.input, notes);
  if (step.devices > 1) {
    notes.push_back("the trace has " + std::to_string(step.devices) +
                    " devices; the one that is busy for longest is compared");
  }
  if (comparison.input.predicted.priced && comparison.operators.empty()) {
    notes.emplace_back(
        "no operator of the trace has a shape that the projection has too: the trace is of another "
        "step than the experiment");
  } else if (comparison.input.predicted.priced && comparison.matched_share < kFew) {
    notes.push_back("the projection has only " + percent(comparison.matched_share) +
                    " of the measured time of products, attention and collectives at the same "
                    "shape: the trace is perhaps of another step than the experiment");
  }
  return notes;
}

TraceState state_of(const TraceCompareOptions& options, const MeasuredStep& step) {
  return options.state.value_or(step.follows_others ? TraceState::kSteady
                                                    : TraceState::kAfterPause);
}

// With --model there is no file of an experiment: all that is named are traces.
void settle_files(TraceCompareOptions& options) {
  if (!options.experiment.model.empty() && !options.experiment.file.empty()) {
    options.traces.insert(options.traces.begin(), options.experiment.file);
    options.experiment.file.clear();
  }
  if (options.traces.empty()) {
    throw ConfigError({"command line", 0, 0}, "give a trace after the experiment");
  }
}

int run_trace_compare(TraceCompareOptions& options, const GlobalOptions& global) {
  settle_files(options);
  const DataRoot data = data_root(global);
  Experiment experiment = load_experiment(options.experiment, data);
  std::vector<MeasuredStep> steps = measured_steps(options);
  const CostModel cost = cost_model(experiment, data);
  ComparisonInput input;
  if (steps.size() > 1) {
    input.ranks = rank_waiting(steps, options.traces);
  }
  input.file = std::filesystem::path(options.traces.front()).filename().string();
  input.measured = std::move(steps.front());
  input.projection = project(experiment, cost);
  input.steady = input.projection.time.step;
  // A trace of more ranks than the plan has is compared with the plan's last.
  const ParallelPlan& plan = input.projection.plan;
  const std::int64_t rank = std::clamp(input.measured.head.rank, std::int64_t{0}, plan.world() - 1);
  input.pipeline_rank = pipeline_rank(plan, rank);
  input.state = state_of(options, input.measured);
  input.predicted =
      predicted_step(experiment, input.projection, cost, input.pipeline_rank, input.state);
  StepComparison comparison = compare(std::move(input));
  comparison.input.notes = notes_on(comparison, experiment, data);
  const std::string& format = options.output.format;
  write_output(options.output, global,
               format == "json"  ? json_text(to_json(comparison))
               : format == "csv" ? to_csv(comparison)
                                 : to_text(comparison),
               {PageKind::kTraceComparison,
                page_title(comparison.input.projection) + " beside " + comparison.input.file,
                [&comparison] { return json_text(to_json(comparison)); },
                {}});
  return comparison.input.predicted.priced ? kDone : kPlanCannotRun;
}

}  // namespace

void add_trace_compare(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "trace-compare", "a profiler's trace of a step beside its projection, operator by operator");
  auto options = std::make_shared<TraceCompareOptions>();
  add_experiment_options(*command, options->experiment);
  take_standard_input(
      *command->add_option("traces", options->traces,
                           "traces of PyTorch's profiler (JSON, plain or gzip), - is standard "
                           "input; of several ranks: the first is compared, and who waits for whom "
                           "is told of all"));
  command->add_option("--step", options->step,
                      "a step that the profiler marked, by its number; default: a steady one");
  command
      ->add_option("--rank", options->rank,
                   "the trace's rank among all, where the trace does not say or says wrong")
      ->check(whole_number({0, kAnyWhole.highest}));
  const std::map<std::string, TraceState> states = {{"after_pause", TraceState::kAfterPause},
                                                    {"steady", TraceState::kSteady}};
  command
      ->add_option_function<std::string>(
          "--state",
          [options, states](const std::string& state) { options->state = states.at(state); },
          "after_pause: the machine rested before the step; steady: others ran right "
          "before; default: as the trace shows")
      ->check(CLI::IsMember(states));
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_trace_compare(*options, global); };
  });
}

}  // namespace stepcast::cli
