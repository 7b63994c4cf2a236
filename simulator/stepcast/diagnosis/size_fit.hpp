// SPDX-License-Identifier: Apache-2.0
// The size of a cause at which projections meet what was measured.
//
// A size s runs from `none`, where the cause is hardly there, to `most`, the largest that is
// physically possible, either of which may be the smaller number. What is left of a figure is
//
//   r_i(s) = ln(measured_i / projected_i(s)), above 0 while the run is slower than projected
//
// and the size is where sum_i (r_i / sigma_i)^2 is least. In ln s, r_i is taken as straight between
// the sizes that were tried; the least of that is tried next, until it stays within a part in 500
// of ln(most / none), or no more is gained by it. Where projections are monotone, as they are of
// all causes, and one figure is given, this is a bisection by the rule of false position.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepcast {

struct SizeRange {
  double none = 1.0;  // above 0, as `most`
  double most = 1.0;

  // How far from `none` a size lies, 0 to 1, on a logarithmic scale; and the size that lies there.
  [[nodiscard]] double share(double size) const;
  [[nodiscard]] double at(double share) const;
};

// r_i of a size; nothing where the experiment cannot run with it.
using Residuals = std::function<std::optional<std::vector<double>>(double size)>;

struct SizeFit {
  double size = 1.0;
  std::vector<double> residuals;
  // Residuals by share, those of both ends among them.
  std::map<double, std::vector<double>> tried;
  bool at_bound = false;  // a size beyond `most` would leave less
};

// Residuals at any share of the range, straight between those that were tried.
std::vector<double> residuals_at(const std::map<double, std::vector<double>>& tried, double share);

// Nothing where no size runs.
std::optional<SizeFit> fit_size(const SizeRange& range, const Residuals& residuals,
                                const std::vector<double>& sigmas);

}  // namespace stepcast
