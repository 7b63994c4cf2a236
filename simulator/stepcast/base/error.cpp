// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/error.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "stepcast/base/printable.hpp"

namespace stepcast {
namespace {

// What is longer than a file's name can be is no name, and the rest of it tells nobody anything: of
// each word between blanks and slashes as much stays as identifies it.
std::string without_long_words(std::string_view text) {
  constexpr std::size_t kLongestName = 255;
  constexpr std::size_t kShown = 60;
  constexpr std::size_t kLongestText = 1U << 14U;
  std::string shown;
  while (!text.empty() && shown.size() < kLongestText) {
    const std::size_t end = std::min(text.find_first_of(" /"), text.size() - 1) + 1;
    const std::string_view word = text.substr(0, end);
    shown += word.size() > kLongestName + 1 ? beginning_of(word, kShown) : std::string(word);
    text.remove_prefix(end);
  }
  return text.empty() ? shown : shown + "...";
}

std::string shown(std::string_view text) { return printable(without_long_words(text)); }

}  // namespace

std::string to_text(const Diagnostic& diagnostic) {
  std::string text = shown(diagnostic.where.file);
  if (diagnostic.where.line > 0) {
    text += ":" + std::to_string(diagnostic.where.line);
    // Of an argument of a script the line alone is known.
    text += diagnostic.where.column > 0 ? ":" + std::to_string(diagnostic.where.column) : "";
  }
  return text + ": error: " + shown(diagnostic.message);
}

void Diagnostics::throw_if_any() const {
  if (!entries_.empty()) {
    throw ConfigError(entries_, uncollected_);
  }
}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics, std::size_t uncollected)
    : diagnostics_(std::move(diagnostics)), uncollected_(uncollected) {
  std::ranges::stable_sort(diagnostics_, [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.where.file, a.where.line, a.where.column) <
           std::tie(b.where.file, b.where.line, b.where.column);
  });
  const std::size_t told = std::min(kMostTold, diagnostics_.size());
  for (std::size_t i = 0; i < told; ++i) {
    text_ += (text_.empty() ? "" : "\n") + to_text(diagnostics_[i]);
  }
  if (const std::size_t more = diagnostics_.size() - told + uncollected; more > 0) {
    text_ += "\nand " + std::to_string(more) + " more";
  }
}

ConfigError::ConfigError(Location where, std::string message)
    : ConfigError({Diagnostic{std::move(where), std::move(message)}}) {}

void fail_check(const char* condition, const std::string& detail, const char* file, int line) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) +
                      ": internal error: " + condition + ": " + detail);
}

}  // namespace stepcast
