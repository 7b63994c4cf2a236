// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/measurements.hpp"

namespace stepcast {
namespace {

template <typename Row>
std::vector<Row> rows_of(Measurements measurements, const std::string& wanted) {
  if (auto* rows = std::get_if<std::vector<Row>>(&measurements.rows)) {
    return std::move(*rows);
  }
  throw ConfigError({measurements.file, 1, 1},
                    "the file holds " + measurements.format + " and no " + wanted);
}

}  // namespace

std::vector<MeasuredRun> runs_of(Measurements measurements) {
  return rows_of<MeasuredRun>(std::move(measurements), "runs");
}

std::vector<MeasuredKernel> kernels_of(Measurements measurements) {
  return rows_of<MeasuredKernel>(std::move(measurements), "kernels");
}

}  // namespace stepcast
