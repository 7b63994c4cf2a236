// SPDX-License-Identifier: Apache-2.0
// The public interface of the library, all of it: with the two headers that it includes, what the
// calls are given and what they answer, the only one that is installed.
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
// once, on one Simulator or on several. Only searches among plans start threads; they end them
// before they return. Nothing is printed and no environment is read. The only files read are those
// that the caller names and those of the data folder, anew with every call; the only ones written
// are parts of sweeps, for which a large sweep without one has a file without a name. Everything
// else that is to be written is handed to the caller, texts that are long piece by piece.
//
// What is stable. While the version is 0.x, a minor version (0.2 to 0.3) may change this header and
// a patch version may not: find_package(stepcast 0.2) takes any 0.2.x. Keys of experiments and of
// JSON outlive minor versions. Texts for people, messages and the predicted numbers themselves may
// change with every version.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/answers.hpp"
#include "stepcast/inputs.hpp"

namespace stepcast {

// The library's version, "0.2.0"; reports in JSON have it as `context.version`.
std::string_view version();

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
  kFormat,    // of files of measurements
  kWord,      // of the field and of reports
};

class Simulator {
 public:
  // `data` holds configs/ and hardware_profiles/. Throws InputError if it does not.
  explicit Simulator(std::filesystem::path data);

  // The most threads that anything may be asked to use.
  static constexpr int kMostThreads = 4096;

  // The step of an experiment. Throws InputError, as every call does that is given an experiment.
  [[nodiscard]] StepProjection project(const ExperimentSource& experiment) const;
  [[nodiscard]] Report project_report(const ExperimentSource& experiment,
                                      const ReportForm& form = {},
                                      const ProjectSettings& settings = {}) const;
  // The step by each pipeline schedule.
  [[nodiscard]] Report schedules_report(const ExperimentSource& experiment,
                                        const ReportForm& form = {}) const;
  // The step on more and more GPUs, and what takes the rate of each.
  [[nodiscard]] Report scaling_report(const ExperimentSource& experiment,
                                      const ScalingSettings& settings,
                                      const ReportForm& form = {}) const;
  // Memory by pipeline rank and saved tensors.
  [[nodiscard]] Report memory_report(const ExperimentSource& experiment,
                                     const ReportForm& form = {}) const;

  // The operators of the slowest rank, what bounds them, the critical path and what more of a
  // resource would buy. With terms, also the parts that each operator's time is made of.
  [[nodiscard]] Report explain_report(const ExperimentSource& experiment,
                                      const ReportForm& form = {},
                                      OperatorDetail of_operators = OperatorDetail::kTimes) const;
  // Where the time of two experiments differs.
  [[nodiscard]] Report explain_report(const ExperimentSource& first, const ExperimentSource& second,
                                      const ReportForm& form = {}) const;
  // The constants that the step's time rests on, where each comes from, and its share.
  [[nodiscard]] Report provenance_report(const ExperimentSource& experiment,
                                         const ReportForm& form = {}) const;

  // One layer by itself: exchanges, saved tensors, forward, backward, exposed time; text and JSON.
  [[nodiscard]] Report layer_report(const ExperimentSource& experiment,
                                    const LayerSettings& settings = {},
                                    const ReportForm& form = {}) const;
  // Which dispatcher is the fastest for its experts; text and JSON.
  [[nodiscard]] Report layer_map_report(const ExperimentSource& experiment,
                                        const LayerMapSettings& settings = {},
                                        const ReportForm& form = {}) const;

  // Experiments side by side, a column each; at least one. Throws InputError with the problems of
  // all of them. A column of a source alone is called by the values of its settings.
  [[nodiscard]] Report columns_report(const std::vector<ColumnSource>& columns,
                                      const ReportForm& form = {},
                                      const CompareSettings& settings = {}) const;
  [[nodiscard]] Report compare_report(const std::vector<ExperimentSource>& experiments,
                                      const ReportForm& form = {}) const;

  // Every plan of a sweep: an experiment with axes (configs/sweeps/README.md of the data folder).
  // Each has the numbers that project() has for it.
  [[nodiscard]] SweepAnswer sweep(const ExperimentSource& sweep,
                                  const SweepSettings& settings = {}) const;

  // The same as a report, and every plan as a line where that is asked for. What is done is kept in
  // the file of `part`, which stays until the caller removes it.
  [[nodiscard]] SweepReport sweep_report(const ExperimentSource& sweep,
                                         const SweepReportSettings& settings,
                                         const SweepPartSettings& part,
                                         const SweepRunning& running) const;
  // One shard of it, for a merge: its part is the answer, and the text says what is in it.
  [[nodiscard]] SweepReport sweep_shard(const ExperimentSource& sweep,
                                        const SweepPartSettings& part,
                                        const SweepRunning& running) const;
  // Why a text is no shard, as "2/3" is; empty: it is.
  [[nodiscard]] static std::string shard_problem(const std::string& shard);
  // Prices pieces of a sweep together with other tasks, until none is left. Without a sweep that of
  // the folder, which has_pieces.
  [[nodiscard]] SweepReport sweep_pieces(const std::optional<ExperimentSource>& sweep,
                                         const PieceSettings& pieces,
                                         const SweepRunning& running) const;
  [[nodiscard]] static bool has_pieces(const std::string& folder);
  // The parts that names stand for: files, or a folder of them.
  [[nodiscard]] static std::vector<std::string> part_files(const std::vector<std::string>& named);
  // Parts of shards or pieces as one sweep's report. Where some are missing it is refused, unless
  // it may be partial.
  [[nodiscard]] SweepReport merge_report(const std::vector<std::string>& parts, Merge merge,
                                         const SweepReportSettings& settings,
                                         const SweepRunning& running) const;

  // How many of which GPUs the training run of `work` needs (its training.tokens), of each the best
  // plan: fewest, cheapest, fastest. Not feasible where no number of any GPU stays within the
  // limits. A batch that is not given is a usual one.
  [[nodiscard]] Report recommend_report(const ExperimentSource& work,
                                        const RecommendSettings& settings,
                                        const ReportForm& form = {}) const;

  // Operators in, one JSON object a line; the same lines with `predicted_s` and what belongs to it
  // out, as JSON lines or CSV. Throws InputError with the problems of all lines.
  [[nodiscard]] std::string cost(const TextSource& lines, const OperatorPricing& pricing,
                                 ReportFormat format = ReportFormat::kJsonLines) const;
  [[nodiscard]] std::string cost(std::string_view lines, const OperatorPricing& pricing) const {
    return cost(TextSource{"operators", std::string(lines)}, pricing);
  }

  // The projected step of a rank as a trace of PyTorch's profiler. Where the plan cannot run there
  // is no trace, and the text says why, a line each.
  [[nodiscard]] Report trace(const ExperimentSource& experiment,
                             const TraceSettings& settings) const;
  // A profiler's trace of a step beside its projection. Not feasible where that has no price.
  [[nodiscard]] Report trace_comparison_report(const ExperimentSource& experiment,
                                               const TraceComparisonSettings& settings,
                                               const ReportForm& form = {}) const;

  // Why a run is slower than its projection, or faster: causes with their sizes, the likeliest
  // first, how to check each, and what it would gain. Of a run that is out of memory what single
  // settings would save. Not feasible where the experiment has no
  // price.
  [[nodiscard]] Report diagnose_report(const ExperimentSource& experiment,
                                       const DiagnoseSettings& settings,
                                       const ReportForm& form = {}) const;

  // Predicted against measured. Not feasible where no row was compared. Regret and ratios of GPUs
  // have no CSV.
  [[nodiscard]] Report validate_report(const ValidateSettings& settings,
                                       const ReportForm& form = {}) const;
  // Constants of a GPU fitted to measurements.
  [[nodiscard]] Calibrated calibrate(const CalibrateSettings& settings) const;
  // Measured rows of any known format as canonical records, a JSON object a line.
  [[nodiscard]] std::string canonical_records(const TextSource& rows) const;

  [[nodiscard]] static std::vector<Framework> frameworks();
  // What a file is, by its form, its keys and its words (configs/frameworks/formats.yaml); nothing
  // where it shows no sign of anything that is known. An experiment is told as one. Throws
  // InputError where it cannot be read.
  [[nodiscard]] std::optional<KnownFile> known_file(const TextSource& file) const;
  // An experiment from a launch file of a framework, or from the name of a recipe where it has
  // such. Throws InputError.
  [[nodiscard]] Imported import_experiment(const std::string& framework, const TextSource& file,
                                           const ImportSettings& settings = {}) const;
  // A model file from a Hugging Face config.json or its folder. Without a name the model has that
  // of the file, or of the folder of a config.json.
  [[nodiscard]] std::string import_model(const TextSource& file,
                                         const std::string& name = {}) const;
  // Throws InputError also where the framework cannot run the experiment.
  [[nodiscard]] Exported export_files(const std::string& framework,
                                      const ExperimentSource& experiment) const;

  // The names of what there is, sorted or in the order in which they are tried.
  [[nodiscard]] std::vector<std::string> list(Listing kind) const;
  // The same with a line on each, by the name of a kind; text and JSON. Without a kind, the kinds
  // and how many of each there are.
  [[nodiscard]] Report list_report(const std::string& kind, const ReportForm& form = {}) const;
  // What a name of any listing stands for: values, equation, assumptions, source, as text; of
  // formats "format NAME". Throws InputError with the nearest name if there is none of that name.
  [[nodiscard]] std::string describe(const std::string& name) const;
  [[nodiscard]] Report describe_report(const std::string& name, const ReportForm& form = {}) const;

  // A commented file to begin a "gpu", "cluster", "model" or "software" set of one's own with,
  // which reads as it is. Throws InputError if there is none of that kind.
  [[nodiscard]] std::string template_of(const std::string& kind) const;

  // For programs that have options. "gpus", "models", ... by the order of Listing.
  [[nodiscard]] static std::vector<std::string> kinds();
  // Of each key that a program may give an option of its own.
  [[nodiscard]] static std::vector<KeyOption> key_options();
  // Our key for what a framework calls so ("tensor_model_parallel_size"); empty: none.
  [[nodiscard]] static std::string key_called(const std::string& word);
  // Whether an experiment may name a model so: list(Listing::kModel), or a repository of
  // huggingface.co that is one of them.
  [[nodiscard]] bool is_model(const std::string& name) const;
  // The GPU of a cluster of list(Listing::kCluster) or of a cluster's file; empty if there is none.
  [[nodiscard]] std::string gpu_of_cluster(const std::string& cluster) const;
  // The backends of the roles that files of measurements have rows of: "gemm=measured:a,b".
  [[nodiscard]] std::vector<std::string> measured_backends(
      const std::vector<std::string>& files) const;

 private:
  std::filesystem::path data_;
};

#ifdef STEPCAST_DATA_DIR
// The data folder that was installed with this header; the CMake package defines its place
// (STEPCAST_DATA_DIR, and the variable stepcast_DATA_DIR).
inline std::filesystem::path installed_data() { return STEPCAST_DATA_DIR; }
#endif

}  // namespace stepcast
