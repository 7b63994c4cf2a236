// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/scatter_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLabelWidth = 14;

struct Extent {
  double least = 0.0;
  double most = 0.0;

  // The cell of `cells` in which a value falls; the middle one if all are the same.
  [[nodiscard]] std::size_t cell(double value, std::size_t cells) const {
    if (!(most > least)) {
      return cells / 2;
    }
    const double share = (value - least) / (most - least);
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(cells - 1)));
  }
};

template <typename Coordinate>
Extent extent(const std::vector<PlotPoint>& points, const Coordinate& coordinate) {
  const auto [least, most] = std::minmax_element(
      points.begin(), points.end(), [&coordinate](const PlotPoint& a, const PlotPoint& b) {
        return coordinate(a) < coordinate(b);
      });
  return {coordinate(*least), coordinate(*most)};
}

char mark(int points) {
  if (points < 2) {
    return points == 0 ? ' ' : '*';
  }
  return points < 10 ? static_cast<char>('0' + points) : '#';
}

}  // namespace

std::string scatter_plot(const std::vector<PlotPoint>& points, const PlotLabels& labels) {
  if (points.empty()) {
    return "";
  }
  const Extent across = extent(points, [](const PlotPoint& p) { return p.x; });
  const Extent up = extent(points, [](const PlotPoint& p) { return p.y; });
  std::array<std::array<int, kPlotColumns>, kPlotRows> counts{};
  for (const PlotPoint& point : points) {
    const std::size_t row = kPlotRows - 1 - up.cell(point.y, kPlotRows);
    ++counts[row][across.cell(point.x, kPlotColumns)];
  }
  std::string text = "  " + labels.y + "\n";
  for (std::size_t row = 0; row < kPlotRows; ++row) {
    const std::string label = row == 0               ? decimals(up.most, 2)
                              : row + 1 == kPlotRows ? decimals(up.least, 2)
                                                     : "";
    std::string marks;
    for (const int count : counts[row]) {
      marks += mark(count);
    }
    marks.resize(marks.find_last_not_of(' ') + 1);
    text += right(label, kLabelWidth) + " |" + marks + "\n";
  }
  const std::string left = decimals(across.least, 2);
  const std::string end = decimals(across.most, 2);
  text += std::string(kLabelWidth + 1, ' ') + "+" + std::string(kPlotColumns, '-') + "\n";
  text += std::string(kLabelWidth + 2, ' ') + left +
          right(end, kPlotColumns - std::min(left.size(), kPlotColumns)) + "  " + labels.x + "\n";
  return text;
}

}  // namespace stepcast
