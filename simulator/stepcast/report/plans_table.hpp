// SPDX-License-Identifier: Apache-2.0
// Priced plans as a table for people: a column for each key in which they differ.
//
//   all of these have: dtype bf16, zero 1, cuda_graph on
//   titles: sp sequence_parallel
//
//     rank  index  tp   sp  pp  tokens/s/GPU    step  MFU %  memory GiB
//        1     42   8   on   4         412.3  9.93 s   45.1       61.20
//
// A key loses its section where what is left names one key only. A switch is a column as narrow as
// its initials, and keys that everyone abbreviates are mbs, gbs and seq. What a value of an axis
// does not set is "-".
#pragma once

#include <string>
#include <vector>

#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

std::string plans_table(const SweepSpace& space, const std::vector<PlanNumbers>& plans);

}  // namespace stepcast
