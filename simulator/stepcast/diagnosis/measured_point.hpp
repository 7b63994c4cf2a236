// SPDX-License-Identifier: Apache-2.0
// Measurements of an experiment and of variants of it, as options and tables give them.
//
//   plan.tp=2:1.93s                                 a step of the experiment with plan.tp=2
//   plan.tp=4,training.micro_batch_size=2:180tok/s
//
// A table has a column for each key, which has a dot, and one for each figure, called as the
// options of the command: measured, step, tflops, mfu, memory. An empty cell sets or measures
// nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"
#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

// The figures of a run by the names of their options.
inline constexpr std::array<std::pair<std::string_view, Metric>, 5> kFigureOptions = {{
    {"measured", Metric::kTokenRate},
    {"step", Metric::kStepTime},
    {"tflops", Metric::kModelRate},
    {"mfu", Metric::kModelShare},
    {"memory", Metric::kPeakMemory},
}};

// Throws ConfigError, under "point TEXT".
MeasuredPoint parse_point(std::string_view text);

// A row of a table: pairs of a column's name and what its cell says.
struct PointsRow {
  Location where;
  KeySettings cells;
};
// A point for each figure of the row; problems go to `diagnostics`.
std::vector<MeasuredPoint> points_of(const PointsRow& row, Diagnostics& diagnostics);

}  // namespace stepcast
