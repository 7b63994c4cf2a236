// SPDX-License-Identifier: Apache-2.0
#include "frameworks/text_form.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

using LineSign = std::function<bool(std::string_view)>;

// Whether a line of the text, without the blanks before it, is as `sign` wants it.
bool has_such_line(std::string_view text, const LineSign& sign) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (sign(line)) {
      return true;
    }
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return false;
}

bool has_line(std::string_view text, std::initializer_list<std::string_view> begins) {
  return has_such_line(text, [&](std::string_view line) {
    return std::any_of(begins.begin(), begins.end(),
                       [line](std::string_view begin) { return line.starts_with(begin); });
  });
}

bool is_launch_script(std::string_view text, const std::string& extension) {
  constexpr std::array<std::string_view, 6> kExtensions = {".sh",   ".slurm", ".sbatch",
                                                           ".bash", ".job",   ".sub"};
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end() ||
         text.starts_with("#!/bin/") || text.starts_with("#!/usr/bin/env bash") ||
         has_line(text, {"accelerate launch", "torchrun ", "deepspeed ", "trl ", "axolotl ",
                         "llamafactory-cli ", "python ", "python3 ", "#SBATCH ", "srun "});
}

// "[training]", which no line of YAML with keys is.
bool has_section(std::string_view text) {
  return has_such_line(text, [](std::string_view line) {
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    return line.size() > 2 && line.front() == '[' && line.back() == ']' &&
           ascii::is_letter(line[1]) && line.find_first_of(", '\"") == std::string_view::npos;
  });
}

}  // namespace

bool is_json_text(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

TextForm form_of(std::string_view text, const std::string& file) {
  const std::string extension = std::filesystem::path(file).extension().string();
  if (extension == ".py" || (extension != ".sh" && has_line(text, {"import ", "from "}) &&
                             text.find('(') != std::string_view::npos)) {
    return TextForm::kPython;
  }
  if (is_json_text(text)) {
    return TextForm::kJson;
  }
  if (extension == ".yaml" || extension == ".yml" || extension == ".json") {
    return TextForm::kYaml;
  }
  if (extension != ".toml" && is_launch_script(text, extension)) {
    return TextForm::kShell;
  }
  return extension == ".toml" || has_section(text) ? TextForm::kToml : TextForm::kYaml;
}

}  // namespace stepcast
