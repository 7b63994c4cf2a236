// SPDX-License-Identifier: Apache-2.0
// Assignments of shells: NAME=word, NAME+=word, NAME=(words).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frameworks/shell_words.hpp"

namespace stepcast {

struct ShellAssignment {
  std::string name;
  bool appends = false;
  bool array = false;
  std::vector<std::string> items;  // of a scalar one
};

// Whether one begins here.
bool at_assignment(const ShellWordReader& reader);
// The one that begins here; nothing where none does.
std::optional<ShellAssignment> read_assignment(ShellWordReader& reader);
void apply(const ShellAssignment& assignment, ShellVariables& variables);

// Values of the assignments "KEY=VALUE" whose key has no small letters, as a variable of a shell.
std::map<std::string, std::string> shell_assignments(const std::vector<std::string>& texts);

}  // namespace stepcast
