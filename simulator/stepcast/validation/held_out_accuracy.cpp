// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "stepcast/base/units_text.hpp"
#include "stepcast/validation/validate.hpp"

namespace stepcast {
namespace {

// Of one GPU, by family.
using Errors = std::map<std::string, std::vector<double>>;

std::string rounded(double share) { return significant(share, 2); }

}  // namespace

std::string validation_to_accuracy(const std::vector<ValidationRow>& rows) {
  std::map<std::string, Errors> by_gpu;
  std::set<std::string> files;
  std::pair<std::string, std::string> last;  // a run's rate and its step time are one measurement
  for (const ValidationRow& row : rows) {
    const bool is_speed = row.at_unit_rate.has_value();
    if (row.predicted && is_speed && row.held_out.value_or(false) &&
        last != std::pair(row.file, row.id)) {
      last = {row.file, row.id};
      by_gpu[row.gpu][row.family].push_back(std::abs(row.error()));
      files.insert(row.file);
    }
  }
  std::string text =
      "# Errors |predicted / measured - 1| of the step times and rates of held-out runs, written "
      "by\n"
      "# scripts/update_accuracy.sh. What `stepcast project` says about the error to expect.\n";
  text += "source: \"held-out half (validation/held_out.hpp) of tests/validation:";
  for (const std::string& file : files) {
    text += (file == *files.begin() ? " " : ", ") + file;
  }
  text += "\"\ngpus:\n";
  for (const auto& [gpu, families] : by_gpu) {
    text += "  " + gpu + ":\n";
    for (const auto& [family, errors] : families) {
      text += "    " + family + ": {runs: " + std::to_string(errors.size()) +
              ", median: " + rounded(quantile(errors, 0.5)) +
              ", p90: " + rounded(quantile(errors, 0.9)) + "}\n";
    }
  }
  return text;
}

}  // namespace stepcast
