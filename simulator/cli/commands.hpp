// SPDX-License-Identifier: Apache-2.0
// The commands; each adds itself to the program and returns its exit code through `run`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common_options.hpp"

namespace stepcast::cli {

// A kind of list() that `describe` takes behind a word of its own.
inline constexpr std::string_view kFormats = "formats";

// Set by the command that the user chose; main calls it.
using Run = std::function<int()>;
// What is run where the user chooses the command.
void on_choice(CLI::App& command, Run& run, Run chosen);

void add_project(CLI::App& program, const GlobalOptions& global, Run& run);
void add_sweep(CLI::App& program, const GlobalOptions& global, Run& run);
void add_merge(CLI::App& program, const GlobalOptions& global, Run& run);
void add_memory(CLI::App& program, const GlobalOptions& global, Run& run);
void add_compare(CLI::App& program, const GlobalOptions& global, Run& run);
void add_recommend(CLI::App& program, const GlobalOptions& global, Run& run);
void add_explain(CLI::App& program, const GlobalOptions& global, Run& run);
void add_diagnose(CLI::App& program, const GlobalOptions& global, Run& run);
void add_layer(CLI::App& program, const GlobalOptions& global, Run& run);
void add_trace(CLI::App& program, const GlobalOptions& global, Run& run);
void add_cost(CLI::App& program, const GlobalOptions& global, Run& run);
void add_calibrate(CLI::App& program, const GlobalOptions& global, Run& run);
void add_validate(CLI::App& program, const GlobalOptions& global, Run& run);
void add_trace_compare(CLI::App& program, const GlobalOptions& global, Run& run);
// A command line of `stepcast import FRAMEWORK` with the framework's own options among ours:
// `--section.key=value` and `--section.key value` become `section.key=value`. `arguments` are
// without the program's name. No option of ours has a dot in its name; a command line of another
// command stays as it is.
//
// Of `stepcast import FILE` the framework that the file is of is put before it. Throws ConfigError
// where nothing imports such a file.
struct ForeignArguments {
  std::vector<std::string> arguments;
  std::optional<KnownFile> known;  // what the file was taken for; nothing where a word says so
};
ForeignArguments with_framework_arguments(std::vector<std::string> arguments);
void add_import(CLI::App& program, const GlobalOptions& global, Run& run);
void add_export(CLI::App& program, const GlobalOptions& global, Run& run);
void add_list(CLI::App& program, const GlobalOptions& global, Run& run);
// completion and manual, of all other commands.
void add_shell_words(CLI::App& program, Run& run);
void add_describe(CLI::App& program, const GlobalOptions& global, Run& run);

}  // namespace stepcast::cli
