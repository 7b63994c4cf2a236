// SPDX-License-Identifier: Apache-2.0
// What the calls of stepcast.hpp are given. All of it is plain values; a field that is left as it
// stands here asks for nothing. A problem with a field is told under the field's name ("threads").
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepcast {

// A value and what gives it: a key of an experiment ("plan.tp=8"), the backend of a role
// ("gemm=roofline"), a price ("h100_sxm=2.50").
struct Assignment {
  std::string text;
  // What problems of it are told under, as "--tp 8"; empty: the text itself, with lines and columns
  // of its value.
  std::string place{};
  // Files that it names lie where the process runs; else they lie where those of its experiment do.
  bool files_here = false;

  // NOLINTBEGIN(google-explicit-constructor): a text is the usual assignment.
  Assignment(std::string of_text, std::string of_place = {})
      : text(std::move(of_text)), place(std::move(of_place)) {}
  Assignment(const char* of_text) : text(of_text) {}
  operator const std::string&() const noexcept { return text; }
  // NOLINTEND(google-explicit-constructor)
  bool operator==(const Assignment&) const = default;
};

// Of operators in a report: their times, or also the parts that each time is made of.
enum class OperatorDetail { kTimes, kTerms };

// Of the parts of a sweep: all of them, or those that there are.
enum class Merge { kWhole, kPartial };

// An experiment, or a sweep: a file or a text, and settings on top of it.
struct ExperimentSource {
  // A file in YAML or JSON. Files that it names are looked up beside it, and those of /dev/stdin
  // where the process runs.
  std::filesystem::path file{};
  // Read instead of `file` where that is empty. Files that it names are looked up in `folder`.
  std::string text{};
  std::filesystem::path folder{};
  std::string name = "experiment";  // what problems of `text` call it
  // Each sets one key, as `--set plan.tp=8` does, in this order.
  std::vector<Assignment> settings{};
  // Values of `text` stand in for what nobody gave; reports say which of them count.
  bool assumed = false;
  // Settings of which one undoes another in silence are wrong; else the last one counts.
  bool settings_must_agree = false;

  // The same with one more setting: with("plan.tp", "8"). The value is YAML.
  [[nodiscard]] ExperimentSource with(std::string_view key, std::string_view value) const {
    ExperimentSource more = *this;
    more.settings.emplace_back(std::string(key) + "=" + std::string(value));
    return more;
  }
  bool operator==(const ExperimentSource&) const = default;
};

// kJsonLines: a line for each operator or plan, of cost() and of sweeps alone.
enum class ReportFormat { kText, kJson, kCsv, kJsonLines };

// What is made of an answer.
struct ReportForm {
  // NOLINTNEXTLINE(google-explicit-constructor): most reports are a text in one format.
  ReportForm(ReportFormat of = ReportFormat::kText) : format(of) {}

  ReportFormat format;
  bool text = true;       // false: only what follows is asked for
  std::size_t width = 0;  // of a text's tables, in columns; 0: as wide as they come
  // A page of HTML that needs no other file, with the command that it names as its maker.
  std::optional<std::string> page{};
  bool plot = false;  // an SVG, of sweeps and comparisons alone
};

// Takes a long text piece by piece.
using TakeText = std::function<void(std::string_view)>;

// Prices of a GPU-hour, "h100_sxm=2.50" each; a currency is a sign or a short word, $ if empty.
struct GpuHourPrices {
  std::vector<Assignment> prices{};
  std::string currency{};
};

struct ProjectSettings {
  GpuHourPrices prices{};  // of the experiment's GPU
};

// Called before each part of a long work with what it is: "2 of 5, h200_sxm". Null: nobody asks.
using SaysWhat = std::function<void(const std::string& what)>;

// An experiment on numbers of GPUs that double from the first to the last. The global batch grows
// with them, unless a setting of the experiment gives it or nobody does.
struct ScalingSettings {
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool strong = false;     // the global batch stays whoever gives it
  bool best_plan = false;  // each size with the best of all plans that the experiment leaves
  int threads = 0;         // of that search alone; 0: as many as the process has processors
  SaysWhat at{};
};

// One layer of the model by itself.
struct LayerSettings {
  std::string layer{};         // moe, dense, a number from 0; empty: one with experts if there is
  std::string block{};         // experts or whole; empty: the experts where the layer has some
  std::string state = "warm";  // or cool: the first calls after a pause
  bool forward_only = false;   // nothing is kept, and there is no backward
};

// What the map of the fastest dispatcher runs over; empty lists have usual values.
struct LayerMapSettings {
  std::vector<std::int64_t> ranks{};
  std::vector<std::int64_t> nodes{};
  std::vector<std::int64_t> topk{};
  std::vector<std::int64_t> tokens{};
};

// A column of a comparison, called by the values of its options or else by its GPU.
struct ColumnSource {
  ExperimentSource experiment;
  std::vector<std::pair<std::string, std::string>> options{};  // {"gpu", "mi300x"}
};

// Where the files of the best plans go: each plan as an experiment (rank_01.yaml) and as launch
// files of frameworks, what was asked for (resolved.yaml), and tables.
struct PlanFolder {
  std::function<void(const std::string& name, const std::string& text)> write{};  // null: nowhere
  std::function<void(const std::string& remark)> remark{};  // what a framework cannot say
};

struct CompareSettings {
  GpuHourPrices prices{};  // of GPUs of columns
  bool best_plan = false;  // each column with the best of all plans that its settings leave
  // Keys that are searched although settings give them, or that a search keeps: "recompute".
  std::vector<std::string> free{};
  int threads = 0;    // of that search; 0: as many as the process has processors
  PlanFolder save{};  // the plans of the columns, the fastest first
  SaysWhat at{};
};

// What recommend_report() is asked: how many of which GPUs. What is not given limits nothing.
struct RecommendSettings {
  std::vector<std::string> gpus;            // names of list(Listing::kGpu)
  std::optional<double> days{};             // that the run may take at most
  std::optional<double> budget{};           // that it may cost; needs prices
  std::optional<std::int64_t> most_gpus{};  // of one kind
  GpuHourPrices gpu_hour_price{};           // of all GPUs or of none
  std::vector<std::string> constraints{};   // that plans must keep, as in a sweep: "mfu > 0.4"
  bool prove = false;  // each plan the best of all; else of large spaces what a descent finds
  int threads = 0;     // 0: as many as the process has processors
  SaysWhat at{};       // called from several threads
};

// How operators are priced.
struct OperatorPricing {
  std::string gpu;                        // a name of list(Listing::kGpu)
  std::vector<Assignment> backends{};     // "gemm=roofline"; others are the default of their role
  std::optional<double> gpu_clock_mhz{};  // locks the clock of lines that do not lock their own
  std::string power_limit{};              // "500 W"; empty: the GPU's own
  bool terms = false;                     // adds what makes up each time
};

struct SeenFile;

// A file, or a text that has the file's name.
struct TextSource {
  std::filesystem::path file{};
  std::optional<std::string> text{};
  // What known_file() read of it, for an import of it that need not read it again.
  std::shared_ptr<const SeenFile> seen{};
};

struct TraceSettings {
  std::int64_t rank = 0;             // of the world, as Megatron counts (tp, cp, dp, pp)
  bool every_pipeline_rank = false;  // instead: one rank of each
  // Called for each trace with its number, from 0; it calls `write` with what takes the text.
  std::function<void(std::int64_t number, const std::function<void(const TakeText&)>& write)> file;
};

// A profiler's traces of one step, the first of which is compared; the others say who waits.
struct TraceComparisonSettings {
  std::vector<std::string> traces;
  std::string step{};                  // a step that the profiler marked; empty: a steady one
  std::optional<std::int64_t> rank{};  // of the first trace, where it does not say or says wrong
  std::string state{};                 // after_pause or steady; empty: as the trace shows
};

// What diagnose_report() is told of a run, each as text: at least one of the first four, or a point
// with one, and of the first four no two; or that it is out of memory.
struct DiagnoseSettings {
  std::string measured{};  // tokens/s of one GPU: "200tok/s"
  std::string step{};      // "13s"
  std::string tflops{};    // TFLOP/s of the model of one GPU: "120"
  std::string mfu{};       // per cent: "9.8"
  std::string memory{};    // the largest that a GPU's allocator gave out: "43.5GiB", or that it
                           // held: "43.5GiB reserved"
  // Of the experiment with settings on top of it: "plan.tp=2:1.93s".
  std::vector<std::string> points{};
  // A table (CSV) of such: columns called by keys, and by the fields above.
  std::optional<TextSource> points_file{};
  // A profiler's traces of a step of the experiment itself, of which the first is compared. Without
  // a figure the step that it has is what was measured.
  std::vector<std::string> traces{};
  // Instead: a run that is out of memory, and how much the request asked for that failed, "2GiB".
  bool out_of_memory = false;
  std::string tried{};
};

struct ValidateSettings {
  // What is printed: errors by group; those of held-out runs as hardware_profiles/accuracy.json;
  // the measured runs as hardware_profiles/published_runs.json; what the plan predicted to be the
  // fastest reaches; ratios of two GPUs on the same work.
  enum class Of { kErrors, kAccuracy, kPublished, kRegret, kSkuRatios };

  std::vector<std::string> files;  // JSON lines, CSV and profiler traces
  std::vector<Assignment> backends{};
  std::string experiment{};    // a file: what the traces among the files are of
  std::string metric = "all";  // or throughput, memory
  bool baseline = false;       // beside each group: the error of one rate for all of its runs
  Of of = Of::kErrors;
  // Runs by what they have in common, and not row by row, as the page has them; `against` is the
  // file of such a report in JSON, of an earlier release, which tells what became worse.
  bool groups = false;
  std::string against{};
};

struct CalibrateSettings {
  std::vector<std::string> files;  // measured kernels, or profiler traces
  std::vector<std::string> gpus;   // parts of one die are fitted together
  std::vector<Assignment> backends{};
  std::vector<std::string> constants{};  // keys; empty: all
  std::string of = "kernels";            // or architectures, collectives, exchanges, libraries
  std::string date{};                    // 2026-01-31; empty: today
};

struct ImportSettings {
  std::vector<std::string> overrides{};  // "key=value" in the framework's own words
  // Each counts before what the file says.
  std::string gpu{};
  std::optional<std::int64_t> nodes{};
  std::string software{};
  std::string release{};  // "2026-03": the time of the framework, where its sets have one
  bool lenient = false;   // keys that are not known are remarked, not refused
};

// How far a sweep is, in plans.
struct PlansDone {
  std::int64_t plans = 0;   // to be done
  std::int64_t done = 0;    // now or before
  std::int64_t before = 0;  // of these, by runs before
  std::int64_t priced = 0;  // by this run
};

// What every way of running a sweep is told.
struct SweepRunning {
  int threads = 0;  // 0: as many as the process has processors
  // Asked while the sweep runs: a sweep that was stopped answers with what is done.
  std::stop_token stop{};
  // Called after every few plans by one thread at a time.
  std::function<void(const PlansDone&)> progress{};
  std::function<void(const std::string& remark)> remark = [](const std::string&) {};
};

// The report of a sweep: its best plans, its Pareto sets and what was refused; or every plan, a
// line each.
struct SweepReportSettings {
  ReportForm form{};
  TakeText report{};                  // the report itself
  std::optional<std::int64_t> top{};  // plans in it; text 20, JSON all, pages 10,000, saved 3
  bool every_plan = false;            // prices also those that cannot be among them
  // Every plan as a line besides, in CSV or in JSON.
  ReportFormat lines_format = ReportFormat::kCsv;
  TakeText lines{};   // null: nowhere
  PlanFolder save{};  // the best plans
};

// The file that a run goes on from after an interruption, or a shard of a sweep for a merge.
struct SweepPartSettings {
  std::string file{};  // empty: what is done is not kept
  bool resume = false;
  std::string shard{};  // "2/3", of a shard
  // A shard keeps the best plans alone where this is given; else every plan.
  std::optional<std::int64_t> top{};
  bool every_plan = false;  // whatever `top` is
};

// A folder that tasks fill with the pieces of a sweep.
struct PieceSettings {
  std::string folder;
  std::string submission{};           // what tasks call themselves that were started together
  std::string task{};                 // which of them this is
  std::vector<std::string> beside{};  // submissions that still run
  std::optional<std::int64_t> top{};  // as of a shard
  bool every_plan = false;
};

}  // namespace stepcast
