// SPDX-License-Identifier: Apache-2.0
// Projections of the same work side by side, one column each:
//
//                             mi300x   h100_sxm
//   tokens/s/GPU             1,105.0      812.4
//   ratio to mi300x            1.000      0.735
//   price a million tokens      0.63       0.68
//   step time                14.83 s    20.17 s
//
//   ratio                  = tokens/s/GPU / that of the first column that was timed
//   price a million tokens = price of a GPU-hour / 3600 / (tokens/s/GPU) * 10^6
//   told apart: whether the ratio differs from 1 at 80 % (can_be_told_apart of expected_error.hpp)
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/result/comparison.hpp"

namespace stepcast {

// Where `width` is not 0, columns that do not fit into it stand in tables below.
std::string comparison_to_text(const std::vector<ComparedColumn>& columns, std::size_t width = 0);
// `columns` of the result are whole results of `stepcast project`, with `searched` where their plan
// is the best of many; `comparison` has for each of them what relates it to the others. `version`
// is the program's.
nlohmann::ordered_json comparison_to_json(const std::vector<ComparedColumn>& columns,
                                          const std::string& version);
std::string comparison_to_csv(const std::vector<ComparedColumn>& columns);

}  // namespace stepcast
