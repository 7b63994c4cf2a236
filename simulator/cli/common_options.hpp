// SPDX-License-Identifier: Apache-2.0
// Options that mean the same in every command.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/read_files.hpp"
#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/experiment/reported_input.hpp"
#include "stepcast/operators/measured_operator.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace stepcast::cli {

// Exit codes of the program.
inline constexpr int kDone = 0;
inline constexpr int kFault = 1;
inline constexpr int kInputWrong = 2;
inline constexpr int kPlanCannotRun = 3;
inline constexpr int kInterrupted = 130;  // 128 + SIGINT, as a shell says it

struct OutputOptions {
  std::string format = "text";
  std::string out;   // a file; empty: standard output
  std::string html;  // a file for the report as a page; empty: none
};

// How an experiment is named on the command line.
struct ExperimentOptions {
  std::string file;
  std::string model;
  std::string gpu;
  std::string cluster;  // a cluster's name, whose GPU and network are taken where no other is named
  std::string nic_rate;  // "400 Gb/s"
  std::optional<std::int64_t> nodes;
  std::optional<double> gpu_clock_mhz;
  std::string power_limit;            // "500 W"
  std::vector<std::string> settings;  // --set key=value
  std::vector<std::string> backends;  // --backend role=name
  std::vector<std::string> measured;  // --measured file
  std::vector<Override> direct;       // --tp 8 as plan.tp=8

  bool operator==(const ExperimentOptions&) const = default;
};

struct GlobalOptions {
  std::string data;  // folder with configs/ and hardware_profiles/
  bool verbose = false;
  bool quiet = false;
  std::string command;  // the whole command line, as a shell takes it
  ReadFiles read;       // what it reads
};

// --out FILE: where the output goes; empty, as - makes it: to standard output.
CLI::Option* add_out_option(
    CLI::App& command, std::string& file,
    const std::string& help = "write to this file instead of standard output");
void add_output_options(CLI::App& command, OutputOptions& options,
                        const std::vector<std::string>& formats);
void add_experiment_options(CLI::App& command, ExperimentOptions& options);
// Those of them that `compare` does not repeat: all but the GPU, the cluster, the rate of its NICs,
// the nodes, the clock, the power limit and the software.
void add_uncompared_options(CLI::App& command, ExperimentOptions& options);

// Lets `option` take - for standard input.
void take_standard_input(CLI::Option& option);
// What a file of standard input is called below: the one that the system has for it.
inline constexpr const char* kStandardInput = "/dev/stdin";
// What options that name an output call standard output.
inline constexpr const char* kStandardOutput = "-";

// The data folder: --data, or the one installed beside the program, or the one it was built from.
DataRoot data_root(const GlobalOptions& options);

// The experiment that the options name, with every option applied. Throws ConfigError.
Experiment load_experiment(const ExperimentOptions& options, const DataRoot& data);

// The same as a tree, before it is read.
ExperimentTree settled_tree(const ExperimentOptions& options, const DataRoot& data);

// The sweep that the options name, with every option to be applied. Throws ConfigError.
SweepSource load_sweep(const ExperimentOptions& options, const DataRoot& data);

// The operators of a file that a backend is chosen with; none without a file.
MeasuredOperators measured_in(const std::string& file, const DataRoot& data);
// The default backends with the experiment's choices; records every role's in the experiment.
CostModel cost_model(Experiment& experiment, const DataRoot& data);
// The default backends with those that --backend ROLE=NAME or ROLE=NAME:FILE chooses.
CostModel cost_model(const std::vector<std::string>& backends, const DataRoot& data);

// The program's version.
std::string program_version();
// A report's JSON as text, with the program's version in its context.
std::string json_text(nlohmann::ordered_json json);

// Writes `text` to the chosen file, whole or not at all, or to standard output.
void write_output(const OutputOptions& options, const std::string& text);

}  // namespace stepcast::cli
