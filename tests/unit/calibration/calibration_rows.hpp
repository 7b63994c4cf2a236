// SPDX-License-Identifier: Apache-2.0
// Rows of kernels on H200 that take what the models say, with constants of the test's own.
#pragma once

#include <string>
#include <vector>

#include "backends/builtin_backends.hpp"
#include "sample_specs.hpp"
#include "stepcast/calibration/calibrate.hpp"
#include "stepcast/operator_lines/op_text.hpp"
#include "stepcast/operator_lines/operator_line.hpp"

namespace stepcast::test {

// Numbers of an earlier fit become assumed ones, so that tests know every fit that there is.
inline void forget_fits(ConfigNode& node) {
  const ConfigNode* source = node.find("source");
  if (source != nullptr && source->text.starts_with("FIT")) {
    ConfigEntry assumed{"assumed", 0, 0, *source};
    assumed.value.text = "a start";
    std::erase_if(node.entries,
                  [](const ConfigEntry& e) { return e.key == "source" || e.key == "kind"; });
    node.entries.push_back(std::move(assumed));
  }
  std::erase_if(node.entries, [](const ConfigEntry& e) { return e.key.starts_with("FIT"); });
  for (ConfigEntry& entry : node.entries) {
    forget_fits(entry.value);
  }
}

inline ConfigNode h200_kernels() {
  ConfigNode kernels = load_config(data_root().kernels() / "gh100.yaml");
  forget_fits(kernels);
  return kernels;
}

inline const CostModel& shipped_model_of_kernels() {
  static const CostModel model = default_cost_model();
  return model;
}

// Products and copies at a locked clock, from a few microseconds to milliseconds.
inline std::vector<Op> calibrated_operators() {
  std::vector<Op> operators;
  for (const std::int64_t m : {256, 640, 1024, 2560, 4096, 9216}) {
    for (const std::int64_t n : {512, 1536, 4096, 7168}) {
      operators.push_back({.work = Gemm{m, n, 4096}});
      operators.push_back({.work = MemoryBound{MemoryBoundKind::kCopy, m, n}});
    }
  }
  return operators;
}

inline std::vector<CalibrationRow> rows_priced_with(const DeviceSpec& truth) {
  const ClusterSpec machine = cluster_of(truth, 1);
  std::vector<CalibrationRow> rows;
  for (const Op& op : calibrated_operators()) {
    const auto predicted = [op](const ClusterSpec& on) {
      const OperatorLine line{
          op, Dtype::kBf16, {PowerState::kLocked, Hertz(1.5e9)}, Launch::kGraph};
      return price(line, shipped_model_of_kernels(), on).cost.duration.value();
    };
    rows.push_back({std::string(kind_name(op)), shape_text(op), predicted(machine), predicted});
  }
  return rows;
}

inline Calibration calibrate_h200(const std::vector<CalibrationRow>& rows,
                                  const std::vector<std::string>& keys) {
  return calibrate({shipped_gpu("h200_sxm")}, h200_kernels(), rows, keys);
}

}  // namespace stepcast::test
