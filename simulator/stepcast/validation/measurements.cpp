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

std::optional<Seconds> time_of(const MeasuredKernel& kernel) {
  for (const MeasuredQuantity& quantity : kernel.quantities) {
    if (quantity.metric.ends_with("_s")) {
      return Seconds(quantity.value);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<MeasuredRun> runs_of(Measurements measurements) {
  return rows_of<MeasuredRun>(std::move(measurements), "runs");
}

std::vector<MeasuredKernel> kernels_of(Measurements measurements) {
  return rows_of<MeasuredKernel>(std::move(measurements), "kernels");
}

MeasuredOperators operators_of(Measurements measurements, ProfileCache& profiles) {
  MeasuredOperators measured;
  measured.file = measurements.file;
  for (MeasuredKernel& kernel : kernels_of(std::move(measurements))) {
    const std::optional<Seconds> time = time_of(kernel);
    if (!kernel.skipped.empty() || kernel.before || !time) {
      continue;
    }
    measured.machines.try_emplace(kernel.gpu, profiles.fabric(kernel.gpu));
    measured.rows.push_back({std::move(kernel.work), std::move(kernel.gpu), *time, kernel.duty});
  }
  return measured;
}

}  // namespace stepcast
