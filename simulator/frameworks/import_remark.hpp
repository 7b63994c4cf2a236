// SPDX-License-Identifier: Apache-2.0
// What became of one key of a framework's file.
#pragma once

#include <string>
#include <vector>

#include "stepcast/base/error.hpp"

namespace stepcast {

enum class ImportOutcome {
  kCarried,        // stands in the experiment
  kDefaulted,      // was absent: the framework's own default stands in the experiment
  kWithoutEffect,  // changes nothing that is predicted: data, logging, learning rates
  kNotCarried,     // changes the result, and nothing here prices it
  kAssumed,        // follows from nothing in the file
};

struct ImportRemark {
  ImportOutcome outcome = ImportOutcome::kCarried;
  std::string name;   // the framework's key
  std::string value;  // as written, or the default
  std::string ours;   // the key that it became; empty: none
  std::string note;   // what it means for the result
  Location where;
};

// Of the keys whose outcome it is.
std::size_t count_of(const std::vector<ImportRemark>& remarks, ImportOutcome outcome);

}  // namespace stepcast
