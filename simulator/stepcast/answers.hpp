// SPDX-License-Identifier: Apache-2.0
// What the calls of stepcast.hpp answer, and what they throw. All of it is plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/inputs.hpp"

namespace stepcast {

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
  std::vector<std::string> reasons;  // why it is not
  std::vector<std::string> notes;    // what was filled in, as a plan that was not given
  // Empty where the plan does not divide; a plan that only does not fit in memory is priced.
  std::optional<StepNumbers> numbers;
  std::vector<StageBytes> memory;      // by pipeline rank; empty where the plan does not divide
  double memory_capacity_bytes = 0.0;  // of one GPU
  double probability = 0.0;  // that the run does not run out of it; 0 where it does not divide
  std::optional<RunNumbers> run{};  // empty without numbers, and without training.tokens
};

// What the command of the same name prints.
struct Report {
  bool feasible = false;  // of several plans or numbers of GPUs: whether any of them is
  std::string text{};     // ends with a line break
  // Where they are asked for: a page of HTML, and an SVG.
  std::string page{};
  std::string plot{};
  bool tight = false;  // of one plan that is feasible: memory may not suffice
};

struct SweptPlan {
  // What tells it from the other plans of its sweep: settings of an ExperimentSource.
  std::vector<std::string> settings{};
  StepNumbers numbers;
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

// What a sweep, a shard, a task or a merge answers. Where it was stopped before its end there is no
// report, and of a task the text is the command with which others go on.
struct SweepReport {
  bool complete = false;
  Report report{};
};

// Constants that were fitted, as the file that takes them, and what errors they leave. There is no
// file where `refused` says why the constants are worse than those that they were to replace.
struct Calibrated {
  std::string constants;
  std::string residuals;
  std::string refused{};
};

// A framework whose files come in and, where `writes` is not empty, go out.
struct Framework {
  std::string name;
  std::string reads;        // what an import takes
  std::string example;      // a command line of an import
  std::string writes;       // what an export prints
  bool takes_name = false;  // an import takes the name of a recipe too
  bool dated = false;       // an import takes the release of the framework
};

// What a file is, and the sign that says so.
struct KnownFile {
  std::string what;    // "a configuration of GPT-NeoX, by its 'pipe_parallel_size'"
  std::string door;    // the framework whose import takes it, or "hf"; empty: none does
  std::string remedy;  // what to do instead; of an experiment, which needs no import, too
  bool is_experiment = false;
  Problem refusal;      // where the sign stands, and what to tell where nothing imports it
  TextSource source{};  // the file with what was read of it, for its import
};

// A file of another format as one of ours, and what became of its keys, a line each.
struct Imported {
  std::string text;
  std::string remarks;
  // The options for what the file does not say and no experiment can do without, or else was
  // assumed: --gpu, --nodes.
  std::vector<std::string> missing{};
};

// The files with which a framework runs an experiment, the one that an import takes first, and what
// to tell whoever launches them.
struct Exported {
  std::vector<std::pair<std::string, std::string>> files;  // name, text
  std::string remarks;
};

// The option of the program that sets a key of an experiment.
struct KeyOption {
  std::string key;     // "plan.tp"
  std::string option;  // "--tp"
  std::string help;
};

}  // namespace stepcast
