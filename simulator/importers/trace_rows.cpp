// SPDX-License-Identifier: Apache-2.0
#include "importers/measurement_files.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include <nlohmann/json.hpp>

#include "importers/row_readers.hpp"
#include "stepcast/experiment/traced_device.hpp"
#include "stepcast/result/expected_error.hpp"
#include "trace_reader/predicted_categories.hpp"
#include "trace_reader/step_trace.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLargestSteps = 16U << 20U;  // bytes

// Files of steps that a trace's case may stand in.
struct StepsFile {
  const char* name;
  ReadStatedRow read;
};
constexpr std::array kStepsFiles = {StepsFile{"steps.jsonl", &read_measured_step},
                                    StepsFile{"torchtitan_steps.jsonl", &read_torchtitan_step}};

// "dense_fsdpN.json.gz" and "trace_dense_fsdpN.json.gz" -> "dense_fsdpN"; so is
// "dense_fsdpN_results.db", as rocprofv3 calls what it writes.
std::string case_of(const std::filesystem::path& file) {
  constexpr std::string_view kStart = "trace_";
  std::string name = file.filename().string();
  const auto drop = [&name](std::string_view ending) {
    const bool drops = name.ends_with(ending);
    name.resize(name.size() - (drops ? ending.size() : 0));
    return drops;
  };
  for (const std::string_view ending : {".gz", ".json", ".sqlite"}) {
    drop(ending);
  }
  if (drop(".db")) {
    drop("_results");
  }
  return name.starts_with(kStart) ? name.substr(kStart.size()) : name;
}

// Of the case in a file of steps; empty without it.
std::optional<Experiment> step_in(const std::filesystem::path& steps, ReadStatedRow read_row,
                                  const std::string& wanted, ProfileCache& profiles) {
  if (!std::filesystem::is_regular_file(steps)) {
    return std::nullopt;
  }
  std::istringstream stream(read_file(steps, kLargestSteps));
  std::string line;
  while (std::getline(stream, line)) {
    const nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
    if (!row.is_object() || row.value("case", "") != wanted) {
      continue;
    }
    std::vector<Record> records;
    read_row(row, profiles, records);
    const MeasuredRow read = read_imported({records.front(), steps.string(), 1}, profiles);
    if (const auto* run = std::get_if<MeasuredRun>(&read); run != nullptr && run->experiment) {
      return run->experiment;
    }
  }
  return std::nullopt;
}

Experiment step_of(const std::filesystem::path& file, ProfileCache& profiles) {
  const std::string wanted = case_of(file);
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  for (const std::filesystem::path& place : {folder, folder.parent_path()}) {
    for (const StepsFile& steps : kStepsFiles) {
      if (std::optional<Experiment> found =
              step_in(place / steps.name, steps.read, wanted, profiles)) {
        return std::move(*found);
      }
    }
  }
  throw ConfigError(
      {file.string(), 0, 0},
      "which step this trace is of is not known: neither its folder nor the one above "
      "has a " +
          std::string(kStepsFiles.front().name) + " with the case '" + wanted +
          "'; give --experiment FILE");
}

// All-to-all kernels wait for the slowest rank, and so do messages of a pipeline.
bool waits(StepCategory category) {
  return category == StepCategory::kAllToAll || category == StepCategory::kSendRecv;
}

// Copies to and from the host and memory set have no price; those beside an update may have one.
bool is_priced(StepCategory category, const PredictedStep& predicted) {
  const bool copies = predicted.device_time[static_cast<std::size_t>(category)] > Seconds{};
  return category == StepCategory::kCopies ? copies : category != StepCategory::kOther;
}

// Empty where the trace is of a step on the experiment's GPU, as far as it says.
std::string why_not_compared(const StepTrace& trace, const ComparedDevice& device,
                             const std::string& gpu) {
  if (device.match == DeviceMatch::kOther) {
    return "the trace " + device.text + "; the experiment is on " + gpu;
  }
  return trace.unmarked.empty()
             ? ""
             : std::string(trace.unmarked) +
                   ", so that it is not known which part of the recording is one";
}

class TraceRows {
 public:
  TraceRows(ValidationRow common, const PredictedStep& predicted)
      : common_(std::move(common)), predicted_(predicted) {}

  // What the step has not is not compared: a share of nothing is no error.
  void add(Metric metric, std::string_view part, Seconds measured, Seconds predicted,
           const std::string& group_end = "") {
    if (measured <= Seconds{}) {
      return;
    }
    ValidationRow& row = rows_.emplace_back(common_);
    row.metric = metric;
    row.part = part;
    row.group += group_end;
    row.measured = measured.value();
    if (predicted_.priced) {
      row.predicted = predicted.value();
    } else {
      row.skipped = "plan refused";
      for (const std::string& reason : predicted_.reasons) {
        row.skipped += (&reason == predicted_.reasons.data() ? ": " : "; ") + reason;
      }
    }
  }

  std::vector<ValidationRow> take() { return std::move(rows_); }

 private:
  ValidationRow common_;
  const PredictedStep& predicted_;
  std::vector<ValidationRow> rows_;
};

}  // namespace

std::vector<ValidationRow> trace_rows(const std::filesystem::path& file,
                                      const std::optional<Experiment>& experiment,
                                      ProfileCache& profiles, const CostModel& cost) {
  const StepTrace trace = read_step_trace(file);
  const Experiment step = experiment ? *experiment : step_of(file, profiles);
  ValidationRow common;
  common.file = file.filename().string();
  common.id = case_of(file);
  common.gpu = step.cluster.device.name;
  common.family = name(accuracy_family(step.model));
  common.group = common.gpu + " trace " + common.family;
  const ComparedDevice device = compared_device(trace.device, step.cluster.device, profiles);
  if (const std::string why = why_not_compared(trace, device, common.gpu); !why.empty()) {
    common.metric = Metric::kStepTime;
    common.measured = trace.step.value();
    common.skipped = why;
    return {common};
  }
  const PredictedStep predicted = predicted_step(
      step, cost, trace.follows_others ? TraceState::kSteady : TraceState::kAfterPause);
  TraceRows rows(std::move(common), predicted);
  rows.add(Metric::kStepTime, "", trace.step, predicted.step);
  for (std::size_t i = 0; i < kStepCategories; ++i) {
    const auto category = static_cast<StepCategory>(i);
    if (is_priced(category, predicted)) {
      rows.add(Metric::kCategoryTime, name(category), trace.device_time[i],
               predicted.device_time[i], waits(category) ? ", with waiting" : "");
    }
    if (trace.waiting[i] > Seconds{}) {
      rows.add(Metric::kTransferTime, name(category), trace.device_time[i] - trace.waiting[i],
               predicted.device_time[i]);
    }
  }
  rows.add(Metric::kCategoryTime, "exposed_communication", trace.exposed_communication,
           predicted.exposed_communication);
  rows.add(Metric::kCategoryTime, "idle", trace.idle, predicted.idle);
  return rows.take();
}

}  // namespace stepcast
