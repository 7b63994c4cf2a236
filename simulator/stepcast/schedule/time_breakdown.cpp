// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/time_breakdown.hpp"

#include "stepcast/base/sum.hpp"

namespace stepcast {

Seconds TimeBreakdown::communication() const { return sum_over(exposed); }

Seconds TimeBreakdown::total() const {
  return compute + contention + communication() + bubble + optimizer + host;
}

TimeBreakdown& TimeBreakdown::operator+=(const TimeBreakdown& other) {
  compute += other.compute;
  contention += other.contention;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    exposed[axis] += other.exposed[axis];
  }
  bubble += other.bubble;
  optimizer += other.optimizer;
  host += other.host;
  return *this;
}

TimeBreakdown operator*(double factor, TimeBreakdown breakdown) {
  breakdown.compute = factor * breakdown.compute;
  breakdown.contention = factor * breakdown.contention;
  for (Seconds& part : breakdown.exposed) {
    part = factor * part;
  }
  breakdown.bubble = factor * breakdown.bubble;
  breakdown.optimizer = factor * breakdown.optimizer;
  breakdown.host = factor * breakdown.host;
  return breakdown;
}

TimeBreakdown operator-(TimeBreakdown a, const TimeBreakdown& b) { return a += -1.0 * b; }

}  // namespace stepcast
