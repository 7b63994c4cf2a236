// SPDX-License-Identifier: Apache-2.0
// The tokens of a Python text, cut into statements: one logical line each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"

namespace stepcast {

struct PythonToken {
  enum class Kind { kName, kNumber, kString, kSign };
  Kind kind = Kind::kSign;
  std::string text;  // of a string what stands between its quotes
  int line = 0;
  int column = 0;
  std::size_t begin = 0;  // in the text
  std::size_t end = 0;
};

struct PythonStatement {
  int indent = 0;
  std::vector<PythonToken> tokens;  // not empty
};

// Throws ConfigError for a string or a bracket that has no end.
std::vector<PythonStatement> python_statements(std::string_view text, const std::string& file);

}  // namespace stepcast
