// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "stepcast/validation/interval_coverage.hpp"
#include "stepcast/validation/validate.hpp"

namespace stepcast {
namespace {

// Errors are known no better than this.
std::string thousandths_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", value);
  return text.data();
}

std::string run_line(const RunTraits& traits, double error) {
  return "  - {gpu: " + traits.gpu + ", family: " + traits.family +
         ", dtype: " + std::string(name(traits.dtype)) + ", gpus: " + std::to_string(traits.gpus) +
         ", software: " + traits.software + ", source: " + traits.source +
         ", error: " + thousandths_text(error) + "}\n";
}

}  // namespace

std::string validation_to_accuracy(const std::vector<ValidationRow>& rows) {
  std::map<std::string, std::pair<std::string, std::string>> gpus;
  std::set<std::string> files;
  std::string runs;
  for (const ValidationRow* row : timed_once(rows)) {
    if (row->held_out.value_or(false)) {
      const RunTraits& traits = *row->traits;
      gpus[traits.gpu] = {traits.architecture, traits.vendor};
      files.insert(row->file);
      runs += run_line(traits, std::log(row->rate_factor()));
    }
  }
  std::string text =
      "# Errors ln(measured / predicted) of the tokens/s of held-out runs, written by\n"
      "# scripts/update_accuracy.sh. What the interval that every projection states follows from\n"
      "# (simulator/stepcast/experiment/error_model.hpp).\n";
  text += "source: \"held-out half (validation/held_out.hpp) of tests/validation:";
  for (const std::string& file : files) {
    text += (file == *files.begin() ? " " : ", ") + file;
  }
  text += "\"\ngpus:\n";
  for (const auto& [gpu, part] : gpus) {
    text += "  " + gpu + ": {architecture: " + part.first + ", vendor: " + part.second + "}\n";
  }
  return text + "runs:\n" + runs;
}

}  // namespace stepcast
