// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/timed_runs.hpp"

namespace stepcast {

double RegretGroup::random() const {
  double sum = 0.0;
  for (const TimedRun* run : runs) {
    sum += run->measured;
  }
  return sum / static_cast<double>(runs.size()) / best->measured;
}

}  // namespace stepcast
