// SPDX-License-Identifier: Apache-2.0
// A measured quantity beside its prediction, or the reason why there is none.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

  // predicted / measured - 1
  [[nodiscard]] double error() const { return *predicted / measured - 1.0; }
};

}  // namespace stepcast
