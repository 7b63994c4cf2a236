// SPDX-License-Identifier: Apache-2.0
// A measured quantity beside its prediction, or the reason why there is none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/experiment/error_model.hpp"

namespace stepcast {

struct ValidationRow {
  std::string file;
  std::string id;
  std::string gpu;
  std::string group;   // "h100_sxm dense A"
  std::string metric;  // "tokens_per_second_per_gpu"
  double measured = 0.0;
  std::optional<double> predicted;
  std::string skipped;  // why there is no prediction

  // Of whole runs; of their rates and times of a step also what they have in common with others,
  // and the error to expect of them, from runs of other sources than their own.
  std::optional<RunTraits> traits;
  std::optional<ExpectedError> expected_error;
  std::string family;            // dense, moe or mla
  std::optional<bool> held_out;  // empty for operators whose record says nothing of it
  // The metric of a GPU that does one model FLOP a second, for rates and times of steps: a single
  // constant times this is the simplest model there is.
  std::optional<double> at_unit_rate;

  // predicted / measured - 1; of yes and no (`fits`) predicted - measured
  [[nodiscard]] double error() const {
    return metric == "fits" ? *predicted - measured : *predicted / measured - 1.0;
  }
  // Measured tokens/s over predicted ones, of a rate or of the time of a step.
  [[nodiscard]] double rate_factor() const {
    return metric == "step_time_s" ? *predicted / measured : measured / *predicted;
  }
};

}  // namespace stepcast
