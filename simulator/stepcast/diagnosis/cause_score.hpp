// SPDX-License-Identifier: Apache-2.0
// How well a cause explains what was measured: the probability of the figures, given the cause,
// over all sizes that it may have.
//
//   r_i        ln of how much longer a step takes than projected with the cause (or larger memory)
//   Sigma      covariance of r: n^2 + w_i^2 on the diagonal, and c^2 between figures of pace
//   n          noise of a measured figure, 2 %
//   w_i, c     our own error: of one run beside others of its source, and what all figures of a
//              source have in common (expected_error.hpp: within, and what spread has beyond it);
//              of memory its own, without anything in common
//   m          what r is on average over runs without a cause, of a step: minus the centre of our
//              error, as stacks that come as they are run slower than projected
//   chi^2    = (r - m)^T Sigma^-1 (r - m)
//   evidence = integral over x from 0 to 1 of exp(-chi^2(x) / 2), x the place of the size between
//   its
//              bounds on a logarithmic scale; exp(-chi^2 / 2) of a form without a size;
//              with a traced step times that of its parts (trace_evidence.hpp)
//   score    = prior of the cause / its forms * evidence, over the sum of all
//
// All sizes are as likely on that scale: of two causes that fit, the one that had to be of just
// this size counts less.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "stepcast/result/diagnosis.hpp"
#include "stepcast/result/expected_error.hpp"

namespace stepcast {

inline constexpr double kMeasuredNoise = 0.02;
// Half of the runs of public reports lie within this of their projected peak memory.
inline constexpr double kMemoryError = 0.15;

// Of each figure, as ln.
struct FigureErrors {
  std::vector<double> own;     // sqrt(n^2 + w_i^2)
  std::vector<double> common;  // c, 0 of memory
  std::vector<double> usual;   // m, 0 of memory
};
// Without a distribution nothing is known of our own error of a step, and it is taken as none.
FigureErrors errors_of(const std::vector<MeasuredPoint>& points,
                       const std::optional<ErrorDistribution>& distribution);

double chi_squared(const FigureErrors& errors, std::span<const double> residuals);
// ln of the evidence of a form without a size, and of one whose residuals at some places of its
// size are `tried` (size_fit.hpp).
double log_evidence(const FigureErrors& errors, std::span<const double> residuals);
double log_evidence(const FigureErrors& errors, const std::map<double, std::vector<double>>& tried);

// exp of each less the largest, over their sum.
std::vector<double> normalised(const std::vector<double>& logarithms);

}  // namespace stepcast
