// SPDX-License-Identifier: Apache-2.0
// How far a projection may be off, as text and as cells.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepcast/result/expected_error.hpp"

namespace stepcast {

// "0.93 to 1.12 times this (80 %), 0.89 to 1.17 (90 %): 23 runs of 9 sources on h100_sxm, dense"
std::string expected_error_text(const ExpectedError& error);

// "7,012.3 to 8,120.4", the predicted rate at either end of the interval; "-" where none is known.
std::string interval_text(const std::optional<ExpectedError>& error, double rate,
                          Certainty certainty);

}  // namespace stepcast
