// SPDX-License-Identifier: Apache-2.0
#include "cli/option_checks.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/common_options.hpp"
#include "cli/output_file.hpp"
#include "cli/saved_plans.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/config/config_node.hpp"

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
  return std::ranges::find(kWritten, option) != kWritten.end();
}

bool has_control_character(const std::string& value) {
  return std::ranges::any_of(value, [](unsigned char c) { return c < ' '; });
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

bool is_file(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error);
}

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error);
}

bool ends_name(char c) {
  constexpr std::string_view kEnds = " \t\r\n\"'`=:,;()[]{}<>|&";
  return kEnds.find(c) != std::string_view::npos;
}

// A comment names nothing. YAML and shells have the same: from a # at the start of a word on.
std::string without_comments(const std::string& text) {
  std::string kept;
  bool comment = false;
  char before = '\n';
  for (const char c : text) {
    comment = c != '\n' && (comment || (c == '#' && (before == '\n' || before == ' ')));
    before = c;
    if (!comment) {
      kept.push_back(c);
    }
  }
  return kept;
}

// Whether a text has the name of a file, with the folders before it, that is this one.
bool names(const std::string& text, const fs::path& folder, const fs::path& file) {
  const std::string name = file.filename().string();
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    std::size_t begin = at;
    while (begin > 0 && !ends_name(text[begin - 1])) {
      --begin;
    }
    const fs::path named = text.substr(begin, end - begin);
    const bool whole = end == text.size() || ends_name(text[end]);
    if (whole && (is_same(folder / named, file) || is_same(named, file))) {
      return true;
    }
  }
  return false;
}

std::string text_of(const fs::path& file) {
  try {
    return without_comments(read_file(file));
  } catch (const ConfigError&) {
    return "";  // what cannot be read, or is too large to name others
  }
}

// The parts of a word that may be files: all of it, and what stands behind =, : and commas.
std::vector<std::string> parts_of(const std::string& word) {
  std::vector<std::string> parts = {word};
  std::string rest = word;
  if (const std::size_t equals = rest.find('='); equals != std::string::npos) {
    rest = rest.substr(equals + 1);
    parts.push_back(rest);
  }
  if (const std::size_t colon = rest.find(':'); colon != std::string::npos) {
    rest = rest.substr(colon + 1);
  }
  for (std::size_t begin = 0; begin < rest.size();) {
    const std::size_t end = std::min(rest.find(',', begin), rest.size());
    parts.push_back(rest.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
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

ReadFiles::ReadFiles() : words_({kStandardInput}) {}

void ReadFiles::add(const std::string& word) {
  for (std::string& part : parts_of(word)) {
    words_.push_back(std::move(part));
  }
}

std::vector<fs::path> ReadFiles::files() const {
  std::vector<fs::path> found;
  const auto look_at = [&found](const fs::path& file) {
    for (const fs::path& meant : {file, file / "config.json"}) {
      if (is_file(meant)) {
        found.push_back(meant);
      }
    }
  };
  for (const std::string& word : words_) {
    look_at(word);
  }
  const std::vector<fs::path> here = found;
  for (const fs::path& beside : here) {
    for (const std::string& word : words_) {
      look_at(beside.parent_path() / word);
    }
  }
  return found;
}

std::string ReadFiles::why_kept(const fs::path& output) const {
  if (!is_file(output)) {
    return "";
  }
  const std::vector<fs::path> read = files();
  for (const fs::path& file : read) {
    if (is_same(file, output)) {
      return "would replace the input of the same name; give another file";
    }
  }
  for (const fs::path& file : read) {
    if (names(text_of(file), file.parent_path(), output)) {
      return "would replace a file that the input " + file.string() + " names; give another file";
    }
  }
  return "";
}

}  // namespace stepcast::cli
