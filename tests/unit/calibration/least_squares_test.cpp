// SPDX-License-Identifier: Apache-2.0
#include "stepcast/calibration/least_squares.hpp"

#include <cmath>

#include "catch.hpp"

namespace stepcast::least_squares_test {
namespace {

constexpr int kPoints = 40;

// Residuals of y = a + b x against `measured` at x = 0, 0.1, 0.2, ...
LeastSquaresProblem line_through(std::vector<double> measured) {
  LeastSquaresProblem problem;
  problem.parameters = {{0.2, 0.0, 2.0}, {4.0, -1.0, 5.0}};
  problem.weights.assign(measured.size(), 1.0);
  problem.residuals = [measured = std::move(measured)](const std::vector<double>& values) {
    std::vector<double> residuals;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      residuals.push_back(values[0] + values[1] * 0.1 * static_cast<double>(i) - measured[i]);
    }
    return residuals;
  };
  return problem;
}

std::vector<double> line(double a, double b) {
  std::vector<double> y;
  for (int i = 0; i < kPoints; ++i) {
    y.push_back(a + b * 0.1 * i);
  }
  return y;
}

TEST_CASE("the parameters of a line are found", "[unit]") {
  const std::vector<double> found = solve(line_through(line(0.7, 1.3)));
  CHECK(found[0] == Approx(0.7).epsilon(1e-3));
  CHECK(found[1] == Approx(1.3).epsilon(1e-3));
}

TEST_CASE("a few bad rows do not pull the answer", "[unit]") {
  std::vector<double> measured = line(0.7, 1.3);
  for (const std::size_t bad : {5U, 17U, 33U}) {
    measured[bad] += 10.0;
  }
  const std::vector<double> found = solve(line_through(measured));
  CHECK(found[0] == Approx(0.7).epsilon(0.02));
  CHECK(found[1] == Approx(1.3).epsilon(0.02));
}

TEST_CASE("an answer beyond a bound ends at the bound", "[unit]") {
  const LeastSquaresProblem problem = line_through(line(3.0, 1.3));  // a is at most 2
  const std::vector<double> found = solve(problem);
  CHECK(found[0] <= 2.0);
  CHECK(found[0] == Approx(2.0).epsilon(0.01));
  CHECK(found[1] >= -1.0);
  CHECK(found[1] <= 5.0);
}

TEST_CASE("a start outside the bounds is moved inside", "[unit]") {
  LeastSquaresProblem problem = line_through({1.0});  // too few rows to move anything
  problem.parameters[0].start = 7.0;
  problem.parameters[1].start = -7.0;
  const std::vector<double> found = solve(problem);
  CHECK(found[0] == 2.0);
  CHECK(found[1] == -1.0);
}

TEST_CASE("the answer is never worse than the start", "[unit]") {
  LeastSquaresProblem problem;
  problem.parameters = {{0.5, 0.0, 1.0}, {0.25, 0.0, 1.0}};
  problem.weights = {1.0, 2.0, 1.0};
  problem.residuals = [](const std::vector<double>& v) {  // with many local minima
    return std::vector<double>{std::sin(90.0 * v[0]), std::cos(70.0 * v[1]), v[0] * v[1] - 0.9};
  };
  for (const double a : {0.0, 0.1, 0.33, 0.5, 0.77, 1.0}) {
    problem.parameters[0].start = a;
    CHECK(objective(problem, solve(problem)) <= objective(problem, {a, 0.25}));
  }
}

TEST_CASE("a start in the middle of its range sees across small jumps as well", "[unit]") {
  LeastSquaresProblem problem;
  problem.parameters = {{5.0, 0.0, 10.0}};
  problem.weights.assign(3, 1.0);
  problem.residuals = [](const std::vector<double>& v) {
    const double stepped = std::floor(20.0 * v[0]) / 20.0;  // in jumps of 0.05
    return std::vector<double>(3, 0.1 * (stepped - 3.0));
  };
  CHECK(solve(problem)[0] == Approx(3.0).margin(0.2));
}

TEST_CASE("heavier rows count for more", "[unit]") {
  LeastSquaresProblem problem;
  problem.parameters = {{0.5, 0.0, 1.0}};
  problem.weights = {9.0, 1.0};
  problem.scale = 100.0;  // quadratic throughout
  problem.residuals = [](const std::vector<double>& v) {
    return std::vector<double>{v[0] - 0.3, v[0] - 0.8};
  };
  CHECK(solve(problem)[0] == Approx(0.35).epsilon(1e-3));  // the weighted mean
}

}  // namespace
}  // namespace stepcast::least_squares_test
