// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/error.hpp"

#include <algorithm>
#include <tuple>

namespace stepcast {

std::string to_text(const Diagnostic& diagnostic) {
  std::string text = diagnostic.where.file;
  if (diagnostic.where.line > 0) {
    text +=
        ":" + std::to_string(diagnostic.where.line) + ":" + std::to_string(diagnostic.where.column);
  }
  return text + ": error: " + diagnostic.message;
}

void Diagnostics::throw_if_any() const {
  if (!entries_.empty()) {
    throw ConfigError(entries_);
  }
}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : diagnostics_(std::move(diagnostics)) {
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     return std::tie(a.where.file, a.where.line, a.where.column) <
                            std::tie(b.where.file, b.where.line, b.where.column);
                   });
  for (const Diagnostic& diagnostic : diagnostics_) {
    text_ += (text_.empty() ? "" : "\n") + to_text(diagnostic);
  }
}

ConfigError::ConfigError(Location where, std::string message)
    : ConfigError({Diagnostic{std::move(where), std::move(message)}}) {}

void fail_check(const char* condition, const std::string& detail, const char* file, int line) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) +
                      ": internal error: " + condition + ": " + detail);
}

}  // namespace stepcast
