// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/error.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "stepcast/base/printable.hpp"

namespace stepcast {

std::string to_text(const Diagnostic& diagnostic) {
  std::string text = printable(diagnostic.where.file);
  if (diagnostic.where.line > 0) {
    text += ":" + std::to_string(diagnostic.where.line);
    // Of an argument of a script the line alone is known.
    text += diagnostic.where.column > 0 ? ":" + std::to_string(diagnostic.where.column) : "";
  }
  return text + ": error: " + printable(diagnostic.message);
}

void Diagnostics::throw_if_any() const {
  if (!entries_.empty()) {
    throw ConfigError(entries_, uncollected_);
  }
}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics, std::size_t uncollected)
    : diagnostics_(std::move(diagnostics)), uncollected_(uncollected) {
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
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
