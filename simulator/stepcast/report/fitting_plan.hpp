// SPDX-License-Identifier: Apache-2.0
// A plan that fits, near one that does not.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stepcast/base/units.hpp"

namespace stepcast {

struct FittingPlan {
  // What it changes, as --set takes it: {"training.recompute", "full"}.
  std::vector<std::pair<std::string, std::string>> changes;
  double tokens_per_second_per_gpu = 0.0;
  Bytes peak_memory;
};

}  // namespace stepcast
