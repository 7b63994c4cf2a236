// SPDX-License-Identifier: Apache-2.0
// Robust least squares inside bounds: Levenberg-Marquardt (Eigen) on
//
//   minimise sum w_i rho(r_i),  rho(r) = 2 s^2 (sqrt(1 + (r / s)^2) - 1)
//
// rho is quadratic below the scale s and linear above, so that single bad rows do not pull. Each
// parameter lives in [low, high] through a sine.
#pragma once

#include <functional>
#include <vector>

namespace stepcast {

struct BoundedParameter {
  double start = 0.0;
  double low = 0.0;
  double high = 0.0;
};

struct LeastSquaresProblem {
  std::vector<BoundedParameter> parameters;
  // Residuals at the given values; always as many.
  std::function<std::vector<double>(const std::vector<double>&)> residuals;
  std::vector<double> weights;  // of each residual
  double scale = 0.05;          // s
  int rounds = 3;               // restarts from the last answer, with finer differences
};

// The values that it ends at: inside the bounds, and never worse than the start, which is moved
// inside first.
std::vector<double> solve(const LeastSquaresProblem& problem);

// The objective at `values`.
double objective(const LeastSquaresProblem& problem, const std::vector<double>& values);

}  // namespace stepcast
