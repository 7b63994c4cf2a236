// SPDX-License-Identifier: Apache-2.0
// Why one experiment takes longer for a token than another: the time of a GPU for a token, term by
// term.
//
//   GPU-time of a token = 1 / (tokens/s/GPU) = sum over the keys of the time breakdown of
//                         key / step / (tokens/s/GPU)
//
// Computation is split by the kinds of its operators, at the time they take alone; what that leaves
// of the computation, because the step is priced between two clocks, is "other computation". The
// terms of the difference add up to the difference of the two.
#pragma once

#include <string>
#include <vector>

namespace stepcast {

// In microseconds of one GPU for a token.
struct DifferenceTerm {
  std::string name;
  double first = 0.0;
  double second = 0.0;

  [[nodiscard]] double difference() const { return second - first; }
};

struct Difference {
  DifferenceTerm total;
  std::vector<DifferenceTerm> terms;      // in the order of the breakdown; none is zero in both
  std::vector<DifferenceTerm> operators;  // equal names together, the largest difference first
};

}  // namespace stepcast
