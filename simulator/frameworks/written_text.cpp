// SPDX-License-Identifier: Apache-2.0
#include "frameworks/written_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "stepcast/config/json_dump.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

bool has_but_letters(std::string_view text, std::string_view further) {
  return std::any_of(text.begin(), text.end(), [further](char c) {
    return kLetters.find(c) == std::string_view::npos && further.find(c) == std::string_view::npos;
  });
}

}  // namespace

std::string quoted_text(std::string_view text) { return json_dump(nlohmann::json(text)); }

std::string yaml_value(std::string_view text) {
  return text.empty() || has_but_letters(text, "+/") ? quoted_text(text) : std::string(text);
}

std::string shell_argument(std::string_view text) {
  if (!text.empty() && !has_but_letters(text, "+/:=@%")) {
    return std::string(text);
  }
  std::string argument = "\"";
  for (const char c : text) {
    argument += std::string_view("\\\"$`").find(c) == std::string_view::npos ? "" : "\\";
    argument += c;
  }
  return argument + "\"";
}

std::string shell_arguments(std::string_view text) {
  return text.empty() || has_but_letters(text, "+/:=@% ") ? shell_argument(text)
                                                          : std::string(text);
}

std::string file_name_of(std::string_view text) {
  constexpr std::size_t kLongest = 100;  // bytes; a file's name may have 255
  std::string name(text.substr(0, kLongest));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return kLetters.find(c) == std::string_view::npos; },
      '_');
  if (name.starts_with('.')) {
    name.front() = '_';
  }
  return name;
}

KeyLines::KeyLines(std::string_view sign, const std::string& heading) : sign_(sign) {
  comment(heading);
}

void KeyLines::line(std::string_view key, const std::string& value) {
  lines_ += std::string(key) + std::string(sign_) + value + "\n";
}

void KeyLines::section(std::string_view name) { lines_ += "\n[" + std::string(name) + "]\n"; }

void KeyLines::note(std::string text) {
  comment(text);
  notes_.push_back(std::move(text));
}

ExportedFile KeyLines::file(std::string name) {
  return {std::move(name), std::move(lines_), std::move(notes_)};
}

}  // namespace stepcast
