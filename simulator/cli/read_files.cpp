// SPDX-License-Identifier: Apache-2.0
#include "cli/read_files.hpp"

#include <algorithm>
#include <string_view>
#include <system_error>

#include "cli/common_options.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast::cli {
namespace {

namespace fs = std::filesystem;

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
