// SPDX-License-Identifier: Apache-2.0
#include "stepcast/calibration/least_squares.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

namespace stepcast {
namespace {

// Relative steps of the numerical differences of each round. Prices have small jumps where the tile
// changes, so the steps look across them first.
constexpr double kFirstStep = 0.03;
constexpr double kStepShrink = 0.4;
// Of each round: a fit of 20 constants to 2,300 rows ends within half a minute.
constexpr int kEvaluations = 250;

double rho(double residual, double scale) {
  const double ratio = residual / scale;
  return 2.0 * scale * scale * (std::sqrt(1.0 + ratio * ratio) - 1.0);
}

// Eigen's differences step by a share of the variable itself: angles are kept between a quarter and
// three quarters of a turn, so that none is near zero.
constexpr double kHalfTurn = std::numbers::pi;

double bounded(const BoundedParameter& parameter, double angle) {
  return parameter.low +
         (parameter.high - parameter.low) * 0.5 * (std::sin(angle - kHalfTurn) + 1.0);
}

double angle_of(const BoundedParameter& parameter, double value) {
  const double share = (value - parameter.low) / (parameter.high - parameter.low);
  // A start at a bound has no slope there: step inside.
  return kHalfTurn + std::asin(2.0 * std::clamp(share, 0.005, 0.995) - 1.0);
}

std::vector<double> values_at(const LeastSquaresProblem& problem, const Eigen::VectorXd& angles) {
  std::vector<double> values;
  for (std::size_t i = 0; i < problem.parameters.size(); ++i) {
    values.push_back(bounded(problem.parameters[i], angles[static_cast<Eigen::Index>(i)]));
  }
  return values;
}

struct Residuals {
  using Scalar = double;
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  const LeastSquaresProblem* problem;

  [[nodiscard]] int inputs() const { return static_cast<int>(problem->parameters.size()); }
  [[nodiscard]] int values() const { return static_cast<int>(problem->weights.size()); }

  int operator()(const Eigen::VectorXd& angles, Eigen::VectorXd& out) const {
    const std::vector<double> raw = problem->residuals(values_at(*problem, angles));
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const double size = std::sqrt(problem->weights[i] * rho(raw[i], problem->scale));
      out[static_cast<Eigen::Index>(i)] = std::copysign(size, raw[i]);
    }
    return 0;
  }
};

}  // namespace

double objective(const LeastSquaresProblem& problem, const std::vector<double>& values) {
  const std::vector<double> raw = problem.residuals(values);
  double sum = 0.0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    sum += problem.weights[i] * rho(raw[i], problem.scale);
  }
  return sum;
}

std::vector<double> solve(const LeastSquaresProblem& problem) {
  std::vector<double> best;
  for (const BoundedParameter& parameter : problem.parameters) {
    best.push_back(std::clamp(parameter.start, parameter.low, parameter.high));
  }
  if (best.empty() || problem.weights.size() < best.size()) {
    return best;
  }
  double least = objective(problem, best);
  double step = kFirstStep;
  for (int round = 0; round < problem.rounds; ++round, step *= kStepShrink) {
    Eigen::VectorXd angles(static_cast<Eigen::Index>(best.size()));
    for (std::size_t i = 0; i < best.size(); ++i) {
      angles[static_cast<Eigen::Index>(i)] = angle_of(problem.parameters[i], best[i]);
    }
    // Eigen takes the square of the relative step.
    Eigen::NumericalDiff<Residuals, Eigen::Central> differences(Residuals{&problem}, step * step);
    Eigen::LevenbergMarquardt<decltype(differences)> solver(differences);
    solver.parameters.maxfev = kEvaluations;
    solver.parameters.xtol = 1e-5;
    solver.parameters.ftol = 1e-6;
    solver.minimize(angles);
    const std::vector<double> found = values_at(problem, angles);
    const double reached = objective(problem, found);
    if (reached < least) {
      least = reached;
      best = found;
    }
  }
  return best;
}

}  // namespace stepcast
