// SPDX-License-Identifier: Apache-2.0
// A small scatter plot in plain characters, of fixed size.
//
//   tokens/s/GPU
//     412.30 |                                                    *
//            |                                    *
//            |                *
//     198.77 |*
//            +-----------------------------------------------------
//             12.31                                           71.20  peak memory, GiB
#pragma once

#include <string>
#include <vector>

namespace stepcast {

struct PlotPoint {
  double x = 0.0;
  double y = 0.0;
};

struct PlotLabels {
  std::string x;
  std::string y;
};

inline constexpr std::size_t kPlotColumns = 64;
inline constexpr std::size_t kPlotRows = 16;

// Axes run from the least to the greatest value. Several points at one place: their number up to 9,
// then '#'. Empty without points.
std::string scatter_plot(const std::vector<PlotPoint>& points, const PlotLabels& labels);

}  // namespace stepcast
