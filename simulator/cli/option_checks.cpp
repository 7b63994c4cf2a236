// SPDX-License-Identifier: Apache-2.0
#include "cli/option_checks.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"

namespace stepcast::cli {
namespace {

// Options whose value is a file that is written.
constexpr std::array<std::string_view, 4> kWritten = {"--out", "--html", "--plot", "--plans"};

struct GivenFile {
  std::string option;  // as messages call it
  std::string file;
};

bool is_written(const std::string& option) {
  return std::find(kWritten.begin(), kWritten.end(), option) != kWritten.end();
}

bool has_control_character(const std::string& value) {
  return std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < ' '; });
}

void check_value(const std::string& option, const std::string& value, Diagnostics& diagnostics) {
  if (value.empty()) {
    diagnostics.error({option, 0, 0}, "is empty; give a value, or leave the option out");
  } else if (option != "--set" && has_control_character(value)) {
    diagnostics.error({option, 0, 0}, "holds a control character, as a line feed is");
  }
}

// A command with those inside it that were given: import, megatron.
void collect_given(const CLI::App& command, std::vector<const CLI::App*>& given) {
  given.push_back(&command);
  for (const CLI::App* inner : command.get_subcommands()) {
    collect_given(*inner, given);
  }
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::is_regular_file(b, error) && std::filesystem::equivalent(a, b, error);
}

}  // namespace

void check_options(const CLI::App& program) {
  Diagnostics diagnostics;
  std::vector<GivenFile> read;
  std::vector<GivenFile> written;
  std::vector<const CLI::App*> commands;
  collect_given(program, commands);
  for (const CLI::App* command : commands) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_expected_max() == 0) {
        continue;  // a flag
      }
      for (const std::string& value : option->results()) {
        const std::string name = option->get_name();
        check_value(name, value, diagnostics);
        (is_written(name) ? written : read).push_back({name, value});
      }
    }
  }
  for (const GivenFile& out : written) {
    for (const GivenFile& in : read) {
      if (is_same_file(in.file, out.file)) {
        diagnostics.error({out.option + " " + out.file, 0, 0},
                          "would replace the input of the same name; give another file");
      }
    }
  }
  diagnostics.throw_if_any();
}

}  // namespace stepcast::cli
