// SPDX-License-Identifier: Apache-2.0
// Numbers that options take, written as in a config file: 8, not 010, which is octal to some, nor
// 0x10 or 1e1.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

#include "stepcast/config/scalar.hpp"

namespace stepcast::cli {

inline constexpr Range<std::int64_t> kAnyWhole{std::numeric_limits<std::int64_t>::min(),
                                               std::numeric_limits<std::int64_t>::max()};
inline constexpr Range<double> kAnyReal{std::numeric_limits<double>::lowest(),
                                        std::numeric_limits<double>::max()};

// Checks of an option whose value CLI11 then converts. Of kAnyWhole and kAnyReal the reader of the
// experiment says the range.
CLI::Validator whole_number(Range<std::int64_t> range = kAnyWhole);
CLI::Validator real_number(Range<double> range = kAnyReal);

}  // namespace stepcast::cli
