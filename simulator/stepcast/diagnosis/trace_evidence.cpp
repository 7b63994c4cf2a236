// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/trace_evidence.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace stepcast {
namespace {

constexpr double kOfStep = 0.03;
constexpr double kOfPart = 0.2;

Seconds deviation(const TracedStep& trace, Seconds projected) {
  return Seconds(std::hypot(kOfStep * trace.step.value(), kOfPart * projected.value()));
}

Seconds apart(Seconds a, Seconds b) { return a > b ? a - b : b - a; }

}  // namespace

double log_evidence(const TracedStep& trace, std::span<const Seconds> projected) {
  constexpr double kDegrees = 4.0;
  double sum = 0.0;
  for (std::size_t k = 0; k < projected.size(); ++k) {
    const Seconds scale = deviation(trace, projected[k]);
    const double z = (trace.parts[k].measured - projected[k]) / scale;
    sum -= 0.5 * (kDegrees + 1.0) * std::log1p(z * z / kDegrees) + std::log(scale / trace.step);
  }
  return sum;
}

PartState state_of(const TracedStep& trace, const StepPart& part) {
  if (apart(part.measured, part.projected) < deviation(trace, part.projected)) {
    return PartState::kAsProjected;
  }
  if (part.measured > part.projected) {
    return part.projected > Seconds{} ? PartState::kLonger : PartState::kUnexpected;
  }
  return part.measured > Seconds{} ? PartState::kShorter : PartState::kMissing;
}

std::vector<MovedPart> moved_parts(const TracedStep& trace, const CauseFit& fit) {
  constexpr double kLeast = 0.01;  // of the step
  std::vector<MovedPart> moved;
  for (std::size_t k = 0; k < fit.traced.size(); ++k) {
    const StepPart& part = trace.parts[k];
    if (apart(fit.traced[k], part.projected) >= kLeast * trace.step) {
      const bool seen = apart(part.measured, fit.traced[k]) < apart(part.measured, part.projected);
      moved.push_back({&part, fit.traced[k], seen});
    }
  }
  std::ranges::stable_sort(moved, std::ranges::greater{}, [](const MovedPart& one) {
    return apart(one.projected, one.part->projected);
  });
  return moved;
}

}  // namespace stepcast
