// SPDX-License-Identifier: Apache-2.0
// Measured runs put together by what they have in common, and what became of each group since an
// earlier report.
#pragma once

#include <string>
#include <vector>

#include "stepcast/result/validation.hpp"

namespace stepcast {

// So many runs a group must have, and its median error must rise by so much, to count as worse:
// fewer runs change places too easily.
inline constexpr std::size_t kFewestOfGroup = 5;
inline constexpr double kWorse = 0.02;

// All runs, then by each axis the groups in the order of their names.
std::vector<AccuracyGroup> accuracy_groups(const std::vector<ValidationRow>& rows);

// Adds `median_before` to groups of the same axis and name in `earlier`, which is the JSON of a
// report. Throws ConfigError with every group there that is wrong.
void compare_groups(const std::string& earlier, const std::string& file,
                    std::vector<AccuracyGroup>& groups);

// Those that are worse than they were by kWorse or more.
std::vector<AccuracyGroup> worse_groups(const std::vector<AccuracyGroup>& groups);

}  // namespace stepcast
