// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/compared_trace.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/traced_device.hpp"
#include "stepcast/trace_writer/step_trace.hpp"

namespace stepcast {
namespace {

// Each trace is let go before the next is read. All are cut at the step of the first.
std::vector<MeasuredStep> measured_steps(const TraceComparisonSettings& settings) {
  std::vector<MeasuredStep> steps;
  for (const std::string& file : settings.traces) {
    const std::string wanted = steps.empty() ? settings.step : steps.front().name;
    const std::filesystem::path path = file;
    TraceRecording recording = read_recording(path);
    if (steps.empty() && settings.rank) {
      recording.head.rank = *settings.rank;
    }
    steps.push_back(measured_step(recording, file, wanted));
  }
  return steps;
}

// "1 rank", "8 GPUs".
std::string counted(std::int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
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

// "all_gather 24 x 544 simple, all_to_all 32 x 640": blocks and threads, and the protocol that they
// tell; empty where the trace has no launches.
std::string launches_of(const MeasuredStep& step) {
  std::vector<std::string> launches;
  for (const TracedOperator& row : step.operators) {
    if (row.launch.threads == 0) {
      continue;
    }
    std::string launch = std::string(name(row.category)) + " " + std::to_string(row.launch.blocks) +
                         " x " + std::to_string(row.launch.threads);
    launch += row.protocol ? " " + std::string(name(*row.protocol)) : "";
    if (std::ranges::find(launches, launch) == launches.end()) {
      launches.push_back(std::move(launch));
    }
  }
  return text_list(launches);
}

// What a reader of the comparison is to know besides.
std::vector<std::string> notes_on(const StepComparison& comparison, const Experiment& experiment,
                                  const DataRoot& data) {
  std::vector<std::string> notes;
  const MeasuredStep& step = comparison.input.measured;
  ProfileCache profiles(data);
  const ComparedDevice device =
      compared_device(step.head.device, experiment.cluster.device, profiles);
  if (device.match == DeviceMatch::kUnsaid || device.match == DeviceMatch::kPerhaps) {
    notes.push_back("the trace " + device.text + "; the experiment is on " + experiment.named.gpu);
  }
  add_notes_on_ranks(comparison.input, notes);
  if (const std::string launches = launches_of(step); !launches.empty()) {
    notes.push_back("kernels of collectives by their launch, blocks x threads: " + launches);
  }
  notes.insert(notes.end(), step.head.remarks.begin(), step.head.remarks.end());
  if (step.devices > 1) {
    notes.push_back("the trace has " + std::to_string(step.devices) +
                    " devices; the one that is busy for longest is compared");
  }
  return notes;
}

// Whether the trace says of any operator alone what it works on.
bool traces_shapes(const StepComparison& comparison) {
  return std::ranges::any_of(comparison.only_traced,
                             [](const ComparedRow& row) { return row.shape.has_value(); });
}

// What says that the two are not of the same step.
std::vector<std::string> doubts_about(const StepComparison& comparison,
                                      const Experiment& experiment, const DataRoot& data) {
  constexpr double kFew = 0.5;
  std::vector<std::string> doubts;
  const MeasuredStep& step = comparison.input.measured;
  ProfileCache profiles(data);
  const ComparedDevice device =
      compared_device(step.head.device, experiment.cluster.device, profiles);
  if (device.match == DeviceMatch::kOther) {
    doubts.push_back("the trace " + device.text + "; the experiment is on " + experiment.named.gpu);
  }
  if (!step.has_backward) {
    doubts.emplace_back(
        "nothing in the trace is called a backward pass: it is of inference, or of a forward pass "
        "alone");
  }
  const std::int64_t gpus = comparison.input.projection.gpus;
  if (step.head.world > 0 && step.head.world != gpus) {
    doubts.push_back("the trace is of " + counted(step.head.world, "rank") +
                     ", the experiment of " + counted(gpus, "GPU"));
  }
  if (!comparison.input.predicted.priced) {
    return doubts;
  }
  if (!comparison.operators.empty() && comparison.matched_share < kFew) {
    doubts.push_back("the projection has only " + percent(comparison.matched_share) +
                     " of the measured time of products, attention and collectives at the same "
                     "shape: the trace is perhaps of another step than the experiment");
  } else if (comparison.operators.empty() && traces_shapes(comparison)) {
    doubts.emplace_back(
        "no operator of the trace has a shape that the projection has too: the trace is of another "
        "step than the experiment");
  } else if (comparison.operators.empty()) {
    doubts.push_back("the trace has no shapes of operators, so that only sums are compared; " +
                     std::string(step.head.shapes_are_recorded_by));
  }
  return doubts;
}

// Throws ConfigError where nothing of the trace is the projection's, and something says why.
void refuse_another_step(const StepComparison& comparison, const std::string& file) {
  const std::vector<std::string>& doubts = comparison.input.doubts;
  const bool shaped = traces_shapes(comparison);
  if (comparison.input.predicted.priced && comparison.operators.empty() &&
      (shaped || doubts.size() > 1)) {
    throw ConfigError({file, 0, 0}, "the trace cannot be compared with the experiment: " +
                                        text_list(doubts, "; ") +
                                        "; give the experiment of the trace's step");
  }
}

// Empty: as the trace shows.
TraceState state_of(const std::string& word, const MeasuredStep& step) {
  if (word.empty()) {
    return step.follows_others ? TraceState::kSteady : TraceState::kAfterPause;
  }
  if (word != "steady" && word != "after_pause") {
    throw ConfigError({"state", 0, 0}, "there is no '" + word + "'; give steady or after_pause");
  }
  return word == "steady" ? TraceState::kSteady : TraceState::kAfterPause;
}

}  // namespace

StepComparison comparison_of(const Job& job, const TraceComparisonSettings& settings,
                             const DataRoot& data) {
  const auto& [experiment, cost] = job;
  std::vector<MeasuredStep> steps = measured_steps(settings);
  ComparisonInput input;
  if (steps.size() > 1) {
    input.ranks = rank_waiting(steps, settings.traces);
  }
  input.file = std::filesystem::path(settings.traces.front()).filename().string();
  input.measured = std::move(steps.front());
  input.projection = project(experiment, cost);
  input.steady = input.projection.time.step;
  // A trace of more ranks than the plan has is compared with the plan's last.
  const ParallelPlan& plan = input.projection.plan;
  const std::int64_t rank = std::clamp(input.measured.head.rank, std::int64_t{0}, plan.world() - 1);
  input.pipeline_rank = pipeline_rank(plan, rank);
  input.state = state_of(settings.state, input.measured);
  input.predicted =
      predicted_step(experiment, input.projection, cost, input.pipeline_rank, input.state);
  StepComparison comparison = compare(std::move(input));
  comparison.input.doubts = doubts_about(comparison, experiment, data);
  refuse_another_step(comparison, settings.traces.front());
  comparison.input.notes = notes_on(comparison, experiment, data);
  return comparison;
}

}  // namespace stepcast
