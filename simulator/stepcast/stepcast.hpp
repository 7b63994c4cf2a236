// SPDX-License-Identifier: Apache-2.0
// The public interface of the library, all of it: no other header is installed.
//
//   #include <stepcast/stepcast.hpp>
//
//   const stepcast::Simulator simulator(stepcast::installed_data());
//   const stepcast::ExperimentSource job{.file = "experiment.yaml"};
//   for (const std::string tp : {"1", "2", "4", "8"}) {
//     const stepcast::StepProjection step = simulator.project(job.with("plan.tp", tp));
//     if (step.feasible) {
//       table.add(tp, step.numbers->tokens_per_second_per_gpu);
//     }
//   }
//
// Values. What goes in is text, in the format of experiment files, and what comes out are plain
// numbers and texts. The name of a number ends with its unit, as the same key of a JSON report does
// (step_time_s, peak_memory_bytes); a share is a fraction of 1. The same input gives the same bytes
// on every machine and with any number of threads.
//
// Errors. Input that is wrong (a key that is not known, a quantity without its unit, a GPU that
// there is none of) is thrown as an InputError, which has every problem of the input at once. A
// plan that cannot run, because it does not divide or does not fit in memory, is no error but an
// answer: `feasible` is false and `reasons` says why. Any other std::exception is a fault: of the
// library (std::logic_error) or of the machine (no memory, a file that cannot be read to its end).
//
// Threads. Every member function of a Simulator is const and may be called from several threads at
// once, on one Simulator or on several. Only sweep() starts threads; it ends them before it
// returns. Nothing is printed, no environment is read and nothing is written to disk; the only
// files read are those that the caller names and those of the data folder, anew with every call.
//
// What is stable. While the version is 0.x, a minor version (0.2 to 0.3) may change this header and
// a patch version may not: find_package(stepcast 0.2) takes any 0.2.x. Keys of experiments and of
// JSON outlive minor versions. Texts for people, messages and the predicted numbers themselves may
// change with every version.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepcast {

// The library's version, "0.2.0"; reports in JSON have it as `context.version`.
std::string_view version();

// A problem of an input, and where it lies.
struct Problem {
  std::string file;     // or what stands for one, as the `name` of an ExperimentSource
  int line = 0;         // from 1; 0: of the input as a whole
  int column = 0;       // from 1; 0: of the line as a whole
  std::string message;  // the value, the rule, a remedy
};

// The input is wrong. what() has a line for each problem: "file:line:column: error: message".
class InputError : public std::runtime_error {
 public:
  InputError(const std::string& text, std::vector<Problem> problems)
      : std::runtime_error(text), problems_(std::move(problems)) {}
  // At least one, in the order of the input.
  [[nodiscard]] const std::vector<Problem>& problems() const noexcept { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// An experiment, or a sweep: a file or a text, and settings on top of it.
struct ExperimentSource {
  // A file in YAML or JSON. Files that it names are looked up beside it.
  std::filesystem::path file{};
  // Read instead of `file` where that is empty. Files that it names are looked up in `folder`.
  std::string text{};
  std::filesystem::path folder{};
  std::string name = "experiment";  // what problems of `text` call it
  // Each sets one key, as `--set plan.tp=8` does, in this order.
  std::vector<std::string> settings{};

  // The same with one more setting: with("plan.tp", "8"). The value is YAML.
  [[nodiscard]] ExperimentSource with(std::string_view key, std::string_view value) const {
    ExperimentSource more = *this;
    more.settings.push_back(std::string(key) + "=" + std::string(value));
    return more;
  }
};

// What a step takes, and what it gives. Times are wall time of the slowest pipeline rank, rates and
// memory those of one GPU.
struct StepNumbers {
  double tokens_per_second_per_gpu = 0.0;
  double step_time_s = 0.0;
  double model_tflops_per_gpu = 0.0;  // TFLOP/s of the model, without what is recomputed
  // Of the dense peak of the training format. By its convention it counts the pairs of positions
  // that attention's mask hides too, so that it may exceed 1 where hardly anything else is
  // computed.
  double mfu = 0.0;
  double peak_memory_bytes = 0.0;  // allocated, of the fullest rank
  double clock_mhz = 0.0;
  double power_w = 0.0;  // mean
  // What the step is spent on, by the keys of `time` in JSON ("compute_s", ...), seconds. Every
  // instant is under one of them: they add up to step_time_s.
  std::vector<std::pair<std::string, double>> time;
};

// Memory of one GPU of a pipeline rank at its largest moment, in bytes.
struct StageBytes {
  std::int64_t rank = 0;
  double parameters_bytes = 0.0;
  double gradients_bytes = 0.0;
  double optimizer_bytes = 0.0;
  double activations_bytes = 0.0;
  double buffers_bytes = 0.0;
  double allocated_bytes = 0.0;  // the sum of those above
  // By the allocator, what it cannot use again included; without the buffers that an expert
  // dispatcher takes past it, which are allocated all the same.
  double reserved_bytes = 0.0;
  double outside_bytes = 0.0;  // of the driver and of communicators
};

// The run that an experiment's `training.tokens` ask for, of which the step is one.
struct RunNumbers {
  std::int64_t tokens = 0;
  std::int64_t steps = 0;
  double days = 0.0;  // wall time, interruptions included
  // At 80 %, as far as the projection may be off; empty where no error is known.
  std::optional<std::pair<double, double>> days_80;
  double gpu_hours = 0.0;
  double energy_kwh = 0.0;        // of the site: hosts, network and PUE are assumed
  double joules_per_token = 0.0;  // of the same
  double goodput = 1.0;           // share of the wall time that is training
};

// The answer of project() and memory().
struct StepProjection {
  bool feasible = false;
  // Against it. Of a plan that is feasible: why its numbers are doubtful, as those of a locked
  // clock that the power limit would not leave.
  std::vector<std::string> reasons;
  std::vector<std::string> notes;  // what was filled in, as a plan that was not given
  // Empty where the plan does not divide; a plan that only does not fit in memory is priced.
  std::optional<StepNumbers> numbers;
  std::vector<StageBytes> memory;      // by pipeline rank; empty where the plan does not divide
  double memory_capacity_bytes = 0.0;  // of one GPU
  std::optional<RunNumbers> run{};     // empty without numbers, and without training.tokens
};

enum class ReportFormat { kText, kJson, kCsv };

// What the command of the same name prints.
struct Report {
  bool feasible = false;  // of compare_report: whether any of them is
  std::string text{};     // ends with a line break
};

struct SweptPlan {
  // What tells it from the other plans of its sweep: settings of an ExperimentSource.
  std::vector<std::string> settings{};
  StepNumbers numbers;
};

struct SweepSettings {
  int threads = 0;        // 0: as many as the process has processors
  std::int64_t top = 20;  // plans in the answer, the best first
  // Prices every plan that can run, also those that surely are neither among these nor in the
  // Pareto set: the counts then say of each why it cannot run.
  bool every_plan = false;
  // Asked while the sweep runs: a sweep that was stopped answers with what is done.
  std::stop_token stop;
  // Called after every few plans with those done and all there are, by one thread at a time.
  std::function<void(std::int64_t done, std::int64_t all)> progress;
  // Called with plans as they are priced, by one thread at a time; which come first follows from
  // the threads. It may wait: the sweep waits with it.
  std::function<void(std::vector<SweptPlan>)> found{};
};

struct SweepAnswer {
  bool complete = false;        // not stopped before its end
  std::int64_t space_size = 0;  // plans that the sweep asks for
  std::int64_t evaluated = 0;   // of these, priced, bounded away or refused
  std::int64_t priced = 0;
  std::int64_t bounded = 0;     // neither among the best nor in the Pareto set, whatever they take
  std::vector<SweptPlan> best;  // by the sweep's `rank_by`
  std::vector<SweptPlan> memory_pareto;  // tokens/s/GPU against peak memory, the least memory first
  std::vector<std::pair<std::string, std::int64_t>> refused;  // reason, plans; the most first
};

// What recommend_report() is asked: how many of which GPUs. What is not given limits nothing.
struct RecommendSettings {
  std::vector<std::string> gpus;                                 // names of list(Listing::kGpu)
  std::optional<double> days{};                                  // that the run may take at most
  std::optional<double> budget{};                                // that it may cost; needs prices
  std::optional<std::int64_t> most_gpus{};                       // of one kind
  std::vector<std::pair<std::string, double>> gpu_hour_price{};  // by GPU; of all or of none
  std::string currency{};                                        // of prices; empty: $
  std::vector<std::string> constraints{};  // that plans must keep, as in a sweep: "mfu > 0.4"
  bool prove = false;  // each plan the best of all; else of large spaces what a descent finds
  int threads = 0;     // 0: as many as the process has processors
};

// How operators are priced.
struct OperatorPricing {
  std::string gpu;                        // a name of list(Listing::kGpu)
  std::vector<std::string> backends{};    // "gemm=roofline"; others are the default of their role
  std::optional<double> gpu_clock_mhz{};  // locks the clock of lines that do not lock their own
  std::string power_limit{};              // "500 W"; empty: the GPU's own
  bool terms = false;                     // adds what makes up each time
};

enum class Listing {
  kGpu,
  kModel,
  kCluster,
  kSoftware,
  kBackend,
  kCollective,
  kDispatcher,
  kSchedule,
  kHost,
  kAttentionLibrary,
  kOperator,  // the kinds that cost() takes
};

class Simulator {
 public:
  // `data` holds configs/ and hardware_profiles/. Throws InputError if it does not.
  explicit Simulator(std::filesystem::path data);

  // The step of an experiment. Throws InputError.
  [[nodiscard]] StepProjection project(const ExperimentSource& experiment) const;
  [[nodiscard]] Report project_report(const ExperimentSource& experiment,
                                      ReportFormat format = ReportFormat::kText) const;

  // Memory by pipeline rank and saved tensors; there is no CSV of it. Throws InputError.
  [[nodiscard]] Report memory_report(const ExperimentSource& experiment,
                                     ReportFormat format = ReportFormat::kText) const;

  // The operators of the slowest rank, what bounds them, the critical path and what more of a
  // resource would buy. Throws InputError.
  [[nodiscard]] Report explain_report(const ExperimentSource& experiment,
                                      ReportFormat format = ReportFormat::kText) const;
  // The constants that the step's time rests on, where each comes from, and its share. Throws
  // InputError.
  [[nodiscard]] Report provenance_report(const ExperimentSource& experiment,
                                         ReportFormat format = ReportFormat::kText) const;
  // Where the time of two experiments differs.
  [[nodiscard]] Report explain_report(const ExperimentSource& first, const ExperimentSource& second,
                                      ReportFormat format = ReportFormat::kText) const;

  // Experiments side by side, a column each; at least one. Throws InputError.
  [[nodiscard]] Report compare_report(const std::vector<ExperimentSource>& experiments,
                                      ReportFormat format = ReportFormat::kText) const;

  // Every plan of a sweep: an experiment with axes (configs/sweeps/README.md of the data folder).
  // Each has the numbers that project() has for it. Throws InputError.
  [[nodiscard]] SweepAnswer sweep(const ExperimentSource& sweep,
                                  const SweepSettings& settings = {}) const;

  // How many of which GPUs the training run of `work` needs (its training.tokens), of each the best
  // plan: fewest, cheapest, fastest. Not feasible where no number of any GPU stays within the
  // limits. Throws InputError.
  [[nodiscard]] Report recommend_report(const ExperimentSource& work,
                                        const RecommendSettings& settings,
                                        ReportFormat format = ReportFormat::kText) const;

  // Operators in, one JSON object a line; the same lines with `predicted_s` and what belongs to it
  // out. Throws InputError with the problems of all lines.
  [[nodiscard]] std::string cost(std::string_view lines, const OperatorPricing& pricing) const;

  // The names of what there is, sorted or in the order in which they are tried.
  [[nodiscard]] std::vector<std::string> list(Listing kind) const;
  // What a name of any listing stands for: values, equation, assumptions, source, as text. Throws
  // InputError with the nearest name if there is none of that name.
  [[nodiscard]] std::string describe(const std::string& name) const;

 private:
  std::filesystem::path data_;
};

#ifdef STEPCAST_DATA_DIR
// The data folder that was installed with this header; the CMake package defines its place
// (STEPCAST_DATA_DIR, and the variable stepcast_DATA_DIR).
inline std::filesystem::path installed_data() { return STEPCAST_DATA_DIR; }
#endif

}  // namespace stepcast
