// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "fuzz/targets.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/diagnosis/measured_figure.hpp"
#include "stepcast/diagnosis/measured_point.hpp"

namespace stepcast::fuzz {

int fuzz_point(const std::uint8_t* data, std::size_t size) {
  try {
    const MeasuredPoint point = parse_point(text_of(data, size));
    const double value = point.measured.value;
    promise(std::isfinite(value) && value > 0.0, "a figure is no amount");
    promise(log_excess(point.measured, point.measured) == 0.0, "a figure is not itself");
    promise(!point.settings.empty(), "a point sets nothing");
    for (const auto& [key, setting] : point.settings) {
      promise(!key.empty() && !setting.empty(), "a setting is empty");
    }
  } catch (const ConfigError& error) {
    promise(!error.diagnostics().front().message.empty(), "a problem without a message");
  }
  return 0;
}

}  // namespace stepcast::fuzz
