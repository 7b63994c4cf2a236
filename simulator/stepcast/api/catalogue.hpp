// SPDX-License-Identifier: Apache-2.0
// What there is of each kind by name, and what a name stands for: its values, equation,
// assumptions and source.
#pragma once

#include <string>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {

// "gpus", "models", ...
template <>
std::span<const std::string_view> names_of<Listing>();

// Files of the data folder are sorted; the rest is in the order of its table.
std::vector<std::string> listed_names(Listing kind, const DataRoot& data);

// With a line that says what a name stands for, where the names alone do not: of software sets and
// operators.
struct ListedName {
  std::string name;
  std::string line;
};
std::vector<ListedName> listed_with_lines(Listing kind, const DataRoot& data);

// The file that a name of any listing, or a file's own path, stands for; empty if it is no file's.
std::string file_of(const std::string& name, const DataRoot& data);

// Of a name of any listing, or of a file of a model, a GPU or a cluster (its path, ending .yaml).
// Throws ConfigError at `where` with the nearest name if nothing of any kind is called `name`.
std::string description_of(const std::string& name, const DataRoot& data, const Location& where);

}  // namespace stepcast
