// SPDX-License-Identifier: Apache-2.0
#include "cli/option_checks.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common_options.hpp"
#include "cli/output_file.hpp"
#include "cli/saved_plans.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast::cli {
namespace {

namespace fs = std::filesystem;

// Options whose value is a file that is written.
constexpr std::array<std::string_view, 4> kWritten = {"--out", "--html", "--plot", "--plans"};

struct GivenValue {
  std::string option;  // as messages call it
  std::string value;
  [[nodiscard]] Location place() const { return {option + " " + value, 0, 0}; }
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

bool is_one_file(const std::string& a, const std::string& b) {
  if (a == kStandardOutput || b == kStandardOutput) {
    return false;
  }
  const std::optional<fs::path> first = replaced_file(a);
  const std::optional<fs::path> second = replaced_file(b);
  std::error_code error;
  return first && second && (*first == *second || fs::equivalent(*first, *second, error));
}

// Files that would be in the way of what --save-dir writes.
void check_saved(const GivenValue& saved, const std::vector<GivenValue>& written,
                 const ReadFiles& read, Diagnostics& diagnostics) {
  std::error_code error;
  for (fs::directory_iterator entry(saved.value, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string why = is_saved_name(name) ? read.why_kept(entry->path()) : "";
    if (!why.empty()) {
      diagnostics.error(saved.place(), "writes '" + name + "' in it, which " + why);
    }
  }
  const fs::path folder = fs::weakly_canonical(fs::absolute(saved.value, error), error);
  for (const GivenValue& out : written) {
    const std::optional<fs::path> file = replaced_file(out.value);
    if (file && is_saved_name(file->filename().string()) && file->parent_path() == folder) {
      diagnostics.error(out.place(), "is a name of --save-dir's in its folder; give another");
    }
  }
}

void check_written(const std::vector<GivenValue>& written, const ReadFiles& read,
                   Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (const std::string why = read.why_kept(written[i].value); !why.empty()) {
      diagnostics.error(written[i].place(), why);
    }
    for (std::size_t before = 0; before < i; ++before) {
      if (is_one_file(written[before].value, written[i].value)) {
        diagnostics.error(written[i].place(),
                          "is the file of " + written[before].option + " too; give another");
      }
    }
  }
}

}  // namespace

ReadFiles check_options(const CLI::App& program) {
  Diagnostics diagnostics;
  ReadFiles read;
  std::vector<GivenValue> written;
  std::vector<GivenValue> saved;
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
        if (is_written(name)) {
          written.push_back({name, value});
        } else if (name == "--save-dir") {
          saved.push_back({name, value});
        } else {
          read.add(value);
        }
      }
    }
  }
  check_written(written, read, diagnostics);
  for (const GivenValue& folder : saved) {
    check_saved(folder, written, read, diagnostics);
  }
  diagnostics.throw_if_any();
  return read;
}

}  // namespace stepcast::cli
