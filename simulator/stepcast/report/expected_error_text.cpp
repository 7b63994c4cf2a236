// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/expected_error_text.hpp"

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

std::string factors(const RateInterval& interval) {
  return decimals(interval.low, 2) + " to " + decimals(interval.high, 2);
}

}  // namespace

std::string expected_error_text(const ExpectedError& error) {
  if (!error.distribution) {
    return "not known: no measured run was held out";
  }
  return factors(error.distribution->interval(Certainty::k80)) + " times this (80 %), " +
         factors(error.distribution->interval(Certainty::k90)) + " (90 %): " + error.basis;
}

std::string interval_text(const std::optional<ExpectedError>& error, double rate,
                          Certainty certainty) {
  if (!error || !error->distribution) {
    return "-";
  }
  const RateInterval interval = error->distribution->interval(certainty);
  return decimals(rate * interval.low, 1) + " to " + decimals(rate * interval.high, 1);
}

}  // namespace stepcast
